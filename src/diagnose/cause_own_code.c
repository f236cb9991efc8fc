/* What no span covers: code of the user's own that samples name, or that nothing names (rule book 11.1). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* The script's own code as samples of `other` saw it. */
struct own_code {
    uint64_t samples;                 /* of `other` */
    uint64_t own, batch;              /* of these: it, and what gets the next batch */
    uint64_t trainer;                 /* and the trainer's own, around its stages */
    const struct snap_hot_line *line; /* the one that has most of it; NULL: none */
    uint64_t at_line;
    int lines;
};

/* The line that calls a trainer is below everything that it does: what has no stage there is the trainer's own
 * code. */
static bool is_call_of_trainer(const struct patient *patient,
                               const struct snap_hot_line *line)
{
    const struct snap_hot *hot = &patient->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *other = &hot->lines[i];
        if (other->place < SS_STAGE_COUNT && other->place != SS_STAGE_OTHER &&
            other->share.low >= line_share && other->at.line == line->at.line &&
            strcmp(other->at.file, line->at.file) == 0)
            return true;
    }
    return false;
}

static struct own_code look(const struct patient *patient)
{
    const struct snap_hot *hot = &patient->snapshot->hot;
    struct own_code code = {.samples = hot->place_samples[SS_STAGE_OTHER]};

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place != SS_STAGE_OTHER)
            continue;
        const uint64_t own = line->count - line->batch_count;
        code.batch += line->batch_count;
        if (own == 0 || line->at.line == 0)
            continue;
        if (is_call_of_trainer(patient, line)) {
            code.trainer += own;
            continue;
        }
        code.own += own;
        code.lines++;
        if (own > code.at_line) {
            code.at_line = own;
            code.line = line;
        }
    }
    return code;
}

static void describe(struct finding *finding, const struct patient *patient,
                     const struct own_code *code)
{
    const struct snap_hot_place *at = &code->line->at;
    const double busy = cause_busy(patient, SS_STAGE_OTHER).mid;
    char mean[UNITS_SIZE];

    cause_text(
        finding->evidence,
        "%s a step are in no stage; %" PRIu64 " of %" PRIu64
        " stack samples of that time are at %s:%" PRIu32,
        units_duration(mean, (int64_t)patient->loop->stage[SS_STAGE_OTHER].mean_ns),
        code->at_line, code->samples, at->file, at->line);
    if (isfinite(busy))
        cause_more(finding->evidence, "; the thread ran %.0f %% of that time",
                   100 * busy);
    cause_text(finding->check,
               "train without that line once; `stepscope report --hot` lists all lines");
    cause_text(
        finding->unknown,
        "how long the line took each time: samples give its part of the time only");
}

/* One line has most of it: then that line's part. Else all of it, which is worth as much as what nothing
 * names: nobody takes ten lines out of a loop for some per cent. */
static void add_own(struct patient *patient, const struct own_code *code)
{
    const bool is_line = (double)code->at_line >= own_line_least * (double)code->own;
    const struct interval share =
        cause_of_other(patient, is_line ? code->at_line : code->own);
    struct finding *finding = cause_add_share(
        patient, "user-code", share, is_line ? own_bands : unnamed_bands, "the step");

    if (!finding)
        return;
    cause_text(finding->claim, "the script's own code takes %.1f %% of the step, ",
               100 * share.mid);
    if (!is_line)
        cause_more(finding->claim, "spread over %d lines, most of all ", code->lines);
    cause_more(finding->claim, "at %s:%" PRIu32 " (%s)", code->line->at.file,
               code->line->at.line, code->line->at.function);
    finding->leaves_cold = cause_may_wait(patient, SS_STAGE_OTHER);
    describe(finding, patient, code);
    cause_weigh_host(finding, patient);
}

/* Names of the user's own are a second view: they say what it is, but make no stage. */
static void say_user_spans(struct finding *finding, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (span->stage != SS_STAGE_USER || !(span->share.mid > 0))
            continue;
        cause_more(finding->evidence,
                   "; the script's own span %s takes %.1f %% of the step", span->text,
                   100 * span->share.mid);
        return;
    }
}

static void say_line(struct finding *finding, const struct patient *patient)
{
    const struct snap_hot_line *line = cause_hot_line(patient, SS_STAGE_OTHER);

    if (line)
        cause_more(finding->evidence,
                   "; most samples of what is in no stage, %.0f %%, are at %s:%" PRIu32,
                   100 * line->share.mid, line->at.file, line->at.line);
}

/* What neither spans nor samples name. */
static void add_unnamed(struct patient *patient, const struct own_code *code)
{
    const struct interval other = patient->loop->stage[SS_STAGE_OTHER].share;
    const uint64_t unnamed = code->samples - code->own - code->batch;
    const bool is_sampled = code->samples >= OWN_SAMPLES;
    const struct interval share = is_sampled ? cause_of_other(patient, unnamed) : other;
    struct finding *finding =
        cause_add_share(patient, "instrument-more", share, unnamed_bands, "the step");

    if (!finding)
        return;
    finding->leaves_cold = cause_may_wait(patient, SS_STAGE_OTHER);
    const bool is_trainers =
        code->trainer > 0 && (double)code->trainer >= unnamed_trainer * (double)unnamed;
    const bool may_be = !is_sampled && patient->framework != FRAMEWORK_OTHER;
    if ((is_trainers || may_be) && share.low < stage_bands.high)
        finding->severity = FINDING_INFO; /* nobody can name what is not theirs */
    cause_text(
        finding->claim,
        is_trainers
            ? "%.1f %% of the step is the trainer's own code, in none of its stages"
            : "%.1f %% of the step is in no stage: nothing says what it is",
        100 * share.mid);
    if (is_sampled)
        cause_text(finding->evidence,
                   "%" PRIu64 " of %" PRIu64
                   " stack samples of it name no line of the script's own code",
                   unnamed, code->samples);
    else
        cause_text(finding->evidence,
                   "%" PRIu64 " stack samples of it, too few to name a line",
                   code->samples);
    say_line(finding, patient);
    say_user_spans(finding, patient->snapshot);
    cause_text(finding->check, "the row other of 'The step by stage' gets smaller");
    cause_weigh_host(finding, patient);
}

void causes_of_own_code(struct patient *patient)
{
    const struct own_code code = look(patient);

    if (code.samples >= OWN_SAMPLES && code.line)
        add_own(patient, &code);
    add_unnamed(patient, &code);
}
