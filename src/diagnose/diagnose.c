#include "diagnose/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void (*const causes[])(struct patient *patient) = {
    causes_of_input,        causes_of_stages,    causes_of_ranks,
    causes_of_compiling,    causes_of_callbacks, causes_of_own_input,
    causes_of_own_code,     causes_of_own_waits, causes_of_cuts,
    causes_of_batch_size,   causes_over_time,    causes_of_machine,
    causes_of_fresh_memory, causes_of_gpus,      causes_of_predictions,
    causes_of_compute,
};

/* Which words of advice fit: by names that only one framework's adapter gives. */
static enum framework find_framework(const struct snapshot *snapshot)
{
    static const struct {
        const char *text;
        enum framework framework;
    } names[] = {
        {"train_function", FRAMEWORK_KERAS},   {"predict_function", FRAMEWORK_KERAS},
        {"GetNext", FRAMEWORK_KERAS},          {"GradientTape", FRAMEWORK_KERAS},
        {"make iterator", FRAMEWORK_KERAS},    {"DataLoader", FRAMEWORK_TORCH},
        {"DataLoader start", FRAMEWORK_TORCH}, {"zero_grad", FRAMEWORK_TORCH},
        {"step (GradScaler)", FRAMEWORK_TORCH}};

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strcmp(span->text, names[k].text) == 0)
                return names[k].framework;
        if (span->role == SS_ROLE_JIT_CALL)
            return FRAMEWORK_JAX;
    }
    return FRAMEWORK_OTHER;
}

struct interval finding_gain(const struct finding *finding)
{
    const bool is_loss = strcmp(finding->id, "compute-bound") != 0 &&
                         strcmp(finding->id, "too-few-steps") != 0;

    struct interval gain = finding->share;
    if (!is_loss)
        return (struct interval){NAN, NAN, NAN};
    if (finding->leaves_cold && finding->kind != SHARE_BOUND)
        gain.high += fmin(after_wait_more * gain.high, after_wait_rest * (1 - gain.high));
    return gain;
}

/* What warns is before what does not; then the certain gain counts (rule book 11.4). */
static double rank_of(const struct finding *finding)
{
    const double low = finding_gain(finding).low * finding->of_loop;

    return (finding->severity >= FINDING_WARN ? 10 : 0) + (isfinite(low) ? low : -1);
}

/* Of two that may gain nothing at all, the one that may gain more is first. */
static int compare(const void *a, const void *b)
{
    const double x = rank_of(a), y = rank_of(b);
    const double x_most = finding_gain(a).high, y_most = finding_gain(b).high;

    if (x != y)
        return (x < y) - (x > y);
    return (x_most < y_most) - (x_most > y_most);
}

/* Also where a steady part was found in so few of them. */
static void find_too_few(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const bool is_short = loop->steady_steps < WARMUP_MIN_STEADY;
    const int64_t missing = loop->warmup.class == WARMUP_TOO_FEW
                                ? loop->warmup.missing
                                : WARMUP_MIN_STEADY - loop->steady_steps;

    if (loop->warmup.class != WARMUP_TOO_FEW && !is_short)
        return;
    struct finding *finding = cause_add(patient, "too-few-steps", FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, "the step");
    if (!finding)
        return;
    cause_text(finding->claim, "too few steps to say what is typical");
    cause_text(finding->evidence, "%lld steps so far; %lld more are needed",
               (long long)loop->steps, (long long)missing);
    cause_text(finding->check, "the line 'sure' of the next summary");
}

/* One of two counters may be missing, and the other has shown it. */
static void forget_found(struct patient *patient)
{
    struct diagnosis *out = patient->out;
    size_t kept = 0;

    for (size_t i = 0; i < out->unobservable_count; i++)
        if (!cause_find(patient, out->unobservable[i].id))
            out->unobservable[kept++] = out->unobservable[i];
    out->unobservable_count = kept;
}

/* All, or what needs no more than a look at names. */
static void find_causes(struct patient *patient)
{
    if (!patient->loop) {
        causes_of_predictions(patient);
        return;
    }
    find_too_few(patient);
    patient->has_few_steps = patient->out->count > 0;
    if (patient->has_few_steps) {
        causes_of_compiling(patient);
        causes_of_callbacks(patient);
        causes_of_predictions(patient);
        return;
    }
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        causes[i](patient);
    cause_find_unsure(patient);
}

void diagnose(struct diagnosis *out, const struct snapshot *snapshot,
              const struct ss_run *run)
{
    struct patient patient = {.snapshot = snapshot,
                              .run = run,
                              .loop = snapshot->loop_count ? snapshot->loops : NULL,
                              .framework = find_framework(snapshot),
                              .out = out};

    *out = (struct diagnosis){0};
    validity_judge(&out->validity, snapshot, run);
    attribution_find(&out->attribution, snapshot, run);
    find_causes(&patient);
    forget_found(&patient);
    qsort(out->finding, out->count, sizeof out->finding[0], compare);
}

const struct finding *diagnosis_worst(const struct diagnosis *diagnosis)
{
    return diagnosis->count > 0 && diagnosis->finding[0].severity >= FINDING_WARN
               ? &diagnosis->finding[0]
               : NULL;
}

const struct finding *diagnosis_first(const struct diagnosis *diagnosis)
{
    const struct finding *worst = diagnosis_worst(diagnosis);

    if (worst)
        return worst;
    for (size_t i = 0; i < diagnosis->count; i++)
        if (strcmp(diagnosis->finding[i].id, "compute-bound") == 0)
            return &diagnosis->finding[i];
    return NULL;
}

const char *diagnosis_verdict(const struct diagnosis *diagnosis,
                              const struct snapshot *snapshot)
{
    const struct finding *first = diagnosis_first(diagnosis);

    return first                              ? first->id
           : snapshot->loop_count == 0        ? "no-steps"
           : diagnosis->unsure.share.high > 0 ? "inconclusive"
                                              : "healthy";
}

const char *finding_severity_text(enum finding_severity severity)
{
    static const char *const texts[] = {"info", "warn", "high"};

    return texts[severity];
}

const char *share_kind_text(enum share_kind kind)
{
    static const char *const texts[] = {"interval", "estimate", "bound"};

    return texts[kind];
}
