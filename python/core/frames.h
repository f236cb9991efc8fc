/* The stacks of Python threads of this process, taken by another thread without the GIL.
 *
 * While a stack is read, its thread goes on. So it is read twice: the first look finds the frames
 * and whatever is not known yet about their code, the second one, a single system call, is the
 * sample. It counts only if the frames are linked as they were and their code is what it was before
 * and is afterwards. The innermost frame may have changed since: a short function must not be
 * seen less often than a long one. A frame that is still being made has called nothing yet, but for
 * a few cases that are looked at once more. What does not fit is looked at again a few times and
 * then given up.
 *
 * A thread is mostly where it was last time, but for its innermost frames. Then the last sample was
 * the first look, and one system call does for the second one and for the check of the code: it
 * reads its pieces of memory in order.
 *
 * One thread at a time may use a struct frames. */
#ifndef FRAMES_H
#define FRAMES_H

#include "core.h"

#include "frames_code.h"
#include "stepscope/recorder.h"

enum { FRAMES_DEPTH = CODE_CHECK_MOST, FRAMES_THREADS = 1024 };

struct frame {
    uintptr_t address, previous, code;
    uintptr_t instruction; /* its address, or its number */
    unsigned char owner;
    int32_t
        copy;  /* of the instructions; 0: those of the code object, or the version has no copies */
    bool runs; /* or the version does not say */
};

/* Frames of a thread, innermost first, as one look at them found them. */
struct frames_view {
    uintptr_t thread;    /* its state */
    uintptr_t tid_place; /* where its id of the kernel is; 0: in the state */
    uintptr_t place;     /* where the address of its innermost frame is; 0: in the state */
    uintptr_t top;
    size_t count;
    struct frame frame[FRAMES_DEPTH];
};

struct frames_thread {
    uint32_t tid;
    uintptr_t state;
};

struct frames {
    uintptr_t interpreter;
    size_t tid_in_pthread; /* where the C library keeps it; 3.10 needs that */
    struct frames_thread thread[FRAMES_THREADS];
    size_t thread_count;
    struct frames_view last; /* the next stack begins as this one, most often */
    struct code_cache codes;
};

struct frames_stack {
    ss_ticks when;
    size_t count;
    struct {
        struct code *code; /* until the next call */
        struct code_place place;
    } frame[FRAMES_DEPTH];
};

enum frames_result {
    FRAMES_TAKEN,
    FRAMES_NONE, /* no such thread, or no Python code on it */
    FRAMES_DISCARDED
};

/* With the GIL. NULL, or why no stack can be taken here: one is taken of the calling thread and
 * compared with what the interpreter says. Release it in either case. */
const char *frames_init(struct frames *frames);
void frames_release(struct frames *frames);

/* Looks again which threads there are. */
void frames_find_threads(struct frames *frames);

enum frames_result frames_take(struct frames *frames, uint32_t tid, struct frames_stack *stack);

#endif
