/* The three types differ in the methods they show; asking for anything else asks what is inside.
 * An asynchronous generator gives awaitables, which are wrapped as coroutines are; what these give
 * to `await` is wrapped as a generator is. */
#include "generator_span.h"

#include <stddef.h>

#include "event.h"
#include "hook.h"
#include "span.h"

struct flow {
    PyObject_HEAD PyObject *inner;
    PyObject *weak_references;
    ss_name name;
    bool gives_batches;
};

/* Static types: the module lives in the main interpreter only. */
static PyTypeObject generator_type, coroutine_type, async_generator_type;

bool generator_span_is_made_by(PyObject *function)
{
    const int flow = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;

    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    return PyFunction_Check(function) &&
           ((PyCodeObject *)PyFunction_GET_CODE(function))->co_flags & flow;
}

static PyObject *flow_new(PyTypeObject *type, PyObject *inner, ss_name name)
{
    struct flow *flow = inner ? PyObject_GC_New(struct flow, type) : NULL;

    if (!flow) {
        Py_XDECREF(inner);
        return NULL;
    }
    flow->inner = inner;
    flow->weak_references = NULL;
    flow->name = name;
    flow->gives_batches = false;
    PyObject_GC_Track(flow);
    return (PyObject *)flow;
}

PyObject *generator_span_wrap(PyObject *inner, ss_name name)
{
    if (inner && PyGen_CheckExact(inner))
        return flow_new(&generator_type, inner, name);
    if (inner && PyCoro_CheckExact(inner))
        return flow_new(&coroutine_type, inner, name);
    if (inner && PyAsyncGen_CheckExact(inner))
        return flow_new(&async_generator_type, inner, name);
    return inner;
}

PyObject *generator_span_wrap_batches(PyObject *inner, ss_name name)
{
    PyObject *made = generator_span_wrap(inner, name);

    if (made && Py_IS_TYPE(made, &generator_type))
        ((struct flow *)made)->gives_batches = true;
    return made;
}

static int flow_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct flow *)self)->inner);
    return 0;
}

static int flow_clear(PyObject *self)
{
    Py_CLEAR(((struct flow *)self)->inner);
    return 0;
}

static void flow_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((struct flow *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    (void)flow_clear(self);
    PyObject_GC_Del(self);
}

static PyObject *flow_getattr(PyObject *self, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(self, name);

    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((struct flow *)self)->inner, name);
}

static PyObject *flow_repr(PyObject *self)
{
    return PyObject_Repr(((struct flow *)self)->inner);
}

/* A generator that has come to its end is not one that failed. */
static unsigned flags_of(const PyObject *result)
{
    PyObject *kind = result ? NULL : PyErr_Occurred();

    return kind && !PyErr_GivenExceptionMatches(kind, PyExc_StopIteration) &&
                   !PyErr_GivenExceptionMatches(kind, PyExc_StopAsyncIteration) &&
                   !PyErr_GivenExceptionMatches(kind, PyExc_GeneratorExit)
               ? SS_FLAG_FAILED
               : 0;
}

static void count_batch(uint64_t before)
{
    if (__atomic_load_n(&hook_batches, __ATOMIC_RELAXED) == before)
        __atomic_add_fetch(&hook_batches, 1, __ATOMIC_RELAXED);
}

static PyObject *flow_next(PyObject *self)
{
    struct flow *flow = (struct flow *)self;
    const uint64_t before = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);

    ss_begin(flow->name, 0);
    event_seen();
    PyObject *result = Py_TYPE(flow->inner)->tp_iternext(flow->inner);
    span_stack_end(flow->name, flags_of(result));
    if (result && flow->gives_batches)
        count_batch(before);
    return result;
}

static PySendResult flow_send_slot(PyObject *self, PyObject *value, PyObject **result)
{
    struct flow *flow = (struct flow *)self;

    ss_begin(flow->name, 0);
    event_seen();
    const PySendResult how = PyIter_Send(flow->inner, value, result);
    span_stack_end(flow->name, how == PYGEN_ERROR ? flags_of(NULL) : 0);
    return how;
}

/* Calls a method of what is inside, with these arguments, as a part of the span. */
static PyObject *call_inner(PyObject *self, const char *method, PyObject *const *arguments,
                            Py_ssize_t count)
{
    struct flow *flow = (struct flow *)self;
    PyObject *bound = PyObject_GetAttrString(flow->inner, method);

    if (!bound)
        return NULL;
    ss_begin(flow->name, 0);
    event_seen();
    PyObject *result = PyObject_Vectorcall(bound, arguments, (size_t)count, NULL);
    span_stack_end(flow->name, flags_of(result));
    Py_DECREF(bound);
    return result;
}

static PyObject *flow_send(PyObject *self, PyObject *value)
{
    return call_inner(self, "send", &value, 1);
}

static PyObject *flow_throw(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return call_inner(self, "throw", arguments, count);
}

static PyObject *flow_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    return call_inner(self, "close", NULL, 0);
}

static PyObject *coroutine_await(PyObject *self)
{
    struct flow *flow = (struct flow *)self;
    const PyAsyncMethods *methods = Py_TYPE(flow->inner)->tp_as_async;

    return flow_new(&generator_type, methods->am_await(flow->inner), flow->name);
}

static PyObject *async_next(PyObject *self)
{
    struct flow *flow = (struct flow *)self;
    const PyAsyncMethods *methods = Py_TYPE(flow->inner)->tp_as_async;

    return flow_new(&coroutine_type, methods->am_anext(flow->inner), flow->name);
}

/* An awaitable of the generator: making it is no work of the generator's. */
static PyObject *ask_async(PyObject *self, const char *method, PyObject *const *arguments,
                           Py_ssize_t count)
{
    struct flow *flow = (struct flow *)self;
    PyObject *bound = PyObject_GetAttrString(flow->inner, method);
    PyObject *awaitable = bound ? PyObject_Vectorcall(bound, arguments, (size_t)count, NULL) : NULL;

    Py_XDECREF(bound);
    return flow_new(&coroutine_type, awaitable, flow->name);
}

static PyObject *async_send(PyObject *self, PyObject *value)
{
    return ask_async(self, "asend", &value, 1);
}

static PyObject *async_throw(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return ask_async(self, "athrow", arguments, count);
}

static PyObject *async_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ask_async(self, "aclose", NULL, 0);
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef flow_methods[] = {
    {"send", flow_send, METH_O, NULL},
    {"throw", FAST(flow_throw), METH_FASTCALL, NULL},
    {"close", flow_close, METH_NOARGS, NULL},
    {0},
};

static PyMethodDef async_methods[] = {
    {"asend", async_send, METH_O, NULL},
    {"athrow", FAST(async_throw), METH_FASTCALL, NULL},
    {"aclose", async_close, METH_NOARGS, NULL},
    {0},
};

static PyAsyncMethods generator_slots = {.am_send = flow_send_slot};
static PyAsyncMethods coroutine_slots = {
    .am_await = coroutine_await,
    .am_send = flow_send_slot,
};
static PyAsyncMethods async_generator_slots = {
    .am_aiter = PyObject_SelfIter,
    .am_anext = async_next,
};

#define FLOW_TYPE                                                                                  \
    .tp_basicsize = sizeof(struct flow), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,      \
    .tp_weaklistoffset = offsetof(struct flow, weak_references), .tp_traverse = flow_traverse,     \
    .tp_clear = flow_clear, .tp_dealloc = flow_dealloc, .tp_getattro = flow_getattr,               \
    .tp_repr = flow_repr

static PyTypeObject generator_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.generator",
    FLOW_TYPE,
    .tp_as_async = &generator_slots,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = flow_next,
    .tp_methods = flow_methods,
};

static PyTypeObject coroutine_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.coroutine",
    FLOW_TYPE,
    .tp_as_async = &coroutine_slots,
    .tp_methods = flow_methods,
};

static PyTypeObject async_generator_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.async_generator",
    FLOW_TYPE,
    .tp_as_async = &async_generator_slots,
    .tp_methods = async_methods,
};

int generator_span_add(PyObject *module)
{
    (void)module;
    return PyType_Ready(&generator_type) || PyType_Ready(&coroutine_type) ||
                   PyType_Ready(&async_generator_type)
               ? -1
               : 0;
}
