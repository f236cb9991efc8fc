/* The ways of laying a hook. Each changes one pointer in memory, or one attribute, and knows how to
 * put it back. The reasons that they give are texts for a person, never freed. */
#ifndef PYTHON_HOOK_TECHNIQUE_H
#define PYTHON_HOOK_TECHNIQUE_H

#include "hook.h"

struct hook {
    const struct hook_technique *technique;
    struct hook_point *points;   /* the first one that takes a call records it */
    PyObject *target;            /* strong: what is hooked; NULL once removed */
    const void *key;             /* its address, also then */
    PyObject *owner, *attribute; /* strong, may be NULL: where it was found */
    void *original;              /* what was there before; for the technique */
    void *place;                 /* where; for the technique */
    unsigned slot;               /* which trampoline; for the technique */
    bool is_laid;
};

struct hook_technique {
    const char *name;
    /* NULL, or why it can not be laid: nothing was changed then. May be called again after
     * restore(). */
    const char *(*lay)(struct hook *hook);
    /* NULL, or why it can not be restored: somebody else changed the same place since. The
     * trampoline stays then, and hands on. */
    const char *(*restore)(struct hook *hook);
};

/* A Python function's vectorcall: its object, type, code, pickle and tracebacks stay as they are.
 * CPython 3.11 calls Python functions from Python without it: there it sees calls that come from C
 * (obj(), next(), with, a property, f(*a)) only. */
extern const struct hook_technique hook_function;

/* The C function behind a method or function written in C; all objects that share its definition
 * are hooked with it. */
extern const struct hook_technique hook_method;

/* The vectorcall slot of one object whose type has such a slot in each instance. */
extern const struct hook_technique hook_object;

/* Where that slot of an object is; NULL: it has none. */
vectorcallfunc *hook_object_slot(PyObject *object);

/* The buffer slot of a class. */
extern const struct hook_technique hook_buffer;

/* An object of our own type in the place of an attribute of a class or a module. */
extern const struct hook_technique hook_callable;

/* A slot of the global offset table of a loaded library: owner is a part of its path, attribute
 * the symbol. */
extern const struct hook_technique hook_library;

/* Patches again what the loader bound meanwhile; for the first event of a recording. */
void hook_library_check(void);

/* The trampoline of hook_function and hook_object. */
ATTR_HOT PyObject *hook_vectorcall(PyObject *callable, PyObject *const *args,
                                   size_t nargsf, PyObject *kwnames);

/* An object that stands for a function anywhere: it records what the points of the hook say. NULL with
 * an exception. */
PyObject *hook_callable_new(const struct hook *hook, PyObject *function);

/* Makes the callable type ready; 0, or -1 with an exception. */
int hook_callable_ready(PyObject *module);

#endif
