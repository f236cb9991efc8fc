/* One line about a run that goes on, and whether it will meet its deadline. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "render/numbers.h"
#include "render/units.h"
#include "report/report_parts.h"
#include "stats/steady.h"

/* Adds the words if there is room for all of them: half a number is worse than none. */
static bool add_words(struct buf *line, const struct buf *words, size_t columns)
{
    const bool fits =
        text_width(buf_text(line), line->size) + text_width(buf_text(words), words->size) <=
        columns;

    if (fits)
        buf_add(line, buf_text(words), words->size);
    line->failed |= words->failed;
    return fits;
}

/* What matters most comes first: from the first one that has no room on, all are left out. */
enum part { PART_PLAN, PART_LEFT, PART_DEADLINE, PART_SPEED, PART_MEDIAN, PART_STAGE };

static void add_part(struct buf *out, const struct report *report, enum part part)
{
    const struct snap_loop *loop = report->loop;
    const bool enough = report_has_statistics(loop);
    const int stage = report_largest_stage(loop);
    char text[UNITS_SIZE];

    if (part == PART_PLAN && report_planned_steps(loop) > 0)
        buf_printf(out, "/%" PRIu64, report_planned_steps(loop));
    if (part == PART_LEFT && loop->left_ns.mid > 0 && isfinite(loop->left_ns.mid))
        buf_printf(out, ", %s left", units_duration(text, (int64_t)fmin(loop->left_ns.mid, 9e18)));
    if (part == PART_DEADLINE && report->analysis->deadline_ns > 0 &&
        report_state(report->analysis) == REPORT_LIVE)
        buf_printf(out, ", deadline %s", report_deadline_phrase(report->analysis));
    if (part == PART_SPEED)
        buf_printf(out, ", %s/s",
                   digits_text(text, enough ? loop->steps_per_s.mid : loop->overall_steps_per_s));
    if (part == PART_MEDIAN && enough)
        buf_printf(out, ", median %s", units_duration(text, (int64_t)loop->quantiles.p50_ns));
    if (part == PART_STAGE && enough && stage != REPORT_NO_STAGE)
        buf_printf(out, ", %s %.0f %%", ss_stage_text((unsigned)stage),
                   100 * loop->stage[stage].share.mid);
}

void report_status_line(struct sink *out, const struct analysis *analysis,
                        const struct style *style)
{
    struct report report;
    char took[UNITS_SIZE];

    report_begin(&report, out, analysis, style);
    struct buf *line = &report.page.value;
    buf_printf(line, "stepscope %s: ", units_duration(took, report_wall_ns(analysis)));
    if (report.loop)
        buf_printf(line, "step %" PRId64, report.loop->steps);
    else
        buf_add_text(line, "no step yet");
    bool fits = report.loop != NULL;
    for (enum part part = PART_PLAN; fits && part <= PART_STAGE; part++) {
        struct buf words = {0};
        add_part(&words, &report, part);
        fits = add_words(line, &words, report.page.columns);
        buf_release(&words);
    }
    page_line(&report.page);
    report_end(&report);
}

uint64_t report_planned_steps(const struct snap_loop *loop)
{
    return loop->plan[0] > 0 ? loop->plan[0] : loop->plan[1] * loop->plan[2];
}

/* Did it do what it had set out to? Of a run without a plan only its exit can tell. */
static bool is_done(const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    const struct run_facts *facts = analysis->facts;

    if (snapshot->loop_count > 0) {
        const struct snap_loop *loop = snapshot->loops;
        const uint64_t planned = report_planned_steps(loop);
        if (planned > 0)
            return (uint64_t)loop->steps >= planned;
        if (loop->plan[1] > 0)
            return (uint64_t)loop->epochs_seen >= loop->plan[1];
    }
    return facts->ended_ns > 0 ? facts->exit_code == 0 : report_state(analysis) == REPORT_ENDED;
}

static enum report_deadline ahead(const struct analysis *analysis)
{
    static const enum report_deadline verdicts[] = {
        [ETA_UNKNOWN] = REPORT_DEADLINE_UNKNOWN,
        [ETA_HOLDS] = REPORT_DEADLINE_HOLDS,
        [ETA_UNSURE] = REPORT_DEADLINE_UNSURE,
        [ETA_MISSED] = REPORT_DEADLINE_MISSED,
    };
    const struct snapshot *snapshot = analysis->snapshot;
    struct interval left = {0, INFINITY, INFINITY};

    if (snapshot->loop_count > 0 && isfinite(snapshot->loops[0].left_ns.mid))
        left = snapshot->loops[0].left_ns;
    return verdicts[eta_deadline(left, report_wall_ns(analysis), analysis->deadline_ns)];
}

enum report_deadline report_deadline(const struct analysis *analysis)
{
    const enum report_state state = report_state(analysis);

    if (state == REPORT_LIVE)
        return ahead(analysis);
    if (is_done(analysis))
        return report_wall_ns(analysis) <= analysis->deadline_ns ? REPORT_DEADLINE_HOLDS
                                                                 : REPORT_DEADLINE_MISSED;
    const bool told =
        analysis->facts->ended_ns > 0 || state == REPORT_KILLED ||
        (analysis->snapshot->loop_count > 0 &&
         (analysis->snapshot->loops[0].plan[0] > 0 || analysis->snapshot->loops[0].plan[1] > 0));
    return told ? REPORT_DEADLINE_UNFINISHED : REPORT_DEADLINE_UNKNOWN;
}

const char *report_deadline_text(enum report_deadline verdict)
{
    static const char *const texts[] = {
        [REPORT_DEADLINE_UNKNOWN] = "unknown",       [REPORT_DEADLINE_HOLDS] = "holds",
        [REPORT_DEADLINE_UNSURE] = "unsure",         [REPORT_DEADLINE_MISSED] = "missed",
        [REPORT_DEADLINE_UNFINISHED] = "unfinished",
    };

    return texts[verdict];
}

const char *report_deadline_phrase(const struct analysis *analysis)
{
    static const char *const goes_on[] = {
        [REPORT_DEADLINE_UNKNOWN] = "cannot be judged",
        [REPORT_DEADLINE_HOLDS] = "will hold",
        [REPORT_DEADLINE_UNSURE] = "may be missed",
        [REPORT_DEADLINE_MISSED] = "will be missed",
        [REPORT_DEADLINE_UNFINISHED] = "",
    };
    static const char *const over[] = {
        [REPORT_DEADLINE_UNKNOWN] = "cannot be judged",
        [REPORT_DEADLINE_HOLDS] = "held",
        [REPORT_DEADLINE_UNSURE] = "",
        [REPORT_DEADLINE_MISSED] = "was missed",
        [REPORT_DEADLINE_UNFINISHED] = "did not finish",
    };
    const enum report_deadline verdict = report_deadline(analysis);

    return report_state(analysis) == REPORT_LIVE ? goes_on[verdict] : over[verdict];
}

void report_say_deadline(struct page *page, const struct analysis *analysis)
{
    const bool unfinished = report_deadline(analysis) == REPORT_DEADLINE_UNFINISHED;
    char text[UNITS_SIZE];

    units_duration(text, analysis->deadline_ns);
    if (unfinished)
        buf_printf(&page->value, "the run did not finish; its deadline was %s", text);
    else
        buf_printf(&page->value, "the deadline of %s %s", text, report_deadline_phrase(analysis));
}
