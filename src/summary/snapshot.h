/* What the model knows at one moment, as plain numbers for reports. Shares and intervals come from
 * src/stats; NAN and infinite ends mean "not known", never 0. All texts belong to the snapshot. */
#ifndef SUMMARY_SNAPSHOT_H
#define SUMMARY_SNAPSHOT_H

#include "base/buf.h"
#include "base/own_counters.h"
#include "model/calls.h"
#include "model/input_source.h"
#include "model/model.h"
#include "model/recompiles.h"
#include "model/series.h"
#include "stats/blame.h"
#include "stats/change.h"
#include "stats/compare_ladder.h"
#include "stats/interval.h"
#include "stats/modes.h"
#include "stats/spikes.h"
#include "stats/warmup.h"

enum { SNAP_PERIODS = 3, SNAP_SLOWEST = 8, SNAP_OWN_WINDOWS = 32 };

/* Fewer values than this cannot have such a quantile. */
enum { SNAP_LEAST_FOR_P95 = 20, SNAP_LEAST_FOR_P99 = 100 };

struct snap_quantiles {
    double p50_ns, p90_ns, p95_ns, p99_ns, p999_ns; /* NAN: none */
    int64_t max_ns;
};

struct snap_stage {
    bool measured;                   /* a span of this stage was seen in the loop */
    const char *reason;              /* why not, where that is known; else NULL */
    const char *at_most;             /* why it may have been less; NULL: it was not */
    int64_t total_ns;                /* of the steady steps */
    double mean_ns;                  /* a step */
    double early_ns, late_ns;        /* a step, in the first and in the last third of them */
    struct interval share;           /* of steady time */
    struct snap_quantiles quantiles; /* of what it takes in a step */
};

/* A callback in the primary loop, as far as it was in no other one and in nothing that is cut out
 * of steps. */
struct snap_callback {
    uint64_t count;
    struct call_sum at[CALLED_IN_CUT];
    double mean_ns;
    struct snap_quantiles quantiles;
    /* Shares of the steady time: of what is its own, and that with what it waits for the device.
     * What it saves, evaluates and collects is in neither. */
    struct interval own, with_waits;
    int64_t part_ns[CALLED_IN_CUT][CALL_PARTS]; /* of its time, by place */
    struct period period;                       /* of long calls; steps 0: none */
    double peak_ns;                             /* mean of these */
    uint64_t looks[3]; /* how often its thread was seen in each enum ss_thread_state */
};

/* A name: of the whole run, and what there was of it in the primary loop. */
struct snap_span {
    const char *text, *object;
    uint8_t stage, role, scope;
    uint64_t count, failed;
    int64_t total_ns, self_ns;
    double mean_ns;
    struct snap_quantiles quantiles;
    struct interval share;           /* of the primary loop's steady time; NAN if it is not in it */
    struct call_sum at[CALL_PLACES]; /* in the primary loop */
    struct snap_callback *callback;  /* NULL: it is none, or not in the loop */
};

struct snap_epoch {
    int64_t number, start_ns, end_ns, steps, step_ns, eval_ns; /* end 0: not ended */
};

struct snap_part { /* from one begin of the trainer to its end; 0: not ended */
    int64_t number, start_ns, end_ns, steps, step_ns;
};

/* A layer of the model with all that is below it by its path: of a part of the steps, in which
 * calls of layers were sampled, its part of the stage, of the mean of that stage in the steady
 * steps. */
struct snap_layer {
    char *path;      /* without the outermost module, if only one has layers */
    char *kind;      /* its class; "": it is not called itself, as a list of layers */
    uint32_t parent; /* place of what is around it + 1; 0: nothing is */
    uint32_t depth;
    bool is_inner;                  /* it has layers */
    bool is_compiled;               /* as a whole: what is in it is not called */
    double calls;                   /* a step */
    double forward_ns, backward_ns; /* a step */
    struct interval share;          /* of steady time */
};

struct snap_layers {
    struct snap_layer *rows; /* each before what is below it, in the order of their calls */
    size_t count;
    int64_t stretches; /* how often from an update to the next one layers were sampled */
    int64_t cost_ns;   /* what that took in all */
    double coverage;   /* the part of forward, backward and compute that is in a layer; NAN */
    char *reason;      /* why there are none; NULL: there are */
    char *no_backward; /* why backward is of no layer: all are 0; NULL: it is, or there is none */
};

/* What the arms of an experiment gained: the first one is the training as it is. */
struct snap_arm {
    char *label;
    int64_t steps;
    bool is_quiet;        /* its clock is the quiet one */
    double step_ns;       /* mean, by that clock; 0: not measured */
    struct interval gain; /* the part of a step that it saves; high INFINITY: not known */
    struct interval typical,
        wall; /* that of a typical step; the same as `gain` by the wall clock */
    enum compare_word word;
};

struct snap_arms {
    struct snap_arm *rows; /* NULL: no experiment */
    size_t count, rounds;
    double others_share; /* of the time of the loop thread, in which it had no core */
};

/* The steady steps as stretches of time, whole cells each, to be compared with what the machine did
 * then. */
enum { SNAP_WINDOWS = 64 };
struct snap_windows {
    size_t count;
    int64_t begin_ns[SNAP_WINDOWS + 1];                /* the last one: where they end */
    double step_ns[SNAP_WINDOWS], steps[SNAP_WINDOWS]; /* mean of a step; how many */
};

struct snap_loop {
    uint32_t process, tid, lane;
    int rank;             /* -1: not a replica */
    int64_t parts;        /* how often its trainer began it */
    bool is_asynchronous; /* times of computing are those of queueing */
    bool is_awaited;      /* the script has waited for results of its steps */
    double sampler_cores; /* that taking stacks of its process took; 0: none were taken */
    const char *name;     /* "" if it has no name */
    enum step_source source;
    bool ended;
    int64_t begin_ns, end_ns;
    int64_t wall_ns, segment_ns[MODEL_SEGMENT_COUNT]; /* of the loop alone, begin to end */
    int64_t negative_ns;                              /* an error of ours, if not 0 */
    int64_t between_ns[SS_STAGE_COUNT];               /* of the segment between: what has a stage */
    struct recompiles recompiles;                     /* why functions were compiled again */
    struct input_source batches_from;

    int64_t steps, updates, batches, samples; /* all; samples 0: not known */
    int64_t usual_samples; /* of a step, if more than half of them have as many */
    int64_t flagged_steps; /* in the books, excluded from statistics */
    struct warmup warmup;
    int64_t warmup_steps, warmup_ns;
    int64_t steady_steps, steady_ns, window_steps; /* longest window, in steps */
    struct interval step_ns;                       /* mean of the steady steps */
    struct snap_quantiles quantiles;
    struct sketch times;        /* of the steady steps, a step each */
    struct sketch *stage_times; /* the same of each stage, of a rank; NULL: it is none */
    double mad_ns, spike_tax;   /* NAN: not known */
    int64_t max_step;
    int64_t more_steps_needed;                  /* for the mean to +- 2 %; 0: enough */
    struct interval steps_per_s, samples_per_s; /* steady; NAN: not known */
    struct interval batches_per_s, bytes_per_s;
    double overall_steps_per_s;              /* with everything between them */
    struct snap_stage stage[SS_STAGE_COUNT]; /* [OTHER] is the remainder */
    /* What a device took for the calls of a stage, by its own events, as a share of steady time;
     * NAN: not known. It is beside the step, no part of it. */
    struct interval device[SS_STAGE_COUNT];
    struct change change;                  /* over time */
    int64_t shift_step[CHANGE_MAX_SHIFTS]; /* its shifts: first step of the new level */
    struct period period[SNAP_PERIODS];
    int periods;
    struct modes modes;              /* levels of step times, in ns */
    struct turns turns;              /* if there are two: how they come, in steps */
    double own_ns[SNAP_OWN_WINDOWS]; /* a step without waiting for other ranks, window by
                                        window of the steady steps */
    int own_windows;
    struct shared_step *shared; /* steady steps of a rank, by number, until ranks are compared */
    size_t shared_count;
    struct snap_windows windows;
    struct slow_step slowest[SNAP_SLOWEST]; /* of the steady ones */
    int slow_count;
    struct snap_epoch *epochs; /* the last 512 at most */
    size_t epoch_count;
    int64_t epochs_seen;
    struct snap_part *part; /* the last 64 at most; none of a loop with one */
    size_t part_count;
    uint64_t plan[4];        /* steps, epochs, steps per epoch, batch; 0: not known */
    struct interval left_ns; /* time to finish; NAN: no plan */
    struct snap_layers layers;
    char *no_windows; /* why there are no more windows of operations; NULL: not told */
    struct snap_arms arms;
};

struct snap_thread { /* a thread that held loops, or the main thread if none did */
    uint32_t process, tid;
    int rank;
    int64_t begin_ns, wall_ns, segment_ns[MODEL_SEGMENT_COUNT];
};

/* Where stack samples found the threads that hold loops, by stage; others make batches, or do
 * something else. */
enum { SNAP_HOT_OUTSIDE = SS_STAGE_COUNT, SNAP_HOT_MAKING, SNAP_HOT_BESIDE, SNAP_HOT_PLACES };

struct snap_hot_place {
    const char *file, *function; /* "": none */
    uint32_t line;               /* 0: not known */
};

struct snap_hot_line {
    uint32_t place;         /* a stage, or SNAP_HOT_* */
    uint64_t place_samples; /* all that were there */
    uint64_t count;
    uint64_t batch_count;       /* of those: the loop was getting its next batch */
    struct interval share;      /* of the time of its place */
    struct snap_hot_place at;   /* the innermost line of the script */
    struct snap_hot_place leaf; /* the innermost line of all, most often */
    uint64_t leaf_count;
};

/* What of the script evaluates, predicts or saves most, outside callbacks: a function that does not
 * train, else the line of one that does. */
struct snap_cutter {
    struct snap_hot_place at; /* line 0: the function; all 0: nothing has most of it */
    struct interval share;    /* of the samples in what is cut out of steps */
};

struct snap_hot {
    struct snap_hot_line *lines; /* by place, the largest one first; then by count */
    size_t line_count;
    uint64_t samples, unplaced, place_samples[SNAP_HOT_PLACES];
    struct snap_cutter cutter[CUT_COUNT];
};

/* A system counter, from the first step of the primary loop to its end; without steps of all the
 * run. */
enum { SNAP_COURSE = 32 };

struct snap_resource {
    uint8_t counter, state; /* enum ss_counter_id, enum ss_system_state */
    uint64_t subject;
    double mean;     /* of a gauge; of a total, what it gained a second */
    double min, max; /* the same of single samples */
    double known;    /* part of the time of which anything is known */
    double gained;   /* of a total, in all the run */
    double in_loop;  /* of a total, in the time that this is about; NAN */
    double last;
    double course[SNAP_COURSE];  /* means over time; NAN: not known */
    double window[SNAP_WINDOWS]; /* the same in each window of the primary loop */
    int64_t apart_ns;            /* what is nearer than this cannot be separated */
};

struct snap_resources {
    struct snap_resource *rows; /* in the order of counters, then of subjects */
    size_t count;
    uint32_t watcher;         /* the process that took them, if there are any */
    int64_t begin_ns, end_ns; /* what they are about */
    uint64_t unplaced;        /* samples for which there was no room */
    double growth_per_s;      /* of the memory of the command and all below it; NAN */
    uint64_t states[SS_STAGE_COUNT]
                   [3]; /* loop threads: how often seen in each enum ss_thread_state */
};

/* How the batches of the primary loop were made beside it: those of the last 256 of which that is
 * known, by their numbers. */
struct snap_input {
    int64_t batches;   /* 0: nothing is known */
    int workers;       /* threads or processes that made the newest of them */
    int64_t wait_ns;   /* for all of them */
    int64_t making_ns; /* of that: until the batch was ready; the rest: handed over */
    int64_t turn_ns;   /* of that: while a later batch was ready already */
    double slowest_ns,
        usual_ns; /* a batch of the slowest worker, and of the others; 0: not known */
    uint64_t looks[MAKING_STATES]; /* at Python threads that made one, in the loop's process */
};

/* A rank of the job, in the steps that all ranks have. */
struct snap_rank {
    int rank;
    const char *host;                   /* borrowed; NULL: that of its process */
    uint32_t process;                   /* of its main loop */
    bool sees_comm;                     /* communication was recorded */
    double mean_ns[SS_STAGE_COUNT];     /* a steady step of its main loop */
    double window_ns[SNAP_OWN_WINDOWS]; /* own work, as in snap_loop */
    int windows;
    double own_ns, wait_ns;          /* a step */
    double last_share;               /* of the steps: it was last */
    struct interval blame;           /* share of the step that the others wait for it */
    double excess;                   /* of its own work over the median of the others */
    int stage;                       /* in which it takes most longer than they do; -1: in none */
    double stage_ns, stage_usual_ns; /* that one, and the median of the others */
};

/* Processes that train together (method 9). */
enum { SNAP_MISSING = 64 };
struct snap_job {
    bool is_borrowed;        /* ranks and texts: of a job of several runs */
    struct snap_rank *ranks; /* most blame first; those without a common step last */
    size_t rank_count;       /* below 2: there is no job */
    size_t compared;         /* of them: those that have enough steps */
    uint32_t world;          /* how many there should be; 0: not known */
    uint32_t missing_count;
    uint32_t missing[SNAP_MISSING]; /* the first of those that recorded nothing */
    size_t hosts;
    const char *id;        /* of the launcher, borrowed; NULL: all is in one run */
    int64_t took_ns;       /* with an id: from the first begin to the last end */
    double clock_error_ns; /* with an id: of one host's clock against another's; NAN: not known */
    struct blame blame;    /* steps 0: what ranks did cannot be compared */
};

struct snapshot {
    struct snap_loop *loops; /* the primary one first */
    size_t loop_count;
    struct snap_job job;
    struct snap_thread *threads; /* that of the primary loop first, others by lane */
    size_t thread_count;
    struct snap_span *spans; /* most time first */
    size_t span_count;
    struct snap_hot hot;
    struct snap_resources resources;
    struct snap_input input;
    int64_t begin_ns, end_ns; /* of the run */
    uint64_t records, spans_seen, lost_records, orphan_spans;
    uint64_t gaps;            /* places where records are missing */
    uint64_t forgotten_loops; /* short ones, only in the books */
    int64_t negative_ns;
};

/* The row of a counter; NULL if nothing is known of it. With `subject` SNAP_ANY the first. */
#define SNAP_ANY UINT64_C(0xfffffffffffffffe)
const struct snap_resource *snapshot_resource(const struct snapshot *snapshot, unsigned counter,
                                              uint64_t subject);

/* The same, only if it had a value in the time that this is about. */
const struct snap_resource *snapshot_value(const struct snapshot *snapshot, unsigned counter,
                                           uint64_t subject);

/* The same of a counter of threads, by the thread's number in the kernel. */
const struct snap_resource *snapshot_thread_value(const struct snapshot *snapshot, unsigned counter,
                                                  uint32_t tid);

/* Whether anybody looked at the machine: runs without a supervisor, and those of older versions,
 * have no samples. */
bool snapshot_is_watched(const struct snapshot *snapshot);

/* Cores of which anything is known; 0: not measurable. */
size_t snapshot_cores(const struct snapshot *snapshot);

/* The same of those that the command may use, and the row of the time in which they worked: of all,
 * where nothing else is known. */
size_t snapshot_allowed_cores(const struct snapshot *snapshot);
const struct snap_resource *snapshot_allowed_busy(const struct snapshot *snapshot);

/* What the hypervisor took of these, and how many they are: of all, where nothing else is known.
 * NULL: not known. */
const struct snap_resource *snapshot_allowed_steal(const struct snapshot *snapshot, size_t *cores);

/* Whether any span of this stage was seen. */
bool snapshot_has(const struct snapshot *snapshot, enum ss_stage stage);

/* Compares the ranks of a job, of which all is filled in that is known of each by itself; `steps`
 * are theirs, in the same order. False: memory is short. */
bool snapshot_compare_ranks(struct snap_job *job, struct blame_rank *steps);

/* Notes which ranks of the world are missing; sorts `seen`. */
void snapshot_note_missing(struct snap_job *job, uint32_t *seen, size_t count);

/* From now on the ranks are those of a whole job, which must outlive the snapshot. */
void snapshot_take_job(struct snapshot *snapshot, const struct snap_job *job);

/* A rank that has not been compared yet. */
struct snap_rank snapshot_rank(int rank);

/* NULL if memory is short. A model that is still fed may be asked; its open step counts as time
 * of the loop. */
struct snapshot *model_snapshot(const struct model *model);
/* The loop of this rank is the primary one, if it has one; -1: as usual. */
struct snapshot *model_snapshot_of_rank(const struct model *model, int rank);
void snapshot_free(struct snapshot *snapshot);

/* The arms of the thread that has had most steps in them, alone: cheap enough to be asked often.
 * False: memory is short. Release it in either case. */
bool snapshot_arms(const struct model *model, struct snap_arms *out);
void snapshot_release_arms(struct snap_arms *arms);

/* What the calls under a name are called, in every text: "Adam.step", "EarlyStopping#2, batch_end":
 * object, text and scope, as far as they differ. */
void snapshot_span_name(struct buf *out, const struct snap_span *span);

/* The 95 % interval of a share of which `count` of `all` independent samples were seen (Wilson). */
struct interval snapshot_share(uint64_t count, uint64_t all);

/* Whether calls return early, and more of them than one are between two waits: where single steps
 * end is not known. */
static inline bool snapshot_waits_seldom(const struct snap_loop *loop)
{
    return loop->window_steps > 1 && loop->is_asynchronous;
}

/* How many steps more statistics take at least: where a script rarely waits for results, waits are
 * missing, not steps. */
static inline int64_t snapshot_steps_missing(const struct snap_loop *loop)
{
    return loop->warmup.missing * (snapshot_waits_seldom(loop) ? 1 : loop->window_steps);
}

/* Whether a device may compute while the host does something else. Not if each call of a jitted
 * function is waited for before the next one. */
static inline bool snapshot_overlaps(const struct snap_loop *loop)
{
    return loop->is_asynchronous && (loop->source != SOURCE_JIT || loop->window_steps > 1);
}

#endif
