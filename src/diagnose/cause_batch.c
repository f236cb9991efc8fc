/* What a step costs however many samples it has, from the sizes of batches that one run tried
 * (method 6, 11.8). */
#include <math.h>
#include <stdlib.h>

#include "diagnose/causes.h"
#include "render/units.h"
#include "stats/batch_fit.h"

/* Fixed cost of a step: from half on more samples a step are nearly free (B below a / b,
 * method 6.1). */
static const struct bands fixed_bands = {0, 0.5, 0.8};
/* Sizes must differ by this factor, and have this number of steps, for their times to count (ours).
 */
static const double sizes_apart = 1.5;
/* The size of a loop's batches is that of most steps, if the mean is so near (ours). */
static const double usual_apart = 0.1;
enum { SIZE_STEPS = 10 };

/* The last batch of an epoch is often smaller, and no typical step. */
static double size_of(const struct snap_loop *loop)
{
    const double mean = (double)loop->samples / (double)(loop->steps ? loop->steps : 1),
                 usual = (double)loop->usual_samples;

    if (loop->samples > 0)
        return fabs(usual / mean - 1) <= usual_apart ? usual : mean;
    return (double)loop->plan[3];
}

/* Part of the step that computes. What the script, callbacks or the input take a step may be fixed
 * as well, but has findings of its own, and larger batches are no cure for it. Where no stage is
 * known, all of it. */
static double computing_part(const struct snap_loop *loop)
{
    double part = 0;

    for (unsigned i = 0; i < SS_STAGE_COUNT; i++)
        if (model_computes(i) || i == SS_STAGE_TRANSFER || i == SS_STAGE_COMM || i == SS_STAGE_SYNC)
            part += (double)loop->stage[i].total_ns;
    return part > 0 && loop->steady_ns > 0 ? fmin(1, part / (double)loop->steady_ns) : 1;
}

static bool is_usable(const struct snap_loop *loop)
{
    return size_of(loop) > 0 && !snapshot_overlaps(loop) && loop->steps >= SIZE_STEPS &&
           loop->quantiles.p50_ns > 0;
}

static int compare(const void *a, const void *b)
{
    const struct batch_point *x = a, *y = b;

    return (x->size > y->size) - (x->size < y->size);
}

enum time_of { TIME_COMPUTING, TIME_STEP };

static struct batch_point point_of(const struct snap_loop *loop, enum time_of which)
{
    const double part = which == TIME_STEP ? 1 : computing_part(loop),
                 time = loop->quantiles.p50_ns;

    return (struct batch_point){
        .size = size_of(loop),
        .time_ns = part * time,
        .error_ns =
            part * batch_fit_error(time, loop->mad_ns, (double)loop->steady_steps, loop->step_ns)};
}

/* Each size once, by size; the primary loop is the first that is asked. A median, so that the first
 * steps of a short loop do not count. */
static size_t collect(const struct snapshot *snapshot, enum time_of which,
                      struct batch_point *points)
{
    size_t count = 0;

    for (size_t i = 0; i < snapshot->loop_count && count < BATCH_FIT_MOST; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        bool is_new = is_usable(loop);
        for (size_t k = 0; is_new && k < count; k++)
            is_new = fmax(points[k].size, size_of(loop)) >=
                     sizes_apart * fmin(points[k].size, size_of(loop));
        if (is_new)
            points[count++] = point_of(loop, which);
    }
    if (count > 1)
        qsort(points, count, sizeof *points, compare);
    return count;
}

static size_t place_of(const struct batch_point *points, double size)
{
    size_t at = 0;

    while (points[at].size != size)
        at++;
    return at;
}

static double samples_per_ns(const struct snap_loop *loop)
{
    return size_of(loop) / loop->quantiles.p50_ns;
}

/* Samples a second with the best size that was seen, over those of the primary loop. */
static double samples_gain(const struct diagnosis_input *input, double best_size)
{
    const struct snapshot *snapshot = input->snapshot;

    for (size_t i = 0; i < snapshot->loop_count; i++)
        if (is_usable(&snapshot->loops[i]) && size_of(&snapshot->loops[i]) == best_size)
            return samples_per_ns(&snapshot->loops[i]) / samples_per_ns(input->loop);
    return 1;
}

static void describe(struct finding *finding, const struct batch_point *points, size_t count,
                     const struct batch_fit *fit)
{
    char fixed[UNITS_SIZE], each[UNITS_SIZE], small[UNITS_SIZE], large[UNITS_SIZE];
    const struct batch_point *last = &points[count - 1];

    cause_text(
        finding->evidence,
        "a batch of %.0f computes in %s, one of %.0f in %s: %s%s per step plus %s per sample",
        points[0].size, units_duration(small, (int64_t)points[0].time_ns), last->size,
        units_duration(large, (int64_t)last->time_ns), fit->is_model ? "" : "roughly ",
        units_duration(fixed, (int64_t)fit->fixed_ns), units_duration(each, (int64_t)fit->each_ns));
    cause_text(finding->check,
               "`stepscope compare` compares runs with different batch sizes per sample");
    if (!fit->is_model)
        cause_text(finding->unknown,
                   "%zu sizes give an indication; five, each seen twice, give a model. "
                   "The loops should train the same model",
                   count);
}

/* What fewer than five sizes say is no model, but a cost that is surely most of the step is worth a
 * warning: the interval knows how far apart the sizes are. It is never high. */
static enum finding_severity severity_of(double low, const struct batch_fit *fit)
{
    const enum finding_severity most = fit->is_model ? FINDING_HIGH : FINDING_WARN;
    const enum finding_severity by_share = low >= fixed_bands.high   ? FINDING_HIGH
                                           : low >= fixed_bands.warn ? FINDING_WARN
                                                                     : FINDING_INFO;

    return by_share < most ? by_share : most;
}

/* That of computing; at most that of the whole step, of which callbacks and code of the script may
 * be fixed, too. */
static struct interval share_of_step(struct interval share, const struct diagnosis_input *input,
                                     size_t at)
{
    const double part = computing_part(input->loop);
    struct interval out = {share.low * part, share.mid * part, share.high * part};
    struct batch_point points[BATCH_FIT_MOST];
    const size_t count = collect(input->snapshot, TIME_STEP, points);
    struct batch_fit fit;

    out.high = batch_fit_find(points, count, &fit)
                   ? fmax(out.high, batch_fit_fixed_share(points, count, &fit, at).high)
                   : share.high * part + 1 - part;
    return out;
}

/* Who trains with several sizes wants to know what they cost, so little is said as well. */
static void find_fixed_cost(struct diagnosis_input *input)
{
    struct batch_point points[BATCH_FIT_MOST];
    const size_t count = collect(input->snapshot, TIME_COMPUTING, points);
    struct batch_fit fit;

    if (count < 2 || !is_usable(input->loop)) {
        cause_unobservable(
            input, FINDING_OVERHEAD_BOUND,
            "all batches have the same size, or the size is unknown: fixed and per-sample cost cannot be separated",
            "train some steps with a batch twice as large in the same run");
        return;
    }
    if (!batch_fit_find(points, count, &fit))
        return;
    const size_t at = place_of(points, size_of(input->loop));
    const struct batch_point *own = &points[at];
    const bool gains =
        fit.best_size > own->size && samples_gain(input, fit.best_size) > 1 + step_matters;
    const struct interval share =
        share_of_step(batch_fit_fixed_share(points, count, &fit, at), input, at);
    struct finding *finding =
        cause_add(input, FINDING_OVERHEAD_BOUND,
                  gains ? severity_of(share.low, &fit) : FINDING_INFO, share, OF_STEP);
    if (!finding)
        return;
    cause_text(
        finding->claim,
        "with batches of %.0f samples, %.0f %% of the step is a fixed cost, which larger batches would spread",
        own->size, 100 * share.mid);
    describe(finding, points, count, &fit);
    if (gains)
        cause_more(
            finding->advice,
            "; a batch of %.0f trains %.1fx as many samples per second, but changes how the model learns (adjust the learning rate)",
            fit.best_size, samples_gain(input, fit.best_size));
    else
        finding->advice[0] = '\0';
}

const struct finding_kind finding_overhead_bound = {
    .name = "overhead-bound",
    .gist = "the batch is too small: most of a step is a fixed cost",
    .find = find_fixed_cost,
    .said = {{&fixed_bands, OF_STEP, "with two sizes or more"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "larger batches",
            [FRAMEWORK_TORCH] =
                "larger batches: DataLoader(batch_size=); torch.compile(model, mode=\"reduce-overhead\"); an optimizer with fused=True",
            [FRAMEWORK_KERAS] =
                "larger batches: fit(batch_size=) or dataset.batch(); compile(steps_per_execution=32, jit_compile=True)",
            [FRAMEWORK_JAX] =
                "larger batches, or several steps in one call: jax.lax.scan inside the function that jax.jit compiles, with donate_argnums for its state",
        },
    .given =
        "where the run has shown that a larger batch trains more samples per second; else none",
    .meaning =
        "Most of a step is a cost that does not depend on the batch size: Python calls, launching many small operations. "
        "The batch is too small for this model on this machine.",
    .computed =
        "From loops of one run with different batch sizes: step time = fixed cost + cost per sample x samples. "
        "A warning if at least half of the step is a fixed cost and a larger batch was faster per sample; otherwise the two costs are only reported. "
        "Two to four sizes give an indication; five or more give a model, with a floor below which smaller batches save nothing. "
        "With a single batch size the two cannot be separated.",
    .fixes =
        "Larger batches, several batches in one call (Keras: steps_per_execution), a compiled step. "
        "A larger batch changes how the model learns.",
};
