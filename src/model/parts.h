/* What the parts of the model share. The way of a record: model.c -> tree.c -> phase.c -> step.c ->
 * loop.c; each hands on to the next through the one function named there. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/model.h"
#include "model/name_table.h"
#include "model/series.h"
#include "model/work.h"

enum {
    FOREIGN_UPDATES =
        16,          /* in a row, by optimizers that the loop did not have: a new loop */
    OWNERS_MAX = 16, /* optimizers of one loop that are told apart */
    EPOCHS_KEPT = 512,
    LOOPS_KEPT = 64, /* of a thread; beyond that the shortest are only in the books */
    OVERLAYS_KEPT = 256,
    JIT_FUNCTIONS = 32,
    JIT_CYCLES = 20, /* rule 9: decide after so many */
    JIT_HELD = 1024  /* items held back until then, at most */
};

/* A span that no other but user spans surround, with all that nests in it. */
struct item {
    int64_t start_ns, end_ns;
    uint32_t name; /* number in model_names */
    uint8_t stage, role, scope;
    uint16_t flags;
    struct work *work; /* may be changed, and is gone afterwards */
};

/* From a batch, or from the first leading item after an update, to the next such place. */
struct phase {
    int64_t lead_start_ns; /* of the set-up before it, else as start */
    int64_t start_ns, end_ns;
    struct work work;
    struct work lead_in; /* the set-up */
};

struct step {
    int64_t start_ns, end_ns;
    int64_t last_end_ns; /* of its last span */
    int64_t samples;
    struct work work;
};

/* Spans nested at one depth, below a span that is still open. */
struct level {
    int64_t covered_ns; /* by spans of any kind */
    int64_t last_ns;
    struct work work;
};

struct epoch_row {
    int64_t number, start_ns, end_ns, steps, step_ns, eval_ns;
};

struct name_share { /* of a loop: time of a name by chunk of its series */
    uint32_t name;
    int64_t chunk_ns[SERIES_CHUNKS];
};

struct loop {
    struct loop *next;
    uint32_t process, lane, tid;
    uint32_t name; /* of loop_begin, 0: none */
    bool explicit_begin, ended;
    enum step_source source;
    int64_t begin_ns, first_step_ns, end_ns;
    uint32_t owners[OWNERS_MAX];
    int owner_count;

    struct series series;
    int64_t steps, updates, batches, samples;
    int64_t flagged_steps, flagged_ns; /* in the books, in no quantile */
    int64_t step_ns;                   /* all steps */
    int64_t compile_ns, between_ns, idle_before_ns, cut_ns[CUT_COUNT];
    int64_t negative_ns; /* stages that were more than their step: an error of ours */
    struct work between; /* what was seen between epochs */

    bool async; /* windows reach from sync to sync */
    struct series_window window;
    int64_t window_steps_max;
    uint64_t plan[4]; /* steps, epochs, steps per epoch, batch; 0: not known */
    struct epoch_row epochs[EPOCHS_KEPT];
    int64_t epoch_count; /* all; the last ones are kept, and the first */
    bool epoch_open;
    bool data_null; /* two loops computed at once: waits cannot be told apart (rule 10) */

    struct name_share *names;
    uint32_t name_count, name_capacity;
    uint32_t *name_place; /* by number of the name: place in `names` + 1, 0: none */
    uint32_t name_places;
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
    } function[JIT_FUNCTIONS];
    int functions;
    uint32_t training, last; /* owners: counts cycles; ends one */
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

    bool has_step, updated; /* a step is open; it has its update */
    struct step step;
    bool has_tentative;
    struct step tentative; /* what follows the update: the next step, if it counts */
    struct step foreign[FOREIGN_UPDATES];
    int foreign_count;
    bool seen_setup, saw_update;

    int64_t begin_ns, cursor_ns,
        last_ns;     /* cursor: up to here the time is in the books */
    struct work gap; /* seen since the cursor, outside steps */
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
    int64_t begin_ns, last_ns;
    struct level *levels;
    uint32_t level_count;
    uint32_t deepest;    /* level that holds something */
    struct track *track; /* NULL: nothing of a loop was seen */
    struct thread *next; /* threads that have ended */
};

struct overlay {
    int64_t start_ns, end_ns;
};

struct model_process_facts {
    bool known;
    struct ss_process facts;
    struct overlay overlay[OVERLAYS_KEPT]; /* sorted, disjoint */
    int overlays;
    uint64_t overlay_count;
    int64_t compute_end_ns; /* of the last train compute, and on which thread */
    uint32_t compute_lane;
};

struct model {
    int error;
    struct model_names names;
    struct model_process_facts *processes;
    uint32_t process_count;
    struct thread **lanes; /* present thread of each lane */
    uint32_t lane_count;
    struct thread *ended;
    uint64_t records, spans, lost_records, orphan_spans, forgotten_loops;
    int64_t negative_ns;
    int64_t first_ns, last_ns;
    void (*seen)(void *context, const struct model_step *step); /* NULL: nobody looks */
    void *seen_context;
};

/* tree.c: nesting. Takes a span, gives whole items to phase_item(). */
void tree_span(struct thread *thread, const struct ss_record *record);

/* overlay.c: waits inside the loop's own call that happen on other threads (rule 10). */
void overlay_add(struct model_process_facts *process, int64_t start_ns, int64_t end_ns);
int64_t overlay_take(struct model_process_facts *process, int64_t start_ns,
                     int64_t end_ns);

/* jit.c: rule 9. Holds items back until it is known which function trains. */
void jit_item(struct track *track, struct item *item);
void jit_decide(struct track *track);
void jit_turn_off(
    struct track *track); /* another source of steps was seen: it wins (rule 3) */

/* phase.c: batches and evaluation. */
struct track *track_of(struct thread *thread);
void phase_item(struct track *track, struct item *item);
void phase_settle(struct track *track); /* what is held back goes on as it is */
void phase_split(struct track *track);  /* the same, and set-up stays before this point */

/* step.c: which phases make a step. */
void step_phase(struct track *track, const struct phase *phase);
void step_loose(struct track *track, const struct work *work, int64_t end_ns);
void step_mark(struct track *track, int64_t now_ns, uint64_t samples);
void step_early_end(struct track *track, int64_t now_ns);
void step_finish(struct track *track);

/* loop.c: loops, their series and the books of the thread. */
struct loop *loop_current(struct track *track, int64_t start_ns);
void loop_begin(struct track *track, const struct ss_record *record);
void loop_end(struct track *track, int64_t now_ns, bool is_explicit);
void loop_add_step(struct track *track, const struct step *step, bool has_end);
void loop_raise_source(struct track *track, enum step_source source);
void loop_epoch(struct track *track, const struct ss_record *record);
void loop_close_gap(struct track *track, int64_t until_ns, enum model_segment kind);
bool loop_has_owner(const struct loop *loop, uint32_t owner);
void loop_add_owner(struct loop *loop, uint32_t owner);
bool loop_new_name(struct track *track, uint32_t name);
void loop_free(struct loop *loop);

/* Time of a name while the loop goes on. */
static inline void loop_add_name(struct track *track, uint32_t name, int64_t ns)
{
    struct loop *loop = track->loop;
    bool known = name < loop->name_places && loop->name_place[name];
    if (known || loop_new_name(track, name)) {
        loop->names[loop->name_place[name] - 1].chunk_ns[loop->series.chunks] += ns;
    }
}

#endif
