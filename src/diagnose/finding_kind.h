/* What there is to know of a finding: one const descriptor each, in the file that finds it
 * (cause_THING.c). The lists of `stepscope explain`, of docs/diagnosis.md and of
 * docs/report.schema.json are made of the descriptors (tools/generate-docs). */
#ifndef DIAGNOSE_FINDING_KIND_H
#define DIAGNOSE_FINDING_KIND_H

#include <stdbool.h>
#include <stddef.h>

struct diagnosis_input;

/* The closed list, in the order in which `explain` prints it. */
/* clang-format off */
#define FINDING_LIST(X) \
    X(INPUT_BOUND, input_bound) \
    X(CALLBACK_BOUND, callback_bound) \
    X(USER_CODE, user_code) \
    X(OVERHEAD_BOUND, overhead_bound) \
    X(INSTRUMENT_MORE, instrument_more) \
    X(TRANSFER_BOUND, transfer_bound) \
    X(SYNC_BOUND, sync_bound) \
    X(COMM_BOUND, comm_bound) \
    X(STRAGGLER, straggler) \
    X(RANK_JITTER, rank_jitter) \
    X(RETRACE_STORM, retrace_storm) \
    X(COMPILE_HEAVY, compile_heavy) \
    X(STARTUP_HEAVY, startup_heavy) \
    X(EVAL_HEAVY, eval_heavy) \
    X(CHECKPOINT_HEAVY, checkpoint_heavy) \
    X(SETUP_HEAVY, setup_heavy) \
    X(GC_PAUSES, gc_pauses) \
    X(PAGE_FAULTS, page_faults) \
    X(FRESH_MEMORY, fresh_memory) \
    X(SWAP, swap) \
    X(MEMORY_LEAK, memory_leak) \
    X(CPU_OVERSUBSCRIBED, cpu_oversubscribed) \
    X(PREEMPTED, preempted) \
    X(STEAL, steal) \
    X(CGROUP_THROTTLED, cgroup_throttled) \
    X(CLOCK_DROP, clock_drop) \
    X(GPU_IDLE, gpu_idle) \
    X(GPU_MEMORY_FULL, gpu_memory_full) \
    X(GPU_CLOCKS_HELD, gpu_clocks_held) \
    X(DRIFT, drift) \
    X(PERIODIC_PAUSE, periodic_pause) \
    X(BIMODAL, bimodal) \
    X(LATENCY_TAIL, latency_tail) \
    X(DISPATCH_BOUND, dispatch_bound) \
    X(COPIES_AND_CASTS, copies_and_casts) \
    X(HOT_LAYER, hot_layer) \
    X(COMPUTE_BOUND, compute_bound) \
    X(TOO_FEW_STEPS, too_few_steps)
/* clang-format on */

enum finding_id {
#define FINDING_ID(upper, lower) FINDING_##upper,
    FINDING_LIST(FINDING_ID)
#undef FINDING_ID
        FINDING_COUNT,
    FINDING_NONE = FINDING_COUNT
};

/* What a share is a part of. */
enum finding_of { OF_STEP, OF_LOOP, OF_RUN };

/* OTHER: a program that records itself, in C or in Python without a framework. */
enum framework {
    FRAMEWORK_OTHER,
    FRAMEWORK_TORCH,
    FRAMEWORK_LIGHTNING,    /* with a trainer of its own, on PyTorch */
    FRAMEWORK_TRANSFORMERS, /* the same: that of Hugging Face */
    FRAMEWORK_KERAS,        /* and TensorFlow without it */
    FRAMEWORK_JAX,
    FRAMEWORK_COUNT
};

/* What a trainer is made for; itself for any other. */
static inline enum framework framework_below(enum framework framework)
{
    return framework == FRAMEWORK_LIGHTNING || framework == FRAMEWORK_TRANSFORMERS ? FRAMEWORK_TORCH
                                                                                   : framework;
}

static inline bool is_on_torch(enum framework framework)
{
    return framework_below(framework) == FRAMEWORK_TORCH;
}

/* What a run must have for a finding to be looked for. */
enum finding_needs { NEEDS_STEADY, NEEDS_STEPS, NEEDS_NOTHING };

/* Shares from which on something is said: info, warn, high. */
struct bands {
    double info, warn, high;
};

/* Where a share alone decides. */
struct finding_said {
    const struct bands *bands; /* NULL: no more of them */
    enum finding_of of;
    const char *where; /* "": everywhere */
};

/* What the two ends of a share are where they are no 95 % interval, for docs/diagnosis.md. */
struct finding_ends {
    const char *where;
    const char *text; /* NULL: no more of them */
};

/* What is advised in a case of which more is known: instead of the framework's advice, the first
 * whose condition holds. */
struct finding_case {
    const char *when; /* the condition in words; NULL: no more of them */
    bool (*holds)(const struct diagnosis_input *input); /* NULL: its finder decides (causes.h) */
    const char *advice; /* NULL: its finder writes it, with its numbers */
};

enum { FINDING_SAID_MOST = 2, FINDING_ENDS_MOST = 3, FINDING_CASES_MOST = 6 };

struct finding_kind {
    const char *name; /* in JSON and on the command line: it never changes */
    const char *gist; /* at most 58 characters, for a list */
    enum finding_needs needs;
    bool is_no_loss;     /* of time: nothing is gained by removing it */
    bool is_disturbance; /* of the machine, not in the script: it leads only if it explains most */
    /* Looks for it, and adds what it finds or why it cannot be known (causes.h). */
    void (*find)(struct diagnosis_input *input);
    struct finding_said said[FINDING_SAID_MOST];
    struct finding_ends ends[FINDING_ENDS_MOST];
    /* What to change, the call and its argument: for all frameworks, or for each; NULL for a
     * trainer on PyTorch: that of PyTorch. */
    const char *advice, *advice_for[FRAMEWORK_COUNT];
    const char *given; /* under which condition that is advised */
    struct finding_case cases[FINDING_CASES_MOST];
    /* Its explanation: what it means, how it is computed and from which share on it is said,
     * typical fixes. */
    const char *meaning, *computed, *fixes;
};

#define FINDING_KIND(upper, lower) extern const struct finding_kind finding_##lower;
FINDING_LIST(FINDING_KIND)
#undef FINDING_KIND

const struct finding_kind *finding_kind_of(enum finding_id id);
const char *finding_name(enum finding_id id);
/* FINDING_NONE: there is no such finding. */
enum finding_id finding_by_name(const char *name, size_t length);
const char *finding_advice(enum finding_id id, enum framework framework);
const char *finding_of_text(enum finding_of of);

#endif
