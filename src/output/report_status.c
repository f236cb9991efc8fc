#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "output/numbers.h"
#include "output/report_parts.h"

/* Adds the words if there is room for all of them: half a number is worse than none. */
static bool add_words(struct buf *line, const struct buf *words, size_t columns)
{
    const bool fits = text_width(buf_text(line), line->size) +
                          text_width(buf_text(words), words->size) <=
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
        buf_printf(out, ", %s left",
                   units_duration(text, (int64_t)fmin(loop->left_ns.mid, 9e18)));
    if (part == PART_DEADLINE && report->input->deadline_ns > 0 &&
        report_state(report->input) == REPORT_LIVE)
        buf_printf(out, ", deadline %s", report_deadline_phrase(report->input));
    if (part == PART_SPEED)
        buf_printf(out, ", %s/s",
                   digits_text(text, enough ? loop->steps_per_s.mid
                                            : loop->overall_steps_per_s));
    if (part == PART_MEDIAN && enough)
        buf_printf(out, ", median %s",
                   units_duration(text, (int64_t)loop->quantiles.p50_ns));
    if (part == PART_STAGE && enough && stage != REPORT_NO_STAGE)
        buf_printf(out, ", %s %.0f %%", ss_stage_text((unsigned)stage),
                   100 * loop->stage[stage].share.mid);
}

void report_status_line(struct sink *out, const struct report_input *input,
                        const struct report_style *style)
{
    struct report report;
    char took[UNITS_SIZE];

    report_begin(&report, out, input, style);
    struct buf *line = &report.page.value;
    buf_printf(line, "stepscope %s: ", units_duration(took, report_wall_ns(input)));
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
