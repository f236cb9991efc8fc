#include "core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MOST = 1024, LINES_MOST = 65536 };

struct origin { /* of a line; its number is 0 where that is not known */
    uint32_t line;
    char *function;
};

struct generated {
    char *file, *original;
    struct origin *origin; /* by lines of the file, from 1 on */
    size_t count;
};

/* Entries are added, and never changed. */
static struct {
    pthread_mutex_t lock;
    struct generated file[FILES_MOST];
    size_t count;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* That of a line, or of the next one above it that has one. */
static bool find_origin(const struct generated *generated, uint32_t line,
                        struct generated_line *out)
{
    for (size_t at = line < generated->count ? line : generated->count; at > 0; at--) {
        const struct origin *origin = &generated->origin[at - 1];
        if (origin->line) {
            *out = (struct generated_line){generated->original, origin->function, origin->line};
            return true;
        }
    }
    return false;
}

/* A child of fork() may find it locked for good: then the file is not known. */
bool generated_line_find(const char *file, uint32_t line, struct generated_line *out)
{
    bool is_known = false;
    if (pthread_mutex_trylock(&known.lock) != 0)
        return false;
    for (size_t i = known.count; i > 0 && !is_known; i--)
        is_known =
            strcmp(known.file[i - 1].file, file) == 0 && find_origin(&known.file[i - 1], line, out);
    pthread_mutex_unlock(&known.lock);
    return is_known;
}

static void release(struct generated *generated)
{
    for (size_t i = 0; i < generated->count; i++)
        free(generated->origin[i].function);
    free(generated->origin);
    free(generated->original);
    free(generated->file);
}

/* A tuple with (line, function) or None for each line. */
static bool copy_origins(struct generated *generated, PyObject *origins)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(origins);
    if (count > LINES_MOST ||
        !(generated->origin = calloc((size_t)count + 1, sizeof *generated->origin)))
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(origins, i);
        struct origin *origin = &generated->origin[generated->count++];
        const char *function;
        if (one == Py_None)
            continue;
        if (!PyArg_ParseTuple(one, "Is", &origin->line, &function) ||
            !(origin->function = strdup(function)))
            return false;
    }
    return true;
}

static bool add(struct generated *generated)
{
    pthread_mutex_lock(&known.lock);
    const bool has_room = known.count < FILES_MOST;
    if (has_room)
        known.file[known.count++] = *generated;
    pthread_mutex_unlock(&known.lock);
    return has_room;
}

static PyObject *generated_file(PyObject *module, PyObject *args)
{
    const char *file, *original;
    PyObject *origins;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssO!", &file, &original, &PyTuple_Type, &origins))
        return NULL;
    struct generated generated = {.file = strdup(file), .original = strdup(original)};
    if (!generated.file || !generated.original || !copy_origins(&generated, origins) ||
        !add(&generated))
        release(&generated);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"generated_file", generated_file, METH_VARARGS,
     "generated_file(file, original, origins): (line, function) that each line comes from, or None."},
    {NULL, NULL, 0, NULL},
};

int generated_files_add(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
