/* The C function in a PyMethodDef. It is called with self and arguments only, so a trampoline has
 * to know by itself which hook it serves: each way of calling has some, numbered by slots. Bindings
 * of C++ make most functions with keywords, so those two ways have MANY slots, the others FEW. */
#include <errno.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "guard.h"
#include "hook_technique.h"

#define DIGITS(X, tens)                                                                            \
    X(tens##0)                                                                                     \
    X(tens##1) X(tens##2) X(tens##3) X(tens##4) X(tens##5) X(tens##6) X(tens##7)
#define EACH_OF_FEW(X)                                                                             \
    DIGITS(X, 00)                                                                                  \
    DIGITS(X, 01)
#define EACH_OF_MANY(X)                                                                            \
    EACH_OF_FEW(X)                                                                                 \
    DIGITS(X, 02)                                                                                  \
    DIGITS(X, 03) DIGITS(X, 04) DIGITS(X, 05)
enum { FEW = 020, MANY = 060 }; /* the names of slots are octal numbers */

enum way { VARARGS, KEYWORDS, NOARGS, ONE, FAST, FAST_KEYWORDS, FAST_METHOD, WAYS };

/* A trampoline is called with no pointer of ours: this is where it finds its hook. */
static struct hook *hooks[WAYS][MANY];

/* Code that is the same for all ways: `call_it` uses `original`, cast to the right type. */
#define AROUND(hook, type, first, rest, count, call_it)                                            \
    do {                                                                                           \
        const type original = (type)(hook)->original;                                              \
        if (!hook_is_due((hook)->points))                                                          \
            return call_it;                                                                        \
        const struct hook_call call = {first, rest, count};                                        \
        struct hook_visit visit;                                                                   \
        hook_enter((hook)->points, &call, &visit);                                                 \
        return hook_leave(&visit, &call, call_it);                                                 \
    } while (0)

typedef PyObject *(*no_keywords)(PyObject *, PyObject *);
typedef PyObject *(*with_keywords)(PyObject *, PyObject *, PyObject *);
typedef PyObject *(*fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*fast_keywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *(*fast_method)(PyObject *, PyTypeObject *, PyObject *const *, size_t, PyObject *);

/* A module's function has the module as self, or nothing: it is no argument of the call. */
static PyObject *first_of(const struct hook *hook, PyObject *self)
{
    return hook->is_bound ? NULL : self;
}

ATTR_HOT static PyObject *around_varargs(struct hook *hook, PyObject *self, PyObject *args)
{
    AROUND(hook, no_keywords, first_of(hook, self), &PyTuple_GET_ITEM(args, 0),
           PyTuple_GET_SIZE(args), original(self, args));
}

ATTR_HOT static PyObject *around_keywords(struct hook *hook, PyObject *self, PyObject *args,
                                          PyObject *names)
{
    AROUND(hook, with_keywords, first_of(hook, self), &PyTuple_GET_ITEM(args, 0),
           PyTuple_GET_SIZE(args), original(self, args, names));
}

ATTR_HOT static PyObject *around_noargs(struct hook *hook, PyObject *self, PyObject *unused)
{
    AROUND(hook, no_keywords, first_of(hook, self), NULL, 0, original(self, unused));
}

ATTR_HOT static PyObject *around_one(struct hook *hook, PyObject *self, PyObject *one)
{
    AROUND(hook, no_keywords, first_of(hook, self), &one, 1, original(self, one));
}

ATTR_HOT static PyObject *around_fast(struct hook *hook, PyObject *self, PyObject *const *args,
                                      Py_ssize_t count)
{
    AROUND(hook, fast, first_of(hook, self), args, count, original(self, args, count));
}

ATTR_HOT static PyObject *around_fast_keywords(struct hook *hook, PyObject *self,
                                               PyObject *const *args, Py_ssize_t count,
                                               PyObject *names)
{
    AROUND(hook, fast_keywords, first_of(hook, self), args, count,
           original(self, args, count, names));
}

ATTR_HOT static PyObject *around_fast_method(struct hook *hook, PyObject *self, PyTypeObject *type,
                                             PyObject *const *args, size_t count, PyObject *names)
{
    AROUND(hook, fast_method, first_of(hook, self), args, (Py_ssize_t)count,
           original(self, type, args, count, names));
}

#define VARARGS_TRAMPOLINE(n)                                                                      \
    static PyObject *varargs_##n(PyObject *s, PyObject *a)                                         \
    {                                                                                              \
        return around_varargs(hooks[VARARGS][n], s, a);                                            \
    }
#define KEYWORDS_TRAMPOLINE(n)                                                                     \
    static PyObject *keywords_##n(PyObject *s, PyObject *a, PyObject *k)                           \
    {                                                                                              \
        return around_keywords(hooks[KEYWORDS][n], s, a, k);                                       \
    }
#define NOARGS_TRAMPOLINE(n)                                                                       \
    static PyObject *noargs_##n(PyObject *s, PyObject *a)                                          \
    {                                                                                              \
        return around_noargs(hooks[NOARGS][n], s, a);                                              \
    }
#define ONE_TRAMPOLINE(n)                                                                          \
    static PyObject *one_##n(PyObject *s, PyObject *a)                                             \
    {                                                                                              \
        return around_one(hooks[ONE][n], s, a);                                                    \
    }
#define FAST_TRAMPOLINE(n)                                                                         \
    static PyObject *fast_##n(PyObject *s, PyObject *const *a, Py_ssize_t c)                       \
    {                                                                                              \
        return around_fast(hooks[FAST][n], s, a, c);                                               \
    }
#define FAST_KEYWORDS_TRAMPOLINE(n)                                                                \
    static PyObject *fast_keywords_##n(PyObject *s, PyObject *const *a, Py_ssize_t c, PyObject *k) \
    {                                                                                              \
        return around_fast_keywords(hooks[FAST_KEYWORDS][n], s, a, c, k);                          \
    }
#define FAST_METHOD_TRAMPOLINE(n)                                                                  \
    static PyObject *fast_method_##n(PyObject *s, PyTypeObject *t, PyObject *const *a, size_t c,   \
                                     PyObject *k)                                                  \
    {                                                                                              \
        return around_fast_method(hooks[FAST_METHOD][n], s, t, a, c, k);                           \
    }
EACH_OF_FEW(VARARGS_TRAMPOLINE)
EACH_OF_MANY(KEYWORDS_TRAMPOLINE)
EACH_OF_FEW(NOARGS_TRAMPOLINE)
EACH_OF_FEW(ONE_TRAMPOLINE)
EACH_OF_FEW(FAST_TRAMPOLINE)
EACH_OF_MANY(FAST_KEYWORDS_TRAMPOLINE)
EACH_OF_FEW(FAST_METHOD_TRAMPOLINE)
#define VARARGS_ADDRESS(n) (void *)varargs_##n,
#define KEYWORDS_ADDRESS(n) (void *)keywords_##n,
#define NOARGS_ADDRESS(n) (void *)noargs_##n,
#define ONE_ADDRESS(n) (void *)one_##n,
#define FAST_ADDRESS(n) (void *)fast_##n,
#define FAST_KEYWORDS_ADDRESS(n) (void *)fast_keywords_##n,
#define FAST_METHOD_ADDRESS(n) (void *)fast_method_##n,

static void *const trampolines[WAYS][MANY] = {
    [VARARGS] = {EACH_OF_FEW(VARARGS_ADDRESS)},
    [KEYWORDS] = {EACH_OF_MANY(KEYWORDS_ADDRESS)},
    [NOARGS] = {EACH_OF_FEW(NOARGS_ADDRESS)},
    [ONE] = {EACH_OF_FEW(ONE_ADDRESS)},
    [FAST] = {EACH_OF_FEW(FAST_ADDRESS)},
    [FAST_KEYWORDS] = {EACH_OF_MANY(FAST_KEYWORDS_ADDRESS)},
    [FAST_METHOD] = {EACH_OF_FEW(FAST_METHOD_ADDRESS)},
};

/* -1: it is called in a way that is not known. */
static int way_of(int flags)
{
    switch (flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) {
    case METH_VARARGS:
        return VARARGS;
    case METH_VARARGS | METH_KEYWORDS:
        return KEYWORDS;
    case METH_NOARGS:
        return NOARGS;
    case METH_O:
        return ONE;
    case METH_FASTCALL:
        return FAST;
    case METH_FASTCALL | METH_KEYWORDS:
        return FAST_KEYWORDS;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
        return FAST_METHOD;
    default:
        return -1;
    }
}

static PyMethodDef *definition_of(PyObject *target)
{
    if (PyCFunction_Check(target))
        return ((PyCFunctionObject *)target)->m_ml;
    if (Py_IS_TYPE(target, &PyMethodDescr_Type) || Py_IS_TYPE(target, &PyClassMethodDescr_Type))
        return ((PyMethodDescrObject *)target)->d_method;
    return NULL;
}

/* MANY: all of this way are taken. */
static unsigned free_slot(int way, const struct hook *hook)
{
    unsigned slot = 0;
    while (slot < MANY && trampolines[way][slot] && hooks[way][slot] && hooks[way][slot] != hook)
        slot++;
    return slot < MANY && trampolines[way][slot] ? slot : MANY;
}

static bool is_ours(const void *function)
{
    for (unsigned i = 0; i < WAYS * MANY; i++)
        if (trampolines[i / MANY][i % MANY] == function)
            return true;
    return false;
}

/* Where a filter allows no such call: as the kernel lists our memory. */
static bool is_listed_writable(const void *place)
{
    char line[512];
    bool can = false;
    FILE *const maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && (uintptr_t)place >= from &&
            (uintptr_t)place < to)
            can = rights[1] == 'w';
    }
    if (maps)
        fclose(maps);
    return can;
}

/* The kernel copies the value onto itself: where that would be a fault, it says EFAULT. */
static bool is_writable(void *place)
{
    void *value = NULL;
    struct iovec here = {&value, sizeof value};
    struct iovec there = {place, sizeof value};
    const int before = errno;
    const pid_t self = getpid();
    bool can = false;
    errno = EPERM;
    if (!risky_call_kills(RISKY_OWN_MEMORY))
        can = process_vm_readv(self, &here, 1, &there, 1, 0) == sizeof value &&
              process_vm_writev(self, &here, 1, &there, 1, 0) == sizeof value;
    if (!can && errno != EFAULT)
        can = is_listed_writable(place);
    errno = before;
    return can;
}

/* Puts `value` into an aligned place, at once for other threads that read it. False: it cannot be
 * written, and nothing happened. */
static bool store(void *place, void *value)
{
    if (!is_writable(place))
        return false;
    __atomic_store_n((void **)place, value, __ATOMIC_RELEASE);
    return true;
}

static const char *lay(struct hook *hook)
{
    PyMethodDef *definition = definition_of(hook->target);
    if (!definition)
        return "it is not a method or function written in C";
    const int way = way_of(definition->ml_flags);
    if (way < 0)
        return "it is called in a way that is not known";
    if (is_ours((void *)definition->ml_meth))
        return "it shares its C function with one that is hooked";
    const unsigned slot = free_slot(way, hook);
    if (slot == MANY)
        return "too many C functions are hooked";
    hook->original = (void *)definition->ml_meth;
    hook->place = trampolines[way][slot];
    hook->slot = slot;
    hook->is_bound = PyCFunction_Check(hook->target);
    hooks[way][slot] = hook;
    if (!store(&definition->ml_meth, hook->place)) {
        hooks[way][slot] = NULL;
        return "its definition is in memory that cannot be written";
    }
    return NULL;
}

static const char *restore(struct hook *hook)
{
    PyMethodDef *definition = definition_of(hook->target);
    if ((void *)definition->ml_meth != hook->place || !store(&definition->ml_meth, hook->original))
        return "something else replaced it since";
    if (HAS_GIL) /* else another thread may be on its way through the trampoline */
        hooks[way_of(definition->ml_flags)][hook->slot] = NULL;
    return NULL;
}

const struct hook_technique hook_method = {"method", lay, restore};
