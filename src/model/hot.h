/* Stack samples, joined to stages by time: what a thread was doing when a stage had it. The same
 * for samples of whether it ran or waited, which come from outside.
 *
 * A sample arrives before the spans around it, because a span arrives when it ends. So samples
 * wait: the first span that covers one and counts for a stage (step model 1.2, 1.4) is innermost,
 * and takes it. What still waits where nothing is open any more is outside any span: `other`, if
 * that time is found to be in a step, else outside. An iterator that takes seconds to be torn down
 * is between epochs, though it is at the loop's line. Memory is bounded: what finds no room is
 * counted as unplaced. */
#ifndef MODEL_HOT_H
#define MODEL_HOT_H

#include "model/name_table.h"
#include "stepscope/reader.h"

enum {
    HOT_OUTSIDE = SS_STAGE_COUNT, /* in no step */
    HOT_PLACES,
    HOT_IN_CUT = HOT_PLACES, /* a second account, one for each CUT_*: whatever else has them */
    HOT_FRAMES_MOST = 1 << 18,
    HOT_WAITING_MOST = 1 << 16, /* 40 minutes of one span */
    HOT_SILENT_MOST = 1 << 10,  /* of a thread of which nothing else is known */
    HOT_ROWS_MOST = 1 << 13,    /* of a thread */
    HOT_STATES = 3,             /* enum ss_thread_state */
    HOT_OUTER = 8               /* frames of the script that are kept of each stack */
};

struct hot_frame {
    uint32_t process, id;
    uint32_t line; /* 0: not known */
    uint16_t body;
    uint8_t traits;                /* enum ss_frame_trait */
    bool is_script, makes_batches; /* base/code_place.h */
    char *function, *file;
};

/* What is kept of a stack: places in `frames` + 1; 0: none. */
struct hot_stack {
    uint32_t leaf, script;     /* the innermost frame, and the innermost one of the script */
    uint32_t outer[HOT_OUTER]; /* those of the script, outermost first */
    uint32_t generators;       /* a bit for each of these: it called a generator of the script */
    uint32_t makes_batches;    /* 1: a framework has asked for one here */
    uint32_t made_by;          /* then the innermost frame of the script that it has called */
};

struct hot_row { /* samples of one thread, by place and stack */
    uint32_t place;
    struct hot_stack stack;
    uint64_t count;
};

struct hot_waiting {
    int64_t time_ns;
    struct hot_stack stack;
    uint32_t state; /* enum ss_thread_state + 1; 0: a stack */
};

struct hot_queue { /* by time */
    struct hot_waiting *sample;
    size_t count, capacity;
};

struct hot_thread {
    struct hot_thread *next;
    uint32_t process, tid;
    bool is_main;     /* of its process */
    bool is_recorder; /* it recorded something itself: spans may come */
    bool has_books;
    struct hot_queue waiting; /* for spans */
    struct hot_queue loose;   /* outside any span: for the books */
    struct hot_queue past;    /* placed, but not in the books yet: a cut may turn out around them */
    struct hot_row *rows;     /* a hash table */
    size_t row_count, row_slots;
    uint64_t states[HOT_PLACES][HOT_STATES];
};

struct hot {
    struct hot_frame *frames; /* in the order in which they came */
    size_t frame_count, frame_capacity;
    uint32_t *frame_slots; /* a hash table by process and id: places in `frames` + 1 */
    size_t slot_count;
    struct hot_thread *threads;
    uint32_t thread_count;
    uint64_t samples, unplaced;
};

void hot_release(struct hot *hot);

void hot_frame(struct hot *hot, uint32_t process, const struct ss_record *record);
void hot_sample(struct hot *hot, uint32_t process, bool is_main, const struct ss_record *record);

/* What a thread did at this time, as another process saw it. */
void hot_state(struct hot *hot, uint32_t process, uint32_t tid, bool is_main, int64_t time_ns,
               unsigned state);

/* NULL: no sample of this thread was seen. */
struct hot_thread *hot_find(const struct hot *hot, uint32_t process, uint32_t tid);

/* A span of the thread has ended; `name` is its own. What it takes of looks at whether the thread
 * ran is counted in `looks` too, by enum ss_thread_state, unless that is NULL. */
void hot_span(struct hot *hot, struct hot_thread *thread, const struct model_name *name,
              const struct ss_record *record, uint64_t looks[HOT_STATES]);

/* No span is open at this time: what waits from before is in none. Where it belongs, hot_book()
 * says, if there are books of this thread. */
void hot_settle(struct hot *hot, struct hot_thread *thread, int64_t time_ns, bool has_books);

/* What was then turned out to be in something that is cut out of steps. */
void hot_cut(struct hot *hot, struct hot_thread *thread, int64_t start_ns, int64_t end_ns, int cut);

/* How often a stack was taken in a place. */
uint64_t hot_count(const struct hot_thread *thread, uint32_t place, const struct hot_stack *stack);

/* Up to this time all is in the books, since the last call as a step or as something else. */
void hot_book(struct hot *hot, struct hot_thread *thread, int64_t time_ns, bool in_step);

/* Nothing more comes. */
void hot_finish(struct hot *hot);

/* Moves all of `from` to `to`; processes of `from` are numbered after `processes`. */
void hot_merge(struct hot *to, struct hot *from, uint32_t processes);

#endif
