/* What was called in a loop, by name, and where: in a step, outside steps, or in what is cut out
 * of them.
 *
 * A span arrives when it ends, and where it was is known later: when what is around it has ended,
 * when it turns out that its batch was evaluation, when the time that it is in goes into the books.
 * So spans of a loop's thread wait in a log, and are booked with that time. Memory is bounded: if
 * the log is full, the older half of it counts as what it most likely is. */
#ifndef MODEL_CALLS_H
#define MODEL_CALLS_H

#include "model/layers.h"
#include "model/series.h"

struct loop;
struct ss_record;
struct thread;

enum { CALLS_WAITING_MOST = 1 << 13 };

enum call_place {
    CALLED_NOWHERE = -1, /* in no loop */
    CALLED_BEFORE,       /* its first step, in the loop; compiling: also in that step */
    CALLED_BETWEEN,      /* outside steps, after the first one */
    CALLED_IN_STEP,
    CALLED_IN_CUT, /* one place for each CUT_* */
    CALL_PLACES = CALLED_IN_CUT + CUT_COUNT
};

/* What is separated from the time inside a callback, because something else is a better name for
 * it. */
enum call_part { PART_SAVE, PART_EVAL, PART_GC, PART_WAIT, CALL_PARTS };

struct waiting_call {
    int64_t start_ns, end_ns;
    uint32_t name;
    int16_t cut; /* CUT_*, -1: in none */
    bool is_whole;
    bool is_inner; /* something that keeps all that nests in it is around it */
};

struct call_log { /* of a thread; in the order of their ends, since the books were closed */
    const struct thread *thread;
    struct loop *loop; /* the open one; NULL: none */
    struct waiting_call *call;
    uint32_t count, capacity;
    int64_t earliest_ns;     /* none began before that */
    struct layer_log layers; /* booked with them */
};

struct call_sum {
    uint64_t count;
    int64_t total_ns;
};

/* Of a callback, as far as it was in no cut and in no other callback. */
struct callback_calls {
    struct call_sum at[CALLED_IN_CUT];
    struct sketch times;
    int64_t part_ns[CALLED_IN_CUT][CALL_PARTS]; /* by place */
    int64_t own_ns[SERIES_CHUNKS];              /* in steps, without all parts */
    int64_t wait_ns[SERIES_CHUNKS];             /* in steps: for the device */
    struct spikes spikes;                       /* calls in steps, by number of the step */
    int64_t next_step;                          /* no call of it has been judged yet */
    uint64_t looks[3];                          /* at its thread during it: enum ss_thread_state */
};

struct name_calls {
    uint32_t name;
    int64_t chunk_ns[SERIES_CHUNKS]; /* in steps that count, by chunk of the series */
    struct call_sum at[CALL_PLACES];
    struct callback_calls *callback; /* NULL: it is none */
};

/* Names of a loop, and callbacks of these, which take more memory: a file may have any number. What
 * is above is known in the whole run only. */
enum { CALL_ROWS_MOST = 4096, CALLBACK_ROWS_MOST = 512 };

struct loop_calls {
    struct name_calls *row;
    uint32_t count, capacity, callbacks;
    uint32_t *place; /* by number of the name: place in `row` + 1, 0: none */
    uint32_t places;
};

/* A span of the thread has ended. */
void calls_note(struct call_log *log, uint32_t name, const struct ss_record *record);

/* What was then turned out to be in something that is cut out of steps. */
void calls_cut(struct call_log *log, int64_t start_ns, int64_t end_ns, int cut);

/* Books what began before that time. */
void calls_book(struct call_log *log, int64_t until_ns, enum call_place place, bool counted);

/* Of what lies beside the thread. */
void calls_beside(struct call_log *log, uint32_t name, int64_t ns);

/* Where to count looks at the thread inside a callback of the open loop; NULL: it is none. */
uint64_t *calls_looks(struct call_log *log, uint32_t name);

void calls_release(struct loop_calls *calls);

/* Two chunks of the series have become one. */
void calls_merge_chunks(struct loop_calls *calls);

/* NULL: nothing of this name was in the loop. */
const struct name_calls *calls_find(const struct loop_calls *calls, uint32_t name);

#endif
