/* What a step costs however many samples it has, from the sizes of batches that one run tried (rule book 4). */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "stats/batch_fit.h"

static double size_of(const struct snap_loop *loop)
{
    if (loop->samples > 0 && loop->steps > 0)
        return (double)loop->samples / (double)loop->steps;
    return (double)loop->plan[3];
}

static bool is_usable(const struct snap_loop *loop)
{
    return size_of(loop) > 0 && !loop->is_asynchronous && loop->steps >= SIZE_STEPS &&
           loop->quantiles.p50_ns > 0;
}

static int compare(const void *a, const void *b)
{
    const struct batch_point *x = a, *y = b;

    return (x->size > y->size) - (x->size < y->size);
}

/* Each size once, by size. A median, so that the first steps of a short loop do not count. */
static size_t collect(const struct snapshot *snapshot, struct batch_point *points)
{
    size_t count = 0;

    for (size_t i = 0; i < snapshot->loop_count && count < BATCH_FIT_MOST; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        bool is_new = is_usable(loop);
        for (size_t k = 0; is_new && k < count; k++)
            is_new = fmax(points[k].size, size_of(loop)) >=
                     sizes_apart * fmin(points[k].size, size_of(loop));
        if (is_new)
            points[count++] = (struct batch_point){size_of(loop), loop->quantiles.p50_ns};
    }
    if (count > 1)
        qsort(points, count, sizeof *points, compare);
    return count;
}

/* A median is known to 1.25 standard errors of a mean; what runs differ by comes on top (rule book 6.2). */
static double error_of(const struct snap_loop *loop)
{
    const double spread = 0.02 * loop->quantiles.p50_ns;
    const double own = isfinite(loop->mad_ns)
                           ? 1.25 * 1.48 * loop->mad_ns / sqrt((double)loop->steps)
                           : 0;

    return sqrt(own * own + spread * spread);
}

static struct interval fixed_share(const struct snap_loop *loop,
                                   const struct batch_fit *fit)
{
    const double time = loop->quantiles.p50_ns;
    const double share = fmax(0, 1 - fit->each_ns * size_of(loop) / time);
    const double unsure = 2 * error_of(loop) / time;

    return (struct interval){fmax(0, share - unsure), share, fmin(1, share + unsure)};
}

/* Samples a second with the best size that was seen, over those of the loop. */
static double samples_gain(const struct batch_point *points, size_t count,
                           const struct batch_fit *fit, const struct snap_loop *loop)
{
    for (size_t i = 0; i < count; i++)
        if (points[i].size == fit->best_size)
            return points[i].size / points[i].time_ns /
                   (size_of(loop) / loop->quantiles.p50_ns);
    return 1;
}

static void describe(struct finding *finding, const struct snap_loop *loop,
                     const struct batch_point *points, size_t count,
                     const struct batch_fit *fit)
{
    char fixed[UNITS_SIZE], each[UNITS_SIZE], small[UNITS_SIZE], large[UNITS_SIZE];
    const struct batch_point *last = &points[count - 1];

    cause_text(
        finding->claim,
        "with batches of %.0f samples %.0f %% of the step is a fixed cost, which larger "
        "ones would share",
        size_of(loop), 100 * finding->share.mid);
    cause_text(
        finding->evidence,
        "a batch of %.0f takes %s, one of %.0f takes %s: %s a step and %s a sample",
        points[0].size, units_duration(small, (int64_t)points[0].time_ns), last->size,
        units_duration(large, (int64_t)last->time_ns),
        units_duration(fixed, (int64_t)fit->fixed_ns),
        units_duration(each, (int64_t)fit->each_ns));
    cause_text(
        finding->advice,
        "larger batches: one of %.0f trains %.1f times as many samples a second; that "
        "changes how the model learns too (learning rate)",
        fit->best_size, samples_gain(points, count, fit, loop));
    cause_text(finding->check,
               "`stepscope compare` compares different batches per sample");
    if (!fit->is_model)
        cause_text(
            finding->unknown,
            "%zu sizes are an indication; five, each twice, would make a model. The "
            "loops should train the same model",
            count);
}

void causes_of_batch_size(struct patient *patient)
{
    struct batch_point points[BATCH_FIT_MOST];
    const size_t count = collect(patient->snapshot, points);
    const struct snap_loop *loop = patient->loop;
    struct batch_fit fit;

    if (count < 2 || !is_usable(loop)) {
        cause_unobservable(patient,
                           "overhead-bound"); /* one size says nothing about others */
        return;
    }
    if (!batch_fit_find(points, count, &fit) || fit.best_size <= size_of(loop))
        return;
    struct finding *finding = cause_add_share(
        patient, "overhead-bound", fixed_share(loop, &fit), fixed_bands, "the step");
    if (!finding)
        return;
    if (!fit.is_model && finding->severity > FINDING_WARN)
        finding->severity = FINDING_WARN;
    describe(finding, loop, points, count, &fit);
}
