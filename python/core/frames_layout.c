/* With frames_opcodes.c, all that is compiled against internal headers of CPython. */
#define Py_BUILD_CORE 1
#include <Python.h>

#if defined(__has_include)
#if __has_include(<internal/pycore_interp.h>)
#define HAS_INTERNALS 1
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#endif
#endif

#include "frames_layout.h"

#ifdef HAS_INTERNALS

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

#if PY_VERSION_HEX >= 0x030b0000
typedef _PyInterpreterFrame frame_type;
#define FIRST_THREAD offsetof(PyInterpreterState, threads.head)
#define THREAD_ID native_thread_id
#define FRAME_PREVIOUS previous
#define FRAME_END localsplus
#define CODE_NAME co_qualname
#else
typedef PyFrameObject frame_type;
#define FIRST_THREAD offsetof(PyInterpreterState, tstate_head)
#define THREAD_ID thread_id
#define FRAME_PREVIOUS f_back
#define FRAME_END f_blockstack
#define CODE_NAME co_name
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define FRAME_CODE f_executable
#define FRAME_INSTRUCTION instr_ptr
#elif PY_VERSION_HEX >= 0x030b0000
#define FRAME_CODE f_code
#define FRAME_INSTRUCTION prev_instr
#else
#define FRAME_CODE f_code
#define FRAME_INSTRUCTION f_lasti
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
#if PY_VERSION_HEX >= 0x030d0000
            .top = offsetof(PyThreadState, current_frame),
#elif PY_VERSION_HEX >= 0x030b0000
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
            .code = offsetof(frame_type, FRAME_CODE),
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
            .owner_c_stack = FRAME_OWNED_BY_CSTACK,
#else
            .owner_c_stack = -1,
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
_Static_assert(offsetof(PyCodeObject, co_extra) <= LAYOUT_CODE_MOST,
               "room for the part of a code object that is copied");

const struct frames_layout *const frames_layout = &layout;

#else

const struct frames_layout *const frames_layout = NULL;

#endif

void frames_layout_release(struct frames_variable *variable)
{
    Py_XDECREF(variable->name);
    Py_XDECREF(variable->module);
    Py_XDECREF(variable->code);
}

#if defined(HAS_INTERNALS) && PY_VERSION_HEX < 0x030e0000

enum { NO_VARIABLE = -1, SHARED = -2 }; /* SHARED: with functions inside of this one */

#if PY_VERSION_HEX >= 0x030d0000
#define RUNNING current_frame
#elif PY_VERSION_HEX >= 0x030b0000
#define RUNNING cframe->current_frame
#else
#define RUNNING frame
#endif

static const frame_type *running(void)
{
    return PyThreadState_Get()->RUNNING;
}

static PyObject *code_of(const frame_type *frame)
{
    return (PyObject *)frame->FRAME_CODE;
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
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (PyTuple_GET_ITEM(names, i) == name) {
            return (int)i;
        }
    }
    return NO_VARIABLE;
}

static int find_variable(const PyCodeObject *code, const PyObject *name)
{
    return find_in(code->co_cellvars, name) >= 0 || find_in(code->co_freevars, name) >= 0
               ? SHARED
               : find_in(code->co_varnames, name);
}
#endif

/* A frame was seen whose globals are those of the module that it should be of: no other release's layout
 * would have them there. */
static bool is_proven;

const void *frames_layout_running(void)
{
    return is_proven ? running() : NULL;
}

PyObject *frames_layout_again(const struct frames_variable *variable, const void *frame)
{
    const frame_type *caller = frame;
    return code_of(caller) == variable->code && variable->is_in_module &&
                   variable->at >= 0
               ? caller->FRAME_LOCALS[variable->at]
               : NULL;
}

bool frames_layout_local(struct frames_variable *variable, PyObject **value)
{
    const frame_type *frame = running();
    *value = NULL;
    if (!frame || !PyCode_Check(code_of(frame))) {
        return !frame;
    }
    PyObject *code = code_of(frame), *before = NULL;
    int at = variable->at;
    if (code != variable->code) {
        at = find_variable((PyCodeObject *)code, variable->name);
        before = variable->code;
        variable->code = Py_NewRef(code);
        variable->at = at;
        variable->is_in_module = frame->f_globals == variable->module;
        is_proven = is_proven || variable->is_in_module;
    }
    if (at >= 0) {
        *value = Py_XNewRef(frame->FRAME_LOCALS[at]);
    }
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
