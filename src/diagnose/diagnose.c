#include "diagnose/causes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*const causes[])(struct patient *patient) = {
    causes_of_input,     causes_of_stages,   causes_of_ranks, causes_of_compiling,
    causes_of_callbacks, causes_of_own_code, causes_of_cuts,  causes_of_batch_size,
    causes_over_time,    causes_of_machine,  causes_of_gpus,  causes_of_compute,
};

struct finding *cause_add(struct patient *patient, const char *id,
                          enum finding_severity severity, struct interval share,
                          const char *of)
{
    struct diagnosis *out = patient->out;

    if (out->count == FINDINGS_MOST)
        return NULL;
    struct finding *finding = &out->finding[out->count++];
    *finding = (struct finding){.id = id, .severity = severity, .share = share, .of = of};
    return finding;
}

struct finding *cause_add_share(struct patient *patient, const char *id,
                                struct interval share, struct bands bands, const char *of)
{
    /* Without an interval (too few steps) nothing is claimed. */
    if (!isfinite(share.low) || share.low < bands.info)
        return NULL;
    return cause_add(patient, id,
                     share.low >= bands.high   ? FINDING_HIGH
                     : share.low >= bands.warn ? FINDING_WARN
                                               : FINDING_INFO,
                     share, of);
}

struct interval cause_estimate(const struct patient *patient, struct interval share)
{
    const bool is_known = !patient->has_few_steps && isfinite(share.high);

    if (is_known || !(share.mid >= few_least))
        return share;
    return (struct interval){share.mid / 2, share.mid, fmin(1, 2 * share.mid)};
}

static void add_text(char *out, size_t used, const char *format, va_list arguments)
    ATTR_PRINTF(3, 0);

static void add_text(char *out, size_t used, const char *format, va_list arguments)
{
    if (used < FINDING_TEXT_SIZE)
        vsnprintf(out + used, FINDING_TEXT_SIZE - used, format, arguments);
}

void cause_text(char out[FINDING_TEXT_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(out, 0, format, arguments);
    va_end(arguments);
}

void cause_more(char out[FINDING_TEXT_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(out, strlen(out), format, arguments);
    va_end(arguments);
}

void cause_unobservable(struct patient *patient, const char *id)
{
    struct diagnosis *out = patient->out;

    if (out->unobservable_count < FINDINGS_MOST)
        out->unobservable[out->unobservable_count++] = id;
}

struct finding *cause_find(const struct patient *patient, const char *id)
{
    struct diagnosis *out = patient->out;

    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->finding[i].id, id) == 0)
            return &out->finding[i];
    return NULL;
}

double cause_busy(const struct patient *patient, unsigned stage)
{
    const uint64_t *seen = patient->snapshot->resources.states[stage];
    const uint64_t all = seen[0] + seen[1] + seen[2];

    return all >= LOOKS_NEEDED ? (double)seen[0] / (double)all : NAN;
}

const struct snap_hot_line *cause_hot_line(const struct patient *patient, unsigned stage)
{
    const struct snap_hot *hot = &patient->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place == stage && line->at.line > 0)
            return line->share.low >= line_share ? line : NULL;
    }
    return NULL;
}

bool cause_is_disturbed(const struct patient *patient, enum validity_level level)
{
    static const char *const ids[] = {"preempted", "steal",  "cgroup", "swap",
                                      "frequency", "memory", "others", "heat"};
    const struct validity *validity = &patient->out->validity;

    for (size_t i = 0; i < validity->count; i++)
        for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++)
            if (validity->item[i].level >= level &&
                strcmp(validity->item[i].id, ids[k]) == 0)
                return true;
    return false;
}

/* Which words of advice fit: by names that only one framework's adapter gives. */
static enum framework find_framework(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (strcmp(span->text, "train_function") == 0 ||
            strcmp(span->text, "GetNext") == 0)
            return FRAMEWORK_KERAS;
        if (strcmp(span->text, "DataLoader") == 0 || strcmp(span->text, "zero_grad") == 0)
            return FRAMEWORK_TORCH;
        if (span->role == SS_ROLE_JIT_CALL)
            return FRAMEWORK_JAX;
    }
    return FRAMEWORK_OTHER;
}

struct interval finding_gain(const struct finding *finding)
{
    const bool is_loss = strcmp(finding->id, "compute-bound") != 0 &&
                         strcmp(finding->id, "too-few-steps") != 0;

    return is_loss ? finding->share : (struct interval){NAN, NAN, NAN};
}

/* What warns is before what does not; then the certain gain counts (rule book 11.4). */
static double rank_of(const struct finding *finding)
{
    const double low = finding_gain(finding).low;

    return (finding->severity >= FINDING_WARN ? 10 : 0) + (isfinite(low) ? low : -1);
}

static int compare(const void *a, const void *b)
{
    const double x = rank_of(a), y = rank_of(b);

    return (x < y) - (x > y);
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
    cause_text(finding->advice, "train for more steps");
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
    if (!patient.loop)
        return;
    find_too_few(&patient);
    patient.has_few_steps = out->count > 0;
    if (patient.has_few_steps) { /* what needs no more than a look at the names */
        causes_of_compiling(&patient);
        causes_of_callbacks(&patient);
    }
    for (size_t i = 0; !patient.has_few_steps && i < sizeof causes / sizeof causes[0];
         i++)
        causes[i](&patient);
    qsort(out->finding, out->count, sizeof out->finding[0], compare);
}

const char *diagnosis_verdict(const struct diagnosis *diagnosis,
                              const struct snapshot *snapshot)
{
    if (snapshot->loop_count == 0)
        return "no-steps";
    if (diagnosis->count > 0 && diagnosis->finding[0].severity >= FINDING_WARN)
        return diagnosis->finding[0].id;
    for (size_t i = 0; i < diagnosis->count; i++)
        if (strcmp(diagnosis->finding[i].id, "compute-bound") == 0)
            return diagnosis->finding[i].id;
    return "healthy";
}

const char *finding_severity_text(enum finding_severity severity)
{
    static const char *const texts[] = {"info", "warn", "high"};

    return texts[severity];
}
