/* With frames_bytecode.c, all that is compiled against internal headers of CPython. */
#define Py_BUILD_CORE 1
#include <Python.h>

/* Frames of a newer version may look like those that are known and mean something else. */
#ifndef SS_NEWEST_PYTHON /* tests set an older one */
#define SS_NEWEST_PYTHON 0x030f
#endif

#if PY_VERSION_HEX >> 16 <= SS_NEWEST_PYTHON && defined(__has_include)
#if __has_include(<internal/pycore_interp.h>)
#define HAS_INTERNALS 1
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#elif PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_runtime.h>
#endif
#endif
#endif

#include <stdatomic.h>

#include "frames_layout.h"
#include "guard.h"

#define STRINGIFY_AGAIN(text) #text
#define STRINGIFY(text) STRINGIFY_AGAIN(text)
#define PYTHON_VERSION STRINGIFY(PY_MAJOR_VERSION) "." STRINGIFY(PY_MINOR_VERSION)

const struct frames_layout *frames_layout; /* of the interpreter, of which a process has one */

#ifdef HAS_INTERNALS

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

#if PY_VERSION_HEX >= 0x030d0000

/* From the table that the interpreter publishes for debuggers. What is not in it is in the public
 * structs of code objects. */

#if PY_VERSION_HEX >= 0x030e0000
enum { FIRST_OWNER_IN_C = FRAME_OWNED_BY_INTERPRETER, REFERENCE_TAG = Py_TAG_BITS };
#else
enum { FIRST_OWNER_IN_C = FRAME_OWNED_BY_CSTACK, REFERENCE_TAG = 0 };
#endif

/* The rest is filled in. */
static struct frames_layout layout = {
    .thread = {.id_is_native = true},
    .frame = {.has_owner = true,
              .owner_generator = FRAME_OWNED_BY_GENERATOR,
              .first_owner_in_c = FIRST_OWNER_IN_C,
              .code_tag = REFERENCE_TAG},
    .code = {.bytes = END_OF(PyCodeObject, _co_firsttraceable),
             .is_variable = true,
             .constants = offsetof(PyCodeObject, co_consts),
             .names = offsetof(PyCodeObject, co_names),
             .flags = offsetof(PyCodeObject, co_flags),
             .units = offsetof(PyVarObject, ob_size),
             .first_traceable = offsetof(PyCodeObject, _co_firsttraceable),
             .format = LAYOUT_LINES_LOCATIONS,
             .has_version = true,
             .version = offsetof(PyCodeObject, co_version)},
};

static const char *fill(void)
{
    const struct _Py_DebugOffsets *table = &_PyRuntime.debug_offsets;
    if (memcmp(table->cookie, "xdebugpy", sizeof table->cookie) != 0 ||
        table->version >> 16 != PY_VERSION_HEX >> 16 || table->free_threaded == HAS_GIL)
        return "the interpreter publishes no table of its frames";
    layout.first_thread = table->interpreter_state.threads_head;
    layout.thread.next = table->thread_state.next;
    layout.thread.interpreter = table->thread_state.interp;
    layout.thread.id = table->thread_state.native_thread_id;
    layout.thread.bytes = layout.thread.id + sizeof(unsigned long);
    layout.thread.top = table->thread_state.current_frame;
    layout.frame.bytes = table->interpreter_frame.localsplus;
    layout.frame.previous = table->interpreter_frame.previous;
    layout.frame.code = table->interpreter_frame.executable;
    layout.frame.instruction = table->interpreter_frame.instr_ptr;
    layout.frame.owner = table->interpreter_frame.owner;
#if PY_VERSION_HEX >= 0x030e0000
    layout.frame.has_copy = table->code_object.co_tlbc > 0;
    layout.frame.copy = table->interpreter_frame.tlbc_index;
    layout.code.copies = table->code_object.co_tlbc;
    if (layout.frame.has_copy && layout.code.bytes < layout.code.copies + sizeof(uintptr_t))
        layout.code.bytes = layout.code.copies + sizeof(uintptr_t);
#endif
    layout.code.type = table->pyobject.ob_type;
    layout.code.first_line = table->code_object.firstlineno;
    layout.code.file = table->code_object.filename;
    layout.code.name = table->code_object.qualname;
    layout.code.lines = table->code_object.linetable;
    layout.code.unit_one = table->code_object.co_code_adaptive;
    return layout.thread.bytes <= LAYOUT_THREAD_MOST && layout.frame.bytes <= LAYOUT_FRAME_MOST &&
                   layout.code.bytes <= LAYOUT_CODE_MOST
               ? NULL
               : "this release of Python has larger frames";
}

#else

/* From the internal headers. */

#if PY_VERSION_HEX >= 0x030b0000
typedef _PyInterpreterFrame frame_type;
#define FIRST_THREAD offsetof(PyInterpreterState, threads.head)
#define THREAD_ID native_thread_id
#define FRAME_PREVIOUS previous
#define FRAME_END localsplus
#define FRAME_INSTRUCTION prev_instr
#define CODE_NAME co_qualname
#else
typedef PyFrameObject frame_type;
#define FIRST_THREAD offsetof(PyInterpreterState, tstate_head)
#define THREAD_ID thread_id
#define FRAME_PREVIOUS f_back
#define FRAME_END f_blockstack
#define FRAME_INSTRUCTION f_lasti
#define CODE_NAME co_name
#endif

static const struct frames_layout layout = {
    .first_thread = FIRST_THREAD,
    .thread =
        {
            .bytes = END_OF(PyThreadState, THREAD_ID),
            .next = offsetof(PyThreadState, next),
            .interpreter = offsetof(PyThreadState, interp),
            .id = offsetof(PyThreadState, THREAD_ID),
#if PY_VERSION_HEX >= 0x030b0000
            .id_is_native = true,
#endif
#if PY_VERSION_HEX >= 0x030b0000
            .top = offsetof(PyThreadState, cframe),
            .top_is_indirect = true,
            .top_there = offsetof(_PyCFrame, current_frame),
#else
            .top = offsetof(PyThreadState, frame),
#endif
        },
    .frame =
        {
            .bytes = offsetof(frame_type, FRAME_END),
            .previous = offsetof(frame_type, FRAME_PREVIOUS),
            .code = offsetof(frame_type, f_code),
            .instruction = offsetof(frame_type, FRAME_INSTRUCTION),
#if PY_VERSION_HEX >= 0x030b0000
            .has_owner = true,
            .owner = offsetof(frame_type, owner),
            .owner_generator = FRAME_OWNED_BY_GENERATOR,
#else
            .instruction_is_index = true,
            .has_state = true,
            .state = offsetof(frame_type, f_state),
            .state_runs = FRAME_EXECUTING,
#endif
#if PY_VERSION_HEX >= 0x030c0000
            .first_owner_in_c = FRAME_OWNED_BY_CSTACK,
#else
            .first_owner_in_c = UCHAR_MAX + 1,
#endif
        },
    .code =
        {
            .type = offsetof(PyObject, ob_type),
            .first_line = offsetof(PyCodeObject, co_firstlineno),
            .file = offsetof(PyCodeObject, co_filename),
            .name = offsetof(PyCodeObject, CODE_NAME),
            .lines = offsetof(PyCodeObject, co_linetable),
            .constants = offsetof(PyCodeObject, co_consts),
            .names = offsetof(PyCodeObject, co_names),
            .flags = offsetof(PyCodeObject, co_flags),
#if PY_VERSION_HEX >= 0x030b0000
            .bytes = END_OF(PyCodeObject, _co_firsttraceable),
            .is_variable = true,
            .units = offsetof(PyVarObject, ob_size),
            .unit_one = offsetof(PyCodeObject, co_code_adaptive),
            .first_traceable = offsetof(PyCodeObject, _co_firsttraceable),
            .format = LAYOUT_LINES_LOCATIONS,
#if PY_VERSION_HEX >= 0x030c0000
            .has_version = true,
            .version = offsetof(PyCodeObject, co_version),
#endif
#else
            .bytes = END_OF(PyCodeObject, co_linetable),
            .instructions = offsetof(PyCodeObject, co_code),
            .format = LAYOUT_LINES_PAIRS,
#endif
        },
};

_Static_assert(END_OF(PyThreadState, THREAD_ID) <= LAYOUT_THREAD_MOST,
               "room for the part of a thread that is copied");
_Static_assert(offsetof(frame_type, FRAME_END) <= LAYOUT_FRAME_MOST,
               "room for the part of a frame that is copied");

static const char *fill(void)
{
    return NULL;
}

#endif

_Static_assert(offsetof(PyCodeObject, co_extra) <= LAYOUT_CODE_MOST,
               "room for the part of a code object that is copied");

const char *frames_layout_find(void)
{
    const char *reason = fill();
    frames_layout = reason ? NULL : &layout;
    return reason;
}

#else

const char *frames_layout_find(void)
{
    return PY_VERSION_HEX >> 16 > SS_NEWEST_PYTHON
               ? "the frames of Python " PYTHON_VERSION
                 " are not known to this version of stepscope"
               : "built without the internal headers of the interpreter";
}

#endif

void frames_layout_release(struct frames_variable *variable)
{
    Py_XDECREF(variable->name);
    Py_XDECREF(variable->module);
    Py_XDECREF(variable->code);
}

#ifdef HAS_INTERNALS

enum { NO_VARIABLE = -1, SHARED = -2 }; /* SHARED: with functions inside this one */

#if PY_VERSION_HEX >= 0x030d0000
#define RUNNING current_frame
#elif PY_VERSION_HEX >= 0x030b0000
#define RUNNING cframe->current_frame
#else
#define RUNNING frame
#endif

#if PY_VERSION_HEX >= 0x030d0000
typedef _PyInterpreterFrame frame_type;
#define FRAME_CODE f_executable
#else
#define FRAME_CODE f_code
#endif

/* What a slot of a frame refers to, borrowed. */
#if PY_VERSION_HEX >= 0x030e0000
static PyObject *object_of(_PyStackRef reference)
{
    return PyStackRef_IsNull(reference) ? NULL : PyStackRef_AsPyObjectBorrow(reference);
}
#else
static PyObject *object_of(void *reference)
{
    return reference;
}
#endif

static const frame_type *running(void)
{
    return PyThreadState_Get()->RUNNING;
}

static PyObject *code_of(const frame_type *frame)
{
    return object_of(frame->FRAME_CODE);
}

#if PY_VERSION_HEX >= 0x030b0000
#define FRAME_LOCALS localsplus
static int find_variable(const PyCodeObject *code, const PyObject *name)
{
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        if (PyTuple_GET_ITEM(code->co_localsplusnames, i) == name) {
            const char kind = PyBytes_AS_STRING(code->co_localspluskinds)[i];
            return kind & (CO_FAST_CELL | CO_FAST_FREE) ? SHARED : i;
        }
    }
    return NO_VARIABLE;
}
#else
#define FRAME_LOCALS f_localsplus
static int find_in(PyObject *names, const PyObject *name)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (PyTuple_GET_ITEM(names, i) == name)
            return (int)i;
    return NO_VARIABLE;
}

static int find_variable(const PyCodeObject *code, const PyObject *name)
{
    return find_in(code->co_cellvars, name) >= 0 || find_in(code->co_freevars, name) >= 0
               ? SHARED
               : find_in(code->co_varnames, name);
}
#endif

/* A frame was seen whose globals are those of the module that it should be of: no other release's
 * layout would have them there. */
static atomic_bool is_proven;

const void *frames_layout_running(void)
{
    return is_proven ? running() : NULL;
}

PyObject *frames_layout_again(const struct frames_variable *variable, const void *frame)
{
    const frame_type *caller = frame;
    return code_of(caller) == variable->code && variable->is_in_module && variable->at >= 0
               ? object_of(caller->FRAME_LOCALS[variable->at])
               : NULL;
}

bool frames_layout_local(struct frames_variable *variable, PyObject **value)
{
    const frame_type *frame = running();
    *value = NULL;
    if (!frame || !PyCode_Check(code_of(frame)))
        return !frame;
    PyObject *code = code_of(frame), *before = NULL;
    int at = variable->at;
    if (code != variable->code) {
        at = find_variable((PyCodeObject *)code, variable->name);
        before = variable->code;
        variable->code = Py_NewRef(code);
        variable->at = at;
        variable->is_in_module = frame->f_globals == variable->module;
        if (variable->is_in_module)
            is_proven = true;
    }
    if (at >= 0)
        *value = Py_XNewRef(object_of(frame->FRAME_LOCALS[at]));
    Py_XDECREF(before); /* last: code of others may run, which comes here too */
    return at != SHARED;
}

#else

const void *frames_layout_running(void)
{
    return NULL;
}

PyObject *frames_layout_again(const struct frames_variable *variable, const void *frame)
{
    (void)variable;
    (void)frame;
    return NULL;
}

bool frames_layout_local(struct frames_variable *variable, PyObject **value)
{
    (void)variable;
    *value = NULL;
    return false;
}

#endif
