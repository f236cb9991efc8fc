/* Predictions of which a few take much longer than most: for a user who waits for each of them, the
 * mean says little. Needs no training: a run that only serves has no loop (method
 * 11.16). */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "render/units.h"

/* A tail of predictions: p99 over p50, and calls for a p99. From three slow ones on they are surely
 * more than the first call, which is slow by nature (ours). */
static const double tail_ratio = 3;
enum { TAIL_CALLS = 100, TAIL_CALLS_SURE = 300 };

/* Without a training, whatever is called by name predicts: models with gradients off, compiled
 * functions. With gradients it is a training, whose steps were not seen. */
static bool is_prediction(const struct diagnosis_input *input, const struct snap_span *span)
{
    if (span->stage == SS_STAGE_INFER)
        return true;
    return !input->loop &&
           (span->stage == SS_STAGE_EVAL || span->stage == SS_STAGE_FORWARD ||
            span->stage == SS_STAGE_COMPUTE) &&
           !snapshot_has(input->snapshot, SS_STAGE_BACKWARD);
}

static void describe(struct finding *finding, const struct snap_span *span, double ratio,
                     bool is_disturbed)
{
    char name[CAUSE_NAME_SIZE], p50[UNITS_SIZE], p99[UNITS_SIZE], most[UNITS_SIZE];

    cause_text(finding->claim, "1 in 100 calls of %s takes %.1fx the median",
               cause_name(name, span), ratio);
    cause_text(finding->evidence,
               "of %" PRIu64 " calls, the median takes %s, p99 %s, the longest %s", span->count,
               units_duration(p50, (int64_t)span->quantiles.p50_ns),
               units_duration(p99, (int64_t)span->quantiles.p99_ns),
               units_duration(most, span->quantiles.max_ns));
    cause_text(finding->check, "'Predictions' in the report: p99 compared with p50");
    if (is_disturbed)
        cause_text(finding->unknown, "other work on the machine may explain all of it");
    else if (span->count < TAIL_CALLS_SURE)
        cause_text(
            finding->unknown,
            "whether it is more than the first calls, which are always slow: needs %d calls or more",
            TAIL_CALLS_SURE);
}

/* The one that took most time in all, of those that have a tail. */
static void find_tail(struct diagnosis_input *input)
{
    for (size_t i = 0; i < input->snapshot->span_count; i++) {
        const struct snap_span *span = &input->snapshot->spans[i];
        const double ratio = span->quantiles.p99_ns / span->quantiles.p50_ns;
        if (!is_prediction(input, span) || span->count < TAIL_CALLS ||
            !(span->quantiles.p50_ns > 0) || !(ratio >= tail_ratio))
            continue;
        const bool is_disturbed = cause_is_disturbed(input, VALIDITY_WARN),
                   is_sure = span->count >= TAIL_CALLS_SURE && !is_disturbed;
        struct finding *finding =
            cause_add(input, FINDING_LATENCY_TAIL, is_sure ? FINDING_WARN : FINDING_INFO,
                      (struct interval){NAN, NAN, NAN}, OF_RUN);
        if (finding)
            describe(finding, span, ratio, is_disturbed);
        return;
    }
}

const struct finding_kind finding_latency_tail = {
    .name = "latency-tail",
    .gist = "a few predictions take much longer than most",
    .needs = NEEDS_NOTHING,
    .find = find_tail,
    .ends = {{"", ENDS_NONE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "warm up with about 20 calls, keep input shapes constant, and keep other work off its cores",
            [FRAMEWORK_TORCH] =
                "warm up with about 20 calls, use torch.inference_mode() and few input shapes; gc.freeze() before serving",
            [FRAMEWORK_KERAS] =
                "for single inputs call model(x, training=False) or predict_on_batch(x) instead of predict(x), warm up with about 20 calls, and use few input shapes",
            [FRAMEWORK_JAX] =
                "warm up the compiled function with each shape (or jax.jit(f).lower(x).compile()), and pad inputs to few shapes",
        },
    .given = "always",
    .meaning = "A few predictions take much longer than most.",
    .computed =
        "Predictions by name, with at least 100 calls: p99 is at least 3x the median. "
        "A warning with at least 300 calls, since first calls are always slow, and only if nothing disturbed the machine. "
        "In a run that does not train, calls of compiled functions and models count as predictions too.",
    .fixes = "A few warm-up calls with each shape, constant shapes, no other work on the cores.",
};
