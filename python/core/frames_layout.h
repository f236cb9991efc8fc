/* Where the interpreter keeps its threads, frames and code objects. From 3.13 on it publishes a
 * table of that; before, offsets are taken from the headers of the very version that this extension
 * is built for. None of them is written by hand.
 *
 * Only frames_layout.c sees these structs. A later release of the same version could still differ,
 * so code that uses this compares one stack with what the interpreter says first. */
#ifndef FRAMES_LAYOUT_H
#define FRAMES_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { LAYOUT_THREAD_MOST = 512, LAYOUT_FRAME_MOST = 128, LAYOUT_CODE_MOST = 256 };

enum layout_lines {
    LAYOUT_LINES_PAIRS,    /* co_linetable of 3.10: bytes of code, change of line */
    LAYOUT_LINES_LOCATIONS /* since 3.11: entries with columns, too */
};

struct frames_layout {
    size_t first_thread; /* in PyInterpreterState */

    struct { /* PyThreadState */
        size_t bytes, next, interpreter, id;
        bool id_is_native; /* the kernel's; else a pthread_t */
        size_t top;        /* the innermost frame, or the address of where that is */
        bool top_is_indirect;
        size_t top_there;
    } thread;

    struct { /* PyFrameObject in 3.10, _PyInterpreterFrame since */
        size_t bytes, previous, code;
        size_t instruction; /* address, or an int that counts code units */
        bool instruction_is_index;
        bool has_owner;
        size_t owner;
        char owner_generator;
        bool has_state; /* a frame may be freed or made while it is read: what says that it runs */
        size_t state;
        signed char state_runs;
        int first_owner_in_c; /* frames with this owner or a later one are no Python code */
        uintptr_t code_tag; /* bits of the reference to the code that are no part of its address */
        bool has_copy; /* without the GIL each thread may have a copy of the instructions of its
                          own: */
        size_t copy;   /* which one of the code object's, an int32_t */
    } frame;

    struct { /* PyCodeObject */
        size_t bytes, type, first_line, file, name, lines, constants, names, flags;
        bool is_variable;       /* the instructions are inside it: */
        size_t units, unit_one; /* how many, and where the first one is */
        size_t instructions;    /* else: the bytes object that has them */
        size_t first_traceable; /* the frame is complete from this one on */
        size_t copies;          /* has_copy: address of a length and the addresses of the copies */
        bool has_version;       /* a number that no other code object has, or 0 */
        size_t version;
        enum layout_lines format;
    } code;
};

/* NULL until it has been found. */
extern const struct frames_layout *frames_layout;

/* NULL, or why it is not known. */
const char *frames_layout_find(void);

/* A variable of the caller, and where it was found last: most calls come from the same
 * function. */
struct _object; /* PyObject */
struct frames_variable {
    struct _object *name;   /* strong, interned */
    struct _object *module; /* strong, a dictionary: see below; NULL: none */
    struct _object *code;   /* strong: of that function; NULL: not looked for yet */
    int at;                 /* less than 0: it has none */
    bool is_in_module;
};

/* The value of a local variable of the Python function that runs now: a new reference, NULL if it
 * has none. False: it is unknown here, a public call has to say it. With the GIL held. */
ATTR_HOT bool frames_layout_local(struct frames_variable *variable, struct _object **value);

void frames_layout_release(struct frames_variable *variable);

/* The frame of the Python function that runs now, for the call below; NULL: none, or no function of
 * a variable's module was seen yet. */
ATTR_HOT const void *frames_layout_running(void);

/* The variable's value if that function is the one in which it was found last, and is of the
 * module: borrowed, NULL otherwise. */
ATTR_HOT struct _object *frames_layout_again(const struct frames_variable *variable,
                                             const void *frame);

#endif
