/* Last stage: loops, their series, and the books of the thread (step model 5 to 7). */
#ifndef MODEL_LOOP_H
#define MODEL_LOOP_H

#include "model/item.h"
#include "model/loop_data.h"

struct thread;

/* What gives batches from a time on. Facts wait for nothing, steps do: so the last ones are kept.
 */
enum { LOOP_SOURCES = 8 };
struct told_source {
    int64_t time_ns;
    struct input_source source;
};

struct loop_stage {
    struct thread *thread;
    struct call_log *calls;

    struct loop *loops, *last, *open; /* open: NULL, or one of them */
    int count;
    bool paused;      /* a cell of a notebook has ended since */
    bool had_loop;    /* the first loop of all follows start-up, the others idle time */
    uint64_t plan[4]; /* the newest; a plan may come before its loop */
    struct told_source source[LOOP_SOURCES]; /* a ring: one may come before its loop as well */
    uint64_t sources;

    int64_t cursor_ns;                        /* up to here the time is in the books */
    bool booked;                              /* something is */
    int64_t missing_start_ns, missing_end_ns; /* the last such window */
    int64_t books[MODEL_SEGMENT_COUNT];
};

void loop_init(struct loop_stage *stage, struct thread *thread, struct call_log *calls);
void loop_release(struct loop_stage *stage);
void loop_item(struct loop_stage *stage, struct item *item);

/* How many the open loop has. */
static inline int64_t loop_steps(const struct loop_stage *stage)
{
    return stage->open ? stage->open->steps : 0;
}
static inline bool loop_has_steps(const struct loop_stage *stage)
{
    return loop_steps(stage) > 0;
}

/* The books as they would be if the recording ended then; `outside` is what was in no step yet. */
void loop_books(const struct loop_stage *stage, const struct work *outside, int64_t end_ns,
                int64_t books[MODEL_SEGMENT_COUNT]);

#endif
