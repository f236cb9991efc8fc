/* The Pythons of this machine: those on PATH and those of pyenv. Each is asked what it is, all at
 * the same time; one that does not answer soon is ended. */
#ifndef DOCTOR_INTERPRETERS_H
#define DOCTOR_INTERPRETERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct interpreter {
    char path[PATH_MAX]; /* where it was found; of one that answered, what it really is */
    bool is_first;       /* the first python3 on PATH */
    bool answered;
    char implementation[32]; /* "cpython" */
    char version[32];        /* "3.11.7" */
    bool has_extension;      /* for it, in `package` or installed for it */
    bool is_free_threaded;
};

/* Finds at most `most`, in the order of PATH, each once. `package`: the folder of our own
 * package. */
size_t interpreters_find(struct interpreter *out, size_t most, const char *package);

/* What one of them prints: "IMPLEMENTATION VERSION EXTENSION FREE PATH" in the last line, where
 * EXTENSION and FREE are 0 or 1. False: it is something else. */
bool interpreters_parse(const char *text, struct interpreter *out);

#endif
