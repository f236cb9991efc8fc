/* Tracing and compiling: again and again in the steps, or much of the run at its start (rule book 5.3, 11). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

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

static struct compiled function_of(const struct snapshot *snapshot,
                                   const struct snap_span *span)
{
    struct compiled function = {.span = span};

    for (size_t i = 0; i < snapshot->span_count; i++)
        if (is_part(&snapshot->spans[i], span))
            add_part(&function, &snapshot->spans[i]);
    return function;
}

static int64_t time_again(const struct compiled *function)
{
    return function->again_ns;
}

static int64_t time_early(const struct compiled *function)
{
    return function->early_ns;
}

/* The function that has most time of a kind. */
static struct compiled find_most(const struct snapshot *snapshot,
                                 int64_t (*time_of)(const struct compiled *function))
{
    struct compiled most = {0};

    for (size_t i = 0; i < snapshot->span_count; i++) {
        if (snapshot->spans[i].stage != SS_STAGE_COMPILE)
            continue;
        const struct compiled function = function_of(snapshot, &snapshot->spans[i]);
        if (!most.span || time_of(&function) > time_of(&most))
            most = function;
    }
    return most;
}

/* "train_step", as its compiler calls it; else what the compiler is. */
static const char *name_of(const struct compiled *function)
{
    return *function->span->object ? function->span->object : function->span->text;
}

/* What is new runs slowly for the first time too: all that such steps take more than usual may go. */
static struct interval storm_share(const struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    struct interval share = cause_estimate(patient, loop->stage[SS_STAGE_COMPILE].share);

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
static void say_times(struct finding *finding, const struct patient *patient,
                      const struct compiled *function, const struct recompiled *again)
{
    const int64_t ns = function->again > 0 ? function->again_ns / function->again
                                           : function->early_ns / function->early;
    const int64_t times = again ? (int64_t)again->count : times_of(function);
    char mean[UNITS_SIZE];

    cause_text(finding->evidence, "%s%" PRId64 " times in %lld steps, %s each",
               again ? "again " : "", times, (long long)patient->loop->steps,
               units_duration(mean, ns));
    if (again)
        cause_more(finding->evidence, "; the last time because %s", again->reason);
}

static const char *what_tells_why(enum framework framework)
{
    switch (framework) {
    case FRAMEWORK_KERAS:
        return "; if nothing does, the tf.function is made anew each time";
    case FRAMEWORK_JAX:
        return "; JAX_EXPLAIN_CACHE_MISSES=1 prints it";
    case FRAMEWORK_TORCH:
        return "; TORCH_LOGS=recompiles prints it";
    default:
        return "";
    }
}

static void find_storm(struct patient *patient)
{
    const struct compiled most = find_most(patient->snapshot, time_again);
    const struct interval share = storm_share(patient);

    if (!most.span ||
        times_of(&most) < (share.low >= storm_bands.high ? STORM_SURE : STORM_LEAST))
        return;
    struct finding *finding =
        cause_add_share(patient, "retrace-storm", share, storm_bands, "the step");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE; /* its upper end is no interval's */
    const struct recompiled *again =
        recompiles_most(&patient->loop->recompiles, most.span->object);
    cause_text(finding->claim, "%s is compiled again and again: %.1f %% of the step",
               again ? again->function : name_of(&most), 100 * share.mid);
    say_times(finding, patient, &most, again);
    if (!again)
        cause_text(finding->unknown, "what differs from call to call%s",
                   what_tells_why(patient->framework));
    cause_text(finding->check, "it is compiled once or twice in the whole run");
}

static void find_start(struct patient *patient)
{
    const struct snap_thread *thread =
        patient->snapshot->thread_count ? patient->snapshot->threads : NULL;
    const int64_t ns = thread ? thread->segment_ns[SEGMENT_COMPILE_NS] : 0;
    const double share = ns > 0 ? (double)ns / (double)thread->wall_ns : 0;
    const struct compiled most = find_most(patient->snapshot, time_early);
    struct finding *finding =
        cause_add_share(patient, "compile-heavy",
                        (struct interval){share, share, fmin(1, share * start_most)},
                        start_bands, "the run");
    char took[UNITS_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if ((double)ns < start_least_ns)
        finding->severity = FINDING_INFO;
    cause_text(finding->claim,
               "compiling before the first update took %.0f %% of the run", 100 * share);
    cause_text(finding->evidence, "%s", units_duration(took, ns));
    if (most.span && most.early > 0)
        cause_more(finding->evidence, "; %s of it for %s, compiled %" PRId64 " time%s",
                   units_duration(took, most.early_ns < ns ? most.early_ns : ns),
                   name_of(&most), most.early, most.early == 1 ? "" : "s");
    cause_text(finding->check, "the row compile of 'The run by segment' gets smaller");
}

void causes_of_compiling(struct patient *patient)
{
    find_storm(patient);
    if (!patient->has_few_steps)
        find_start(patient);
}
