#include "core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 8192, NAME_SIZE = 48 };

/* Only grows: what was compiled as a cell remains one. */
static struct {
    pthread_mutex_t lock;
    struct cell {
        char *file;
        long long number;
    } * cell;
    size_t count, capacity;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The newest are asked for most. */
static struct cell *find(const char *file)
{
    for (size_t i = table.count; i > 0; i--)
        if (strcmp(table.cell[i - 1].file, file) == 0)
            return &table.cell[i - 1];
    return NULL;
}

static struct cell *add(const char *file)
{
    if (table.count == CELLS_MOST)
        return NULL;
    if (table.count == table.capacity) {
        const size_t capacity = table.capacity ? 2 * table.capacity : 64;
        struct cell *grown = realloc(table.cell, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        table.cell = grown;
        table.capacity = capacity;
    }
    struct cell *cell = &table.cell[table.count];
    cell->file = strdup(file);
    table.count += cell->file != NULL;
    return cell->file ? cell : NULL;
}

char *cells_name(const char *file)
{
    char name[NAME_SIZE];

    pthread_mutex_lock(&table.lock);
    const struct cell *cell = find(file);
    if (cell)
        snprintf(name, sizeof name, "cell [%lld]", cell->number);
    pthread_mutex_unlock(&table.lock);
    return cell ? strdup(name) : NULL;
}

/* cell(file, number): a cell that is executed again has the same file and another number. */
static PyObject *note_cell(PyObject *module, PyObject *arguments)
{
    const char *file;
    long long number;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "sL", &file, &number))
        return NULL;
    pthread_mutex_lock(&table.lock);
    struct cell *cell = find(file);
    cell = cell ? cell : add(file);
    if (cell)
        cell->number = number;
    pthread_mutex_unlock(&table.lock);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"cell", note_cell, METH_VARARGS,
     "cell($module, file, number, /)\n--\n\nSays under which file a cell is compiled."},
    {0},
};

int cells_add(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
