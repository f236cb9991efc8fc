/* Tracing and compiling: again and again in the steps, or much of the run at its start
 * (method 11.6). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"
#include "render/units.h"

/* Compiling in steady steps: a little below callbacks, as it is never wanted there (ours). */
static const struct bands storm_bands = {0.02, 0.03, 0.2};
/* Compilations of one function that make a storm: two shapes and a rest are usual. Where they are a
 * high share of the step, three are enough (ours). */
enum { STORM_LEAST = 5, STORM_SURE = 3 };
/* What the Python hook of JAX calls that which no function of the script compiles: each operation
 * is compiled once for each shape, so a first evaluation compiles many of them. Again and again is
 * from one in ten steps on (ours), with a share that is surely not 0. */
static const char operations[] = "operations of ";
enum { OPERATIONS_EVERY = 10 };
/* Compiling at the start, of the run: short runs have much of it, so a warning comes late
 * (ours). */
static const struct bands start_bands = {0.1, 0.2, 0.5};
static const double start_least_ns = 5e9; /* and not for some seconds, which only a trial has */
/* The first run of what was just compiled is slow as well, and goes with it: a tenth more
 * (ours). */
static const double start_most = 1.1;

/* A function, with all that compiling it consists of (JAX traces, lowers and compiles). */
struct compiled {
    const struct snap_span *span; /* the longest part; NULL: none */
    int64_t again_ns, again;      /* in steps after the first one: time, and how often */
    int64_t first;                /* in the loop before that: how often */
    int64_t early_ns, early;      /* that, and in the run before and after the loop */
};

static bool is_part(const struct snap_span *span, const struct snap_span *of)
{
    return span == of || (span->stage == SS_STAGE_COMPILE && *of->object &&
                          strcmp(span->object, of->object) == 0);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_part(struct compiled *function, const struct snap_span *span)
{
    int64_t early_ns = span->total_ns, early = (int64_t)span->count;

    for (int place = CALLED_BETWEEN; place < CALL_PLACES; place++) {
        early_ns -= span->at[place].total_ns;
        early -= (int64_t)span->at[place].count;
    }
    function->early_ns += early_ns;
    function->early = larger(early, function->early);
    function->again_ns += span->at[CALLED_IN_STEP].total_ns;
    function->again = larger((int64_t)span->at[CALLED_IN_STEP].count, function->again);
    function->first = larger((int64_t)span->at[CALLED_BEFORE].count, function->first);
}

static struct compiled function_of(const struct snapshot *snapshot, const struct snap_span *span)
{
    struct compiled function = {.span = span};

    for (size_t i = 0; i < snapshot->span_count; i++)
        if (is_part(&snapshot->spans[i], span))
            add_part(&function, &snapshot->spans[i]);
    return function;
}

static bool is_operations(const struct compiled *function)
{
    return strncmp(function->span->object, operations, strlen(operations)) == 0;
}

static int64_t time_again(const struct diagnosis_input *input, const struct compiled *function)
{
    const bool is_first =
        is_operations(function) && !(function->again * OPERATIONS_EVERY >= input->loop->steps &&
                                     function->span->share.low > 0);

    return is_first ? 0 : function->again_ns;
}

static int64_t time_early(const struct diagnosis_input *input, const struct compiled *function)
{
    (void)input;
    return function->early_ns;
}

/* The function that has most time of a kind. */
static struct compiled find_most(const struct diagnosis_input *input,
                                 int64_t (*time_of)(const struct diagnosis_input *input,
                                                    const struct compiled *function))
{
    const struct snapshot *snapshot = input->snapshot;
    struct compiled most = {0};

    for (size_t i = 0; i < snapshot->span_count; i++) {
        if (snapshot->spans[i].stage != SS_STAGE_COMPILE)
            continue;
        const struct compiled function = function_of(snapshot, &snapshot->spans[i]);
        if (!most.span || time_of(input, &function) > time_of(input, &most))
            most = function;
    }
    return most;
}

/* "train_step", as its compiler calls it; else what the compiler is. */
static const char *name_of(const struct compiled *function)
{
    return *function->span->object ? function->span->object : function->span->text;
}

/* What is new runs slowly for the first time too: all that such steps take more than usual may
 * go. */
static struct interval storm_share(const struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    struct interval share = cause_estimate(input, loop->stage[SS_STAGE_COMPILE].share);

    if (isfinite(loop->step_ns.high))
        share.high = fmax(share.high, 1 - loop->quantiles.p50_ns / loop->step_ns.high);
    return share;
}

/* Compilers that work in threads of their own are seen, but not in which loop. */
static int64_t times_of(const struct compiled *function)
{
    return function->again > 0 ? function->again + function->first : function->early;
}

/* `again`: what marks say of it; NULL: nothing. */
static void say_times(struct finding *finding, const struct diagnosis_input *input,
                      const struct compiled *function, const struct recompiled *again)
{
    const int64_t ns = function->again > 0 ? function->again_ns / function->again
                                           : function->early_ns / function->early;
    const int64_t times = again ? (int64_t)again->count : times_of(function);
    char mean[UNITS_SIZE];

    cause_text(finding->evidence, "%s%" PRId64 " times in %lld steps, %s each",
               again ? "again " : "", times, (long long)input->loop->steps,
               units_duration(mean, ns));
    if (again)
        cause_more(finding->evidence, "; the last time because %s", again->reason);
}

static const char *what_tells_why(enum framework framework)
{
    switch (framework_below(framework)) {
    case FRAMEWORK_KERAS:
        return "; if nothing does, a new tf.function is created each time";
    case FRAMEWORK_JAX:
        return "; JAX_EXPLAIN_CACHE_MISSES=1 prints it";
    case FRAMEWORK_TORCH:
        return "; TORCH_LOGS=recompiles prints it";
    default:
        return "";
    }
}

/* In the steady steps, or else in those before: once all shapes have been seen it is over, and may
 * have taken most of the time by then. */
static struct finding *add_storm(struct diagnosis_input *input, const struct compiled *function)
{
    const struct interval share = storm_share(input);
    const int least = share.low >= storm_bands.high ? STORM_SURE : STORM_LEAST;
    const bool is_storm = times_of(function) >= least;
    const double part = (double)function->again_ns / (double)input->loop->wall_ns;

    if (!(is_storm && share.low >= storm_bands.warn) && function->again >= STORM_LEAST &&
        part >= cut_bands.info)
        return cause_add_share(input, FINDING_RETRACE_STORM,
                               (struct interval){part, part, fmin(1, part * start_most)}, cut_bands,
                               OF_LOOP);
    return is_storm ? cause_add_share(input, FINDING_RETRACE_STORM, share, storm_bands, OF_STEP)
                    : NULL;
}

static void find_storm(struct diagnosis_input *input)
{
    const struct compiled most = find_most(input, time_again);
    const bool is_possible = most.span && (!is_operations(&most) || time_again(input, &most) > 0);
    struct finding *finding = is_possible ? add_storm(input, &most) : NULL;

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE; /* its upper end is no interval's */
    const struct recompiled *again = recompiles_most(&input->loop->recompiles, most.span->object);
    cause_text(finding->claim, "%s %s compiled again and again: %.1f %% of %s",
               again ? again->function : name_of(&most), is_operations(&most) ? "are" : "is",
               100 * finding->share.mid, finding->of == OF_LOOP ? "the loop's time" : "the step");
    say_times(finding, input, &most, again);
    if (!again)
        cause_text(finding->unknown, "what differs from call to call%s",
                   what_tells_why(input->framework));
    cause_text(finding->check, "it should be compiled once or twice in the whole run");
}

static void find_start(struct diagnosis_input *input)
{
    const struct snap_thread *thread =
        input->snapshot->thread_count ? input->snapshot->threads : NULL;
    const int64_t ns = thread ? thread->segment_ns[SEGMENT_COMPILE_NS] : 0;
    const double share = ns > 0 ? (double)ns / (double)thread->wall_ns : 0;
    const struct compiled most = find_most(input, time_early);
    struct finding *finding = cause_add_share(
        input, FINDING_COMPILE_HEAVY, (struct interval){share, share, fmin(1, share * start_most)},
        start_bands, OF_RUN);
    char took[UNITS_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if ((double)ns < start_least_ns)
        finding->severity = FINDING_INFO;
    cause_text(finding->claim, "compiling before the first update took %.0f %% of the run",
               100 * share);
    cause_text(finding->evidence, "%s", units_duration(took, ns));
    if (most.span && most.early > 0)
        cause_more(finding->evidence, "; %s of it for %s, compiled %" PRId64 " time%s",
                   units_duration(took, most.early_ns < ns ? most.early_ns : ns), name_of(&most),
                   most.early, most.early == 1 ? "" : "s");
    cause_text(finding->check, "the row compile of 'Run breakdown' should shrink");
}

const struct finding_kind finding_retrace_storm = {
    .name = "retrace-storm",
    .gist = "a function is traced or compiled again and again",
    .needs = NEEDS_STEPS,
    .find = find_storm,
    .said = {{&storm_bands, OF_STEP, "in steps"}, {&cut_bands, OF_LOOP, "before steps are steady"}},
    .ends =
        {{"in steps",
          "estimate: from the lower bound of the compile time to all the extra time of such steps"},
         {"before steps are steady", "estimate: the compile time to a tenth more"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "keep the shapes and types of the arguments the same, and create the function once",
            [FRAMEWORK_TORCH] =
                "keep shapes the same (DataLoader(drop_last=True)) or torch.compile(model, dynamic=True); "
                "call torch.compile once, outside the loop; TORCH_LOGS=recompiles shows what changed",
            [FRAMEWORK_KERAS] =
                "pass tensors instead of Python numbers, keep shapes the same (batch(n, drop_remainder=True)) or use tf.function(reduce_retracing=True); "
                "create the tf.function once, outside the loop",
            [FRAMEWORK_JAX] =
                "keep shapes and types the same (pad the last batch), static_argnums only for what never changes, jax.jit once, outside the loop; "
                "JAX_LOG_COMPILES=1 shows what is compiled",
        },
    .given = "always",
    .meaning =
        "A function is traced or compiled again and again because something about its arguments changes. "
        "Tracing runs the Python code once to record what it computes, which takes much longer than a step.",
    .computed =
        "The stage compile in the steady steps: reported at 2 % or more if one function was compiled at least 5 times, at 20 % or more if at least 3 times. "
        "If they have none of it, that of all steps after the first one: at 5 % of the loop or more, if one function was compiled at least 5 times in them. "
        "The function that took the most compile time in these steps is named; of operations that JAX compiles one by one it is the function that calls them, if one step in ten or more compiles some. "
        "the reason for recompiling is shown where torch.compile or TensorFlow reports it.",
    .fixes =
        "Tensors instead of Python numbers as arguments, constant shapes, one function object created outside the loop.",
};

const struct finding_kind finding_compile_heavy = {
    .name = "compile-heavy",
    .gist = "compiling takes a large part of the run",
    .find = find_start,
    .said = {{&start_bands, OF_RUN, ""}},
    .ends =
        {{"",
          "estimate: the compile time to a tenth more: the first run of compiled code is slow as well"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "keep compiled code between runs, or train longer in one run",
            [FRAMEWORK_TORCH] =
                "keep compiled code between runs: TORCHINDUCTOR_CACHE_DIR=folder, and TORCHINDUCTOR_FX_GRAPH_CACHE=1; "
                "or compile only the part that repeats: block.compile()",
            [FRAMEWORK_KERAS] =
                "short runs are better off with compile(jit_compile=False); "
                "build the model and its tf.functions once per process, not for each trial",
            [FRAMEWORK_JAX] =
                "keep compiled code between runs: jax.config.update(\"jax_compilation_cache_dir\", folder)",
        },
    .given = "always",
    .meaning = "Tracing and compiling before the first update takes a large part of the whole run.",
    .computed =
        "The segment compile, at 10 % of the run or more; a warning at 20 % and 5 seconds or more. "
        "The function that took most of it is named.",
    .fixes = "A cache that keeps compiled code between runs, longer runs.",
};
