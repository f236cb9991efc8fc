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
    bool is_bound;               /* the function has its self; for the technique */
    bool is_laid;
};

struct hook_technique {
    const char *name;
    /* NULL, or why it cannot be laid: nothing was changed then. May be called again after
     * restore(). */
    const char *(*lay)(struct hook *hook);
    /* NULL, or why it cannot be restored: something else changed the same place since. The
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

/* The buffer slot of a class. */
extern const struct hook_technique hook_buffer;

/* An object of our own type in the place of an attribute of a class or a module. */
extern const struct hook_technique hook_callable;

/* A slot of the global offset table of a loaded library: owner is a part of its path, attribute
 * the symbol. */
extern const struct hook_technique hook_library;

/* Patches again what the loader has bound since; for the first event of a recording. */
void hook_library_check(void);

/* An object that stands for a function anywhere: it records what the points of the hook say. NULL
 * with an exception. */
PyObject *hook_callable_new(const struct hook *hook, PyObject *function);

/* Makes the callable type ready; 0, or -1 with an exception. */
int hook_callable_ready(PyObject *module);

/* Hooks on objects that come and go, as functions that a script has compiled: nothing here keeps
 * them alive, and a new one may lie where an old one was. */

/* Calls of the object, whose type has a vectorcall slot in each instance, record what the points of
 * `like` say; `wrapper` is what the caller knows it by. NULL, or why not. */
const char *hook_transient_follow(const struct hook *like, PyObject *wrapper, PyObject *object);

/* The wrapper of the outermost such object that is being called on this thread, a new reference;
 * NULL: there is none. */
PyObject *hook_transient_called(void);

/* From this call on that object records what the points of `like` say. */
void hook_transient_become(const struct hook *like, PyObject *wrapper);

/* Calls with these points train: later ones have the flag, and those that are under way if the
 * points have options, as a group. NULL: those of the outermost object that is being called on this
 * thread. */
void hook_transient_trains(const struct hook *like);

/* All hooks of this process (hook_registry.c). */

/* A hook that is not laid yet; takes over the points. NULL: no memory. hook_list_find() finds it by
 * its key, most often the target itself. */
struct hook *hook_list_new(const struct hook_technique *technique, const void *key,
                           PyObject *target, PyObject *owner, PyObject *attribute,
                           struct hook_point *points);

/* The hook with this key, or NULL. Hot: called for each call of a hooked function. */
ATTR_HOT struct hook *hook_list_find(const void *key);

/* The i-th hook, NULL after the last one. */
struct hook *hook_list_at(unsigned i);

/* Lays a hook with this point, or adds the point to the hook that is there. Takes over the point.
 * NULL, or why not. */
const char *hook_lay(const char *technique, PyObject *target, PyObject *owner, PyObject *attribute,
                     struct hook_point *point);

/* How many stay in place, because something else changed the same place since. */
long hook_restore_all(void);

/* How many cannot be laid again. */
long hook_lay_all(void);

/* Lets those go that are not in place. */
void hook_forget_all(void);

/* A mark that each recording of this process has, from when it is known on. Texts are copied. */
void hook_status_mark(const char *name, const char *text);

/* A list of (target, reason or None); NULL with an exception. */
PyObject *hook_status_list(void);

#endif
