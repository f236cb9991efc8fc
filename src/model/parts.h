/* What the parts of the model share. The way of a record: model.c -> tree.c -> phase.c -> step.c ->
 * loop.c; each hands on to the next through the one function named there. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/batch_log.h"
#include "model/calls.h"
#include "model/hot.h"
#include "model/model.h"
#include "model/name_table.h"
#include "model/observe.h"
#include "model/recompiles.h"
#include "model/resources.h"
#include "model/series.h"
#include "model/work.h"

enum {
    FOREIGN_UPDATES = 16, /* in a row, by owners that the loop did not have: a new loop */
    TURNS_DECIDE = 16,    /* updates by functions that train by turns: they go on so */
    REPEATS_DECIDE = 4,   /* of one of them in a row: they do not go on so */
    OWNERS_MAX = 16,      /* optimizers or functions of one loop that are told apart */
    EPOCHS_KEPT = 512,
    LOOPS_KEPT = 64, /* of a thread; beyond that the shortest are only in the books */
    OVERLAYS_KEPT = 256,
    JIT_FUNCTIONS = 32,
    JIT_CYCLES = 20,           /* rule 9: decide after so many */
    JIT_HELD = 1024,           /* items held back until then, at most */
    TRAIN_STEPS_MOST = 1 << 30 /* of one call; more is nonsense */
};

static const int64_t SAMPLES_MOST = INT64_C(1) << 40; /* of a step; more is nonsense */
static const int64_t BYTES_MOST = INT64_C(1) << 36;   /* of a batch */

/* A span that no other but user spans surround, with all that nests in it; or the begin or end of an
 * epoch, where it waits with them. */
struct item {
    int64_t start_ns, end_ns;
    uint32_t owner; /* as model_name's */
    uint8_t kind, stage, role;
    uint16_t flags;
    uint64_t epoch;    /* EPOCH_BEGIN */
    struct work *work; /* may be changed, and is gone afterwards */
};

/* From a batch, or from the first leading item after an update, to the next such place. */
struct phase {
    int64_t lead_start_ns, lead_end_ns; /* of the set-up before it, else as start */
    int64_t start_ns, end_ns;
    struct work work;
    struct work lead_in; /* the set-up */
};

struct step {
    int64_t start_ns, end_ns; /* end 0: where the next one starts */
    int64_t last_end_ns;      /* of its last span */
    int64_t samples;          /* by its mark; 0: that of its batches counts */
    struct work work;
};

/* A start with its update, of which it is not yet known whether it is of this loop, or a step of its own, and what was
 * before it. */
struct waiting_update {
    struct work gap;
    int64_t gap_eval_ns;
    struct step step;
};

/* Spans nested at one depth, below a span that is still open. */
struct level {
    bool used;
    int64_t covered_ns; /* by spans of any kind */
    int64_t first_ns, last_ns;
    struct work work;
};

struct epoch_row {
    int64_t number, start_ns, end_ns, steps, step_ns, eval_ns;
};

struct loop {
    struct loop *next;
    uint32_t process, lane, tid;
    uint32_t name; /* of loop_begin, 0: none */
    bool explicit_begin, ended;
    enum step_source source;
    int64_t begin_ns, first_step_ns, end_ns;
    uint32_t owners[OWNERS_MAX];
    uint32_t last_owner; /* of its last update */
    bool out_of_turn;    /* one of them had two updates in a row */
    int turns;           /* updates so far, TURNS_DECIDE at most */
    int repeats;         /* updates of its last owner in a row, after the first */
    int owner_count;

    struct series series;
    int64_t steps, updates, batches, samples;
    int64_t usual_samples, usual_votes; /* what most steps had, if any has that many */
    int64_t flagged_steps;              /* in the books, in no quantile */
    int64_t step_ns;                    /* all steps */
    int64_t compile_ns, between_ns, cut_ns[CUT_COUNT]; /* from its begin on */
    int64_t negative_ns; /* stages that were more than their step: an error of ours */
    struct work between; /* what was seen between epochs */

    bool async, synced; /* windows reach from sync to sync; there was one */
    struct series_window window;
    bool window_flagged;
    int64_t window_steps_max;
    uint64_t plan[4]; /* steps, epochs, steps per epoch, batch; 0: not known */
    struct epoch_row epochs[EPOCHS_KEPT];
    int64_t epoch_count; /* all; the last ones are kept, and the first */
    bool epoch_open;
    bool data_shared; /* two loops computed at once: whose are overlays (rule 10)? */
    bool data_hidden; /* it waits inside its own calls, and that is not seen */
    bool
        data_beside; /* it waits for several batches in a call, which may compute meanwhile */

    struct loop_calls calls;
    struct recompiles recompiles;
};

struct held_item {
    struct item item;
    struct work work;
};

struct jit {
    bool decided, off;
    struct held_item *held;
    size_t held_count;
    struct {
        uint32_t owner;
        int calls, train_calls, cycles;
        int64_t ns;
        int64_t last_cycle;
        bool rare;
    } function[JIT_FUNCTIONS];
    int functions;
    int strangers; /* calls held back by functions that train and are new */
    uint32_t last; /* owner of the one that ends a cycle */
};

/* A thread that may hold loops. */
struct track {
    struct thread *thread;
    struct jit jit;

    bool in_phase, setup_pending;
    struct phase phase, setup;
    bool eval_open; /* a run of evaluation batches that nobody named */
    int64_t eval_start_ns, eval_end_ns;
    bool held_valid; /* batches of which it is not yet known what they are */
    struct phase held;
    bool ended_valid; /* an iterator ended; whether the step did is not yet known */
    struct phase ended;

    bool has_step; /* one that has its update is open */
    struct step step;
    bool has_next; /* what has begun since the last update */
    struct step next;
    struct waiting_update waiting[TURNS_DECIDE + FOREIGN_UPDATES];
    int waiting_count;
    int foreign_count; /* the last ones of them: by owners that the loop did not have */
    bool seen_setup, saw_update;

    int64_t cursor_ns; /* up to here the time is in the books */
    bool booked;       /* something is */
    int64_t last_ns;   /* end of the last item, or time of the last point */
    int64_t point_ns;  /* last mark, or end or begin of something */
    int64_t stop_ns;   /* recording was stopped then; 0: it was not */
    int64_t gap_start_ns,
        gap_end_ns;        /* records are missing there; the last such window */
    struct work gap;       /* seen since the cursor, outside steps */
    struct call_log calls; /* spans since the cursor, in and outside of steps */
    int64_t gap_eval_ns;   /* of its evaluation: is in an epoch, or before one */
    struct loop *loops, *last_loop, *loop;
    int loop_count;
    bool had_loop; /* the first loop of all follows start-up, the others idle time */
    int loop_depth;
    uint64_t plan[4]; /* the newest; a plan may come before its loop */
    int64_t books[MODEL_SEGMENT_COUNT];
};

struct thread {
    struct model *model;
    uint32_t process, lane, tid, owner;
    uint32_t gaps;         /* as its last record's */
    int64_t samples;       /* of the batches that it gets now; 0: not known */
    struct batch_log *log; /* its batches by number; NULL: none */
    int64_t begin_ns, last_ns;
    struct level *levels;
    uint32_t level_count, deepest; /* deeper than that, none is used */
    struct track *track;           /* NULL: nothing of a loop was seen */
    struct hot_thread *hot;        /* its samples; looked for again when there are more */
    uint32_t hot_threads;          /* threads with samples than so many */
    struct thread *next;           /* threads that have ended */
};

struct overlay {
    int64_t start_ns, end_ns;
    int64_t
        bytes; /* of batches that it waited for, and how many; those without a size do not count */
    int32_t batches;
};

struct overlays {
    struct overlay window[OVERLAYS_KEPT]; /* sorted, disjoint */
    int count;
    uint64_t seen; /* all */
};

/* Replicas all take the same time: loops of that part of the longest one are as long. */
#define MODEL_SAME_LENGTH 0.99

struct model_process_facts {
    bool known;
    struct ss_process facts;
    struct overlays waits, compiles;
    int64_t compute_end_ns; /* of the last train compute, and on which thread */
    uint32_t compute_lane;
    int64_t perturbed_start_ns, perturbed_end_ns; /* the last such window */
    bool is_asynchronous; /* a mark said that a device works later than it is told to */
    double sampler_cores; /* sum over what the stack sampler said of itself */
    uint64_t sampler_looks;
};

struct model {
    int error;
    struct model_names names;
    struct model_process_facts *processes;
    uint32_t process_count;
    struct thread **lanes; /* present thread of each lane */
    uint32_t lane_count;
    struct thread *ended;
    uint64_t records, spans, lost_records, gaps, orphan_spans, forgotten_loops;
    int64_t negative_ns;
    int64_t first_ns, last_ns;
    struct hot hot;
    struct resources resources;
    void (*seen)(void *context, const struct model_step *step); /* NULL: nobody looks */
    void *seen_context;
    void (*seen_window)(void *context, const struct model_window *window);
    void *window_context;
};

/* supervisors.c */
bool model_is_supervisor(const struct model *model, uint32_t process);
void model_feed_supervisor(struct model *model, uint32_t process,
                           const struct ss_record *record);

/* Whether two processes ran on one machine: of old runs it is not known. */
enum model_likeness { MODEL_OTHER, MODEL_MAYBE, MODEL_SAME };
enum model_likeness model_same_machine(const struct model *model, uint32_t a, uint32_t b);

/* Goes through all threads, those of lanes first; begins with {0}. NULL: that was all. */
struct thread_walk {
    uint32_t lane;
    const struct thread *ended; /* the last one that it gave, of those that have ended */
};
const struct thread *model_next_thread(const struct model *model,
                                       struct thread_walk *walk);

/* tree.c: nesting. Takes a span, gives whole items to phase_item(). */
void tree_span(struct thread *thread, const struct ss_record *record);

/* observe.c: shows what goes into a loop to whoever wants it. */
void observe_step(const struct model *model, const struct loop *loop,
                  const struct step *step, int64_t steps, int64_t time_ns, bool counted);
void observe_window(const struct track *track, bool counted);
const struct loop *observe_find(const struct model *model,
                                const struct model_loop_key *key);

/* calls.c: spans by name. Noted when they end, cut when it is known that they were in something that is cut out of
 * steps, booked with the time that they began in. */
void calls_note(struct track *track, uint32_t name, const struct ss_record *record);
void calls_cut(struct track *track, int64_t start_ns, int64_t end_ns, int cut);
void calls_book(struct track *track, int64_t until_ns, enum call_place place,
                bool counted);
/* Of what lies beside the thread. */
void calls_beside(struct track *track, uint32_t name, int64_t ns);
/* Where to count looks at the thread inside a callback of the open loop; NULL: it is none. */
uint64_t *calls_looks(struct track *track, uint32_t name);

/* overlay.c: what other threads do inside the loop's own call (rule 10). Taken is what lies in a
 * window; what ends before it is forgotten. */
void overlay_add(struct thread *thread, enum ss_stage stage,
                 const struct ss_record *record);
int64_t overlay_take(struct overlays *overlays, int64_t start_ns, int64_t end_ns);

/* Gives an item what was got inside of it. */
void overlay_add_batches(struct overlays *waits, const struct item *item);

/* jit.c: rule 9. Holds items back until it is known which function trains. */
void jit_item(struct track *track, struct item *item);
void jit_decide(struct track *track);   /* with what there is */
void jit_turn_off(struct track *track); /* another source of steps wins (rule 3) */
void jit_clear(struct track *track);

/* phase.c: batches and evaluation. */
struct track *track_of(struct thread *thread);
void phase_item(struct track *track, struct item *item);
void phase_settle(struct track *track); /* what is held back goes on as it is */
void phase_point(struct track *track, int64_t now_ns); /* the same: something ends here */

/* step.c: which phases make a step. */
bool step_is_first(const struct track *track); /* the loop's first is still looked for */
void step_phase(struct track *track, const struct phase *phase);
void step_loose(struct track *track, const struct work *work, int64_t end_ns);
void step_mark(struct track *track, int64_t now_ns, uint64_t samples);
void step_early_end(struct track *track, int64_t now_ns, bool failed);
void step_end_turns(struct track *track); /* an epoch is over: what was by turns is so */
void step_end_loop(struct track *track, int64_t now_ns);
void step_close(struct track *track); /* nothing more comes, without an end */

/* loop.c: loops, their series and the books of the thread. */
struct loop *loop_current(struct track *track, int64_t start_ns);
int64_t loop_first_ns(const struct loop *loop); /* where its own books begin */
void loop_begin(struct track *track, const struct ss_record *record);
void loop_end(struct track *track, int64_t now_ns, bool is_explicit);
bool loop_open_step(struct track *track, int64_t start_ns);
void loop_add_step(struct track *track, struct step *step, bool has_end);
void loop_raise_source(struct track *track, enum step_source source);
void loop_epoch(struct track *track, const struct item *item);
void loop_close_gap(struct track *track, int64_t until_ns, enum model_segment kind);
bool loop_has_owner(const struct loop *loop, uint32_t owner);
void loop_add_owner(struct loop *loop, uint32_t owner);
void loop_free(struct loop *loop);

#endif
