#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "output/numbers.h"
#include "output/report_parts.h"

static void add_step(struct buf *out, const struct snap_loop *loop)
{
    const uint64_t planned =
        loop->plan[0] > 0 ? loop->plan[0] : loop->plan[1] * loop->plan[2];

    buf_printf(out, "step %" PRId64, loop->steps);
    if (planned > 0)
        buf_printf(out, "/%" PRIu64, planned);
}

static void add_speed(struct buf *out, const struct snap_loop *loop)
{
    const int stage = report_largest_stage(loop);
    char text[UNITS_SIZE];

    if (!report_has_statistics(loop)) {
        buf_printf(out, ", %s/s", digits_text(text, loop->overall_steps_per_s));
        return;
    }
    buf_printf(out, ", %s/s", digits_text(text, loop->steps_per_s.mid));
    buf_printf(out, ", median %s", units_duration(text, (int64_t)loop->quantiles.p50_ns));
    if (stage != REPORT_NO_STAGE)
        buf_printf(out, ", %s %.0f %%", ss_stage_text((unsigned)stage),
                   100 * loop->stage[stage].share.mid);
    if (loop->left_ns.mid > 0 && isfinite(loop->left_ns.mid))
        buf_printf(out, ", %s left", units_duration(text, (int64_t)loop->left_ns.mid));
}

void report_status_line(struct sink *out, const struct report_input *input,
                        const struct report_style *style)
{
    struct report report;
    struct buf text = {0};
    char took[UNITS_SIZE];

    report_begin(&report, out, input, style);
    buf_printf(&text, "stepscope %s: ", units_duration(took, report_wall_ns(input)));
    if (report.loop) {
        add_step(&text, report.loop);
        add_speed(&text, report.loop);
    } else {
        buf_add_text(&text, "no step yet");
    }
    text_fit(&report.page.value, buf_text(&text), text.size, report.page.columns);
    report.page.value.failed |= text.failed;
    page_line(&report.page);
    buf_release(&text);
    report_end(&report);
}
