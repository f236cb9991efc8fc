/* The C function in a PyMethodDef. It is called with self and arguments only, so a trampoline has to
 * know by itself which hook it serves: there are SLOTS of them, for each way of calling. */
#include "hook_memory.h"
#include "hook_technique.h"

#define DIGITS(X, tens)                                                                  \
    X(tens##0)                                                                           \
    X(tens##1) X(tens##2) X(tens##3) X(tens##4) X(tens##5) X(tens##6) X(tens##7)
#define EACH_SLOT(X)                                                                     \
    DIGITS(X, 00)                                                                        \
    DIGITS(X, 01)                                                                        \
    DIGITS(X, 02) DIGITS(X, 03) DIGITS(X, 04) DIGITS(X, 05) DIGITS(X, 06) DIGITS(X, 07)
enum { SLOTS = 0100 }; /* the names of slots are octal numbers */

static struct hook *hooks[SLOTS];

/* Code that is the same for all ways: `call_it` uses `original`, cast to the right type. */
#define AROUND(hook, type, first, rest, count, call_it)                                  \
    do {                                                                                 \
        const type original = (type)(hook)->original;                                    \
        if (!hook_is_due((hook)->points)) {                                              \
            return call_it;                                                              \
        }                                                                                \
        const struct hook_call call = {first, rest, count};                              \
        struct hook_visit visit;                                                         \
        hook_enter((hook)->points, &call, &visit);                                       \
        return hook_leave(&visit, &call, call_it);                                       \
    } while (0)

typedef PyObject *(*no_keywords)(PyObject *, PyObject *);
typedef PyObject *(*with_keywords)(PyObject *, PyObject *, PyObject *);
typedef PyObject *(*fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*fast_keywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *(*fast_method)(PyObject *, PyTypeObject *, PyObject *const *, size_t,
                                 PyObject *);

/* A module's function has the module as self, or nothing: it is no argument of the call. */
static PyObject *first_of(const struct hook *hook, PyObject *self)
{
    return PyCFunction_Check(hook->target) ? NULL : self;
}

ATTR_HOT static PyObject *around_varargs(struct hook *hook, PyObject *self,
                                         PyObject *args)
{
    AROUND(hook, no_keywords, first_of(hook, self), &PyTuple_GET_ITEM(args, 0),
           PyTuple_GET_SIZE(args), original(self, args));
}

ATTR_HOT static PyObject *around_keywords(struct hook *hook, PyObject *self,
                                          PyObject *args, PyObject *names)
{
    AROUND(hook, with_keywords, first_of(hook, self), &PyTuple_GET_ITEM(args, 0),
           PyTuple_GET_SIZE(args), original(self, args, names));
}

ATTR_HOT static PyObject *around_noargs(struct hook *hook, PyObject *self,
                                        PyObject *unused)
{
    AROUND(hook, no_keywords, first_of(hook, self), NULL, 0, original(self, unused));
}

ATTR_HOT static PyObject *around_one(struct hook *hook, PyObject *self, PyObject *one)
{
    AROUND(hook, no_keywords, first_of(hook, self), &one, 1, original(self, one));
}

ATTR_HOT static PyObject *around_fast(struct hook *hook, PyObject *self,
                                      PyObject *const *args, Py_ssize_t count)
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

ATTR_HOT static PyObject *around_fast_method(struct hook *hook, PyObject *self,
                                             PyTypeObject *type, PyObject *const *args,
                                             size_t count, PyObject *names)
{
    AROUND(hook, fast_method, first_of(hook, self), args, (Py_ssize_t)count,
           original(self, type, args, count, names));
}

#define TRAMPOLINES(n)                                                                   \
    static PyObject *varargs_##n(PyObject *s, PyObject *a)                               \
    {                                                                                    \
        return around_varargs(hooks[n], s, a);                                           \
    }                                                                                    \
    static PyObject *keywords_##n(PyObject *s, PyObject *a, PyObject *k)                 \
    {                                                                                    \
        return around_keywords(hooks[n], s, a, k);                                       \
    }                                                                                    \
    static PyObject *noargs_##n(PyObject *s, PyObject *a)                                \
    {                                                                                    \
        return around_noargs(hooks[n], s, a);                                            \
    }                                                                                    \
    static PyObject *one_##n(PyObject *s, PyObject *a)                                   \
    {                                                                                    \
        return around_one(hooks[n], s, a);                                               \
    }                                                                                    \
    static PyObject *fast_##n(PyObject *s, PyObject *const *a, Py_ssize_t c)             \
    {                                                                                    \
        return around_fast(hooks[n], s, a, c);                                           \
    }                                                                                    \
    static PyObject *fast_keywords_##n(PyObject *s, PyObject *const *a, Py_ssize_t c,    \
                                       PyObject *k)                                      \
    {                                                                                    \
        return around_fast_keywords(hooks[n], s, a, c, k);                               \
    }                                                                                    \
    static PyObject *fast_method_##n(PyObject *s, PyTypeObject *t, PyObject *const *a,   \
                                     size_t c, PyObject *k)                              \
    {                                                                                    \
        return around_fast_method(hooks[n], s, t, a, c, k);                              \
    }
EACH_SLOT(TRAMPOLINES)

#define ROW(n)                                                                           \
    {(void *)varargs_##n,    (void *)keywords_##n, (void *)noargs_##n,                   \
     (void *)one_##n,        (void *)fast_##n,     (void *)fast_keywords_##n,            \
     (void *)fast_method_##n},
enum { WAYS = 7 };
static void *const trampolines[SLOTS][WAYS] = {EACH_SLOT(ROW)};

static int way_of(int flags)
{
    switch (flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) {
    case METH_VARARGS:
        return 0;
    case METH_VARARGS | METH_KEYWORDS:
        return 1;
    case METH_NOARGS:
        return 2;
    case METH_O:
        return 3;
    case METH_FASTCALL:
        return 4;
    case METH_FASTCALL | METH_KEYWORDS:
        return 5;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
        return 6;
    default:
        return -1;
    }
}

static PyMethodDef *definition_of(PyObject *target)
{
    if (PyCFunction_Check(target)) {
        return ((PyCFunctionObject *)target)->m_ml;
    }
    if (Py_IS_TYPE(target, &PyMethodDescr_Type) ||
        Py_IS_TYPE(target, &PyClassMethodDescr_Type)) {
        return ((PyMethodDescrObject *)target)->d_method;
    }
    return NULL;
}

static unsigned free_slot(void)
{
    unsigned slot = 0;
    while (slot < SLOTS && hooks[slot]) {
        slot++;
    }
    return slot;
}

static bool is_ours(const void *function)
{
    for (unsigned i = 0; i < SLOTS * WAYS; i++) {
        if (trampolines[i / WAYS][i % WAYS] == function) {
            return true;
        }
    }
    return false;
}

static const char *lay(struct hook *hook)
{
    PyMethodDef *definition = definition_of(hook->target);
    if (!definition) {
        return "it is not a method or function written in C";
    }
    const int way = way_of(definition->ml_flags);
    if (way < 0) {
        return "it is called in a way that is not known";
    }
    if (is_ours((void *)definition->ml_meth)) {
        return "it shares its C function with one that is hooked";
    }
    const unsigned slot = free_slot();
    if (slot == SLOTS) {
        return "too many C functions are hooked";
    }
    hook->original = (void *)definition->ml_meth;
    hook->place = trampolines[slot][way];
    hook->slot = slot;
    hooks[slot] = hook;
    if (!hook_memory_store(&definition->ml_meth, hook->place)) {
        hooks[slot] = NULL;
        return "its definition is in memory that can not be written";
    }
    return NULL;
}

static const char *restore(struct hook *hook)
{
    PyMethodDef *definition = definition_of(hook->target);
    if ((void *)definition->ml_meth != hook->place ||
        !hook_memory_store(&definition->ml_meth, hook->original)) {
        return "something else replaced it since";
    }
    hooks[hook->slot] = NULL;
    return NULL;
}

const struct hook_technique hook_method = {"method", lay, restore};
