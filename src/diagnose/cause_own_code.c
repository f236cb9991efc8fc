/* What no span covers: code of the user's own that samples name, or that nothing names (rule book 11.1). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

static void describe(struct finding *finding, const struct patient *patient,
                     const struct snap_hot_line *line)
{
    const struct snap_stage *other = &patient->loop->stage[SS_STAGE_OTHER];
    const double busy = cause_busy(patient, SS_STAGE_OTHER);
    char mean[UNITS_SIZE];

    cause_text(
        finding->claim,
        "code of the script between the stages takes %.1f %% of the step, most of it at "
        "%s:%" PRIu32 " (%s)",
        100 * other->share.mid, line->at.file, line->at.line, line->at.function);
    cause_text(finding->evidence,
               "%s a step; %.0f %% of %" PRIu64 " samples at that line",
               units_duration(mean, (int64_t)other->mean_ns), 100 * line->share.mid,
               line->place_samples);
    if (isfinite(busy))
        cause_more(finding->evidence, "; the thread ran %.0f %% of that time",
                   100 * busy);
    cause_text(finding->advice,
               "take that line out of the loop, do it less often, or do it in another "
               "thread");
    cause_text(finding->check,
               "train without that line once; `stepscope report --hot` lists all lines");
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

/* All of `other` could go at best, and what the line has of it surely could. A line that may have less than
 * most of it has to be worth as much as one without a name. */
static void add_line(struct patient *patient, const struct snap_hot_line *line)
{
    const struct interval share = patient->loop->stage[SS_STAGE_OTHER].share;
    const bool is_sure = line->share.low >= own_line_least;
    struct finding *finding = cause_add_share(
        patient, "user-code", share, is_sure ? own_bands : unnamed_bands, "the step");

    if (!finding)
        return;
    finding->share = (struct interval){share.low * line->share.low,
                                       share.mid * line->share.mid, share.high};
    describe(finding, patient, line);
}

static void add_unnamed(struct patient *patient, const struct snap_hot_line *line)
{
    const struct interval share = patient->loop->stage[SS_STAGE_OTHER].share;
    struct finding *finding =
        cause_add_share(patient, "instrument-more", share, unnamed_bands, "the step");

    if (!finding)
        return;
    cause_text(finding->claim,
               "%.1f %% of the step is in no stage: nothing says what it is",
               100 * share.mid);
    if (line)
        cause_text(finding->evidence, "most samples of it, %.0f %%, are at %s:%" PRIu32,
                   100 * line->share.mid, line->at.file, line->at.line);
    else
        cause_text(finding->evidence,
                   "%" PRIu64 " stack samples of it, too few to name a line",
                   patient->snapshot->hot.place_samples[SS_STAGE_OTHER]);
    say_user_spans(finding, patient->snapshot);
    cause_text(finding->advice,
               "give its parts a stage: with stepscope.stage(\"data\") or "
               "span(name, stage=) in Python, ss_begin() in C");
    cause_text(finding->check, "the stage other shrinks");
}

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

void causes_of_own_code(struct patient *patient)
{
    const struct snap_hot_line *line = cause_hot_line(patient, SS_STAGE_OTHER);

    if (line && line->share.mid >= own_line_least && !is_call_of_trainer(patient, line))
        add_line(patient, line);
    else
        add_unnamed(patient, line);
}
