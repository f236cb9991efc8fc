/* The step model: from records to steps, stages, segments and loops. The rules are in
 * docs/step-model.md; each is implemented once, here, for all frameworks. Recorders and adapters
 * only record facts.
 *
 *   record ─► tree ───► jit ──────► phase ─────► step ─────► loop ───────► series
 *             nesting   functions   batches,     starts      loops,        cells,
 *                       that train  evaluation   and updates books         sketches
 *
 * Records are fed in time order (a merged cursor gives them so), once; a snapshot may be taken at
 * any time. Memory is bounded by the number of lanes, names and loops, whatever the length of the
 * run. When memory runs out, model_error() says so and what was fed after it is missing. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "stepscope/reader.h"

/* Where the wall time of a loop thread goes: these tile it, to the nanosecond (step model 6.1). */
#define MODEL_SEGMENTS(X)                                                                          \
    X(STARTUP, "startup", "before the first step")                                                 \
    X(COMPILE, "compile", "tracing and compiling up to the first update")                          \
    X(WARMUP, "warmup", "steps before the steady state")                                           \
    X(STEADY, "steady", "steps of the steady state")                                               \
    X(BETWEEN, "between", "between epochs, inside a loop")                                         \
    X(EVAL, "eval", "evaluation")                                                                  \
    X(INFER, "infer", "prediction")                                                                \
    X(CHECKPOINT, "checkpoint", "saving and restoring")                                            \
    X(IDLE, "idle", "between two loops")                                                           \
    X(TEARDOWN, "teardown", "after the last step")

#define MODEL_ENUM_SEGMENT(id, text, meaning) SEGMENT_##id##_NS,
enum model_segment { MODEL_SEGMENTS(MODEL_ENUM_SEGMENT) MODEL_SEGMENT_COUNT };

/* What makes the steps of a loop; a later one wins over an earlier one (step model 3.1). */
enum step_source {
    SOURCE_NONE,
    SOURCE_COLLECTIVES,
    SOURCE_GRADIENTS,
    SOURCE_JIT,
    SOURCE_UPDATES,
    SOURCE_TRAINER,
    SOURCE_USER
};

/* Stages in which the model itself is computed. */
static inline bool model_computes(unsigned stage)
{
    return stage == SS_STAGE_FORWARD || stage == SS_STAGE_BACKWARD || stage == SS_STAGE_OPTIMIZER ||
           stage == SS_STAGE_COMPUTE;
}

/* The name of a mark: from now on the host only queues work for a device. */
#define MODEL_ASYNCHRONOUS_MARK "asynchronous device"
#define MODEL_EARLY_MARK "asynchronous calls"
#define MODEL_NO_LAYERS_MARK "layers not sampled"        /* its text says why */
#define MODEL_NO_WINDOWS_MARK "no windows of operations" /* the same */
#define MODEL_NO_BACKWARD_MARK "layers without backward" /* the same */
/* Its text is the object of a jitted function: what that returned has been taken by the next call
 * of one in which a gradient was traced, so it gives new parameters. */
#define MODEL_UPDATES_MARK "new parameters"
/* And of one whose text is "FUNCTION (FILE:LINE): REASON": it is compiled again. */
#define MODEL_RECOMPILE_MARK "recompile"

struct model;

struct model *model_new(void);
void model_free(struct model *model);

/* Facts on a process (start, end, rank, kind); may be told again when they change. */
void model_process(struct model *model, uint32_t process, const struct ss_process *facts);
void model_feed(struct model *model, uint32_t process, const struct ss_record *record);
int model_error(const struct model *model);

/* A step, as it goes into its loop: for those who want each one. */
struct model_step {
    uint32_t process, lane, tid;
    int64_t loop_begin_ns;     /* as snap_loop's begin_ns */
    int64_t number, steps;     /* of the first one; more than 1: made by one call */
    int64_t start_ns, time_ns; /* of all of them, without what is cut out */
    int64_t end_ns;            /* with that */
    const int64_t *stage_ns;   /* SS_STAGE_COUNT; they add up to time_ns */
    int64_t epoch;             /* -1: none */
    int64_t samples;           /* 0: not known */
    enum step_source source;   /* if a later one wins, this was no step */
    bool counted;              /* in the statistics, not only in the books */
    const char *arm;           /* of an experiment; NULL: none */
};

/* Calls `seen` for each step from now on; NULL: no more. */
void model_observe(struct model *model, void (*seen)(void *context, const struct model_step *step),
                   void *context);

/* Threads that hold loops now, for a sampler outside: the one that a report would
 * be about first, then the newest first. Returns how many, at most `most`. */
struct model_loop_thread {
    uint32_t pid, tid;
};
size_t model_loop_threads(const struct model *model, struct model_loop_thread *out, size_t most);

/* No more records will come: what is still open is closed. Nothing may be fed afterwards. */
void model_finish(struct model *model);

/* Adds all of `from`, a model of other processes, to `to`: the same as if one model had been fed
 * with both, but that processes and lanes of `from` are numbered after those of `to`. Both are
 * finished; `from` is gone afterwards. 0, or SS_E_NOMEM: then something is missing, as after
 * model_error(). */
int model_merge(struct model *to, struct model *from);

const char *model_segment_text(unsigned segment);
const char *model_source_text(unsigned source);

#endif
