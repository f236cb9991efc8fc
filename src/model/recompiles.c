#include "model/recompiles.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where `what` begins in the first `size` bytes; `size` if it is not there. */
static size_t find(const char *data, size_t size, const char *what)
{
    const size_t length = strlen(what);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(data + i, what, length) == 0)
            return i;
    return size;
}

static void copy(char *out, size_t room, const char *data, size_t size)
{
    const size_t used = size < room - 1 ? size : room - 1;
    if (used > 0)
        memcpy(out, data, used);
    out[used] = '\0';
}

/* "f (/home/me/train.py:12)": what is before the last slash of the file is left out. */
static void copy_function(char out[RECOMPILED_TEXT], const char *data, size_t size)
{
    const size_t name = find(data, size, " (");
    size_t file = name + 2 < size ? name + 2 : size;
    for (size_t i = file; i < size; i++)
        file = data[i] == '/' ? i + 1 : file;
    copy(out, RECOMPILED_TEXT, data, name);
    const size_t used = strlen(out);
    if (file < size)
        snprintf(out + used, RECOMPILED_TEXT - used, " (%.*s", (int)(size - file), data + file);
}

static struct recompiled *find_function(struct recompiles *recompiles, const char *function)
{
    for (uint32_t i = 0; i < recompiles->count; i++)
        if (strcmp(recompiles->function[i].function, function) == 0)
            return &recompiles->function[i];
    if (recompiles->count == RECOMPILED_FUNCTIONS)
        return NULL;
    struct recompiled *own = &recompiles->function[recompiles->count++];
    memcpy(own->function, function, RECOMPILED_TEXT);
    return own;
}

void recompiles_add(struct recompiles *recompiles, struct ss_text mark)
{
    char function[RECOMPILED_TEXT] = "";
    const size_t size = find(mark.data, mark.size, ": ");
    copy_function(function, mark.data, size);
    struct recompiled *own = find_function(recompiles, function);
    if (own) {
        const size_t reason = size + 2 < mark.size ? size + 2 : mark.size;
        own->count++;
        copy(own->reason, sizeof own->reason, mark.data + reason, mark.size - reason);
    }
}

/* "f" is the name of "f (train.py:12)". */
static bool has_name(const struct recompiled *function, const char *name)
{
    const size_t size = strlen(name);
    return size == 0 ||
           (strncmp(function->function, name, size) == 0 &&
            (function->function[size] == '\0' || strncmp(function->function + size, " (", 2) == 0));
}

const struct recompiled *recompiles_most(const struct recompiles *recompiles, const char *name)
{
    const struct recompiled *most = NULL;
    for (uint32_t i = 0; i < recompiles->count; i++) {
        const struct recompiled *function = &recompiles->function[i];
        if (has_name(function, name) && (!most || function->count > most->count))
            most = function;
    }
    return most;
}
