/* How the run went over time: warm-up, changes, spikes, and when it will be done. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "output/numbers.h"
#include "output/report_parts.h"

static void add_duration(struct page *page, double ns)
{
    char text[UNITS_SIZE];

    page_joined(page, units_duration(text, ns < 9e18 ? (int64_t)ns : INT64_MAX));
}

static void say_warmup(struct report *report)
{
    static const char *const level[] = {
        [WARMUP_FLAT] = "none: steady from the first step on",
        [WARMUP_SLOWER_FIRST] = "none",
        [WARMUP_FASTER_FIRST] = "none: it began faster than it went on",
        [WARMUP_DRIFTING] = "none found: the second half of the run is not level",
        [WARMUP_NO_STEADY_STATE] =
            "none found: the first half of the run is not like the second",
    };
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;

    if (loop->warmup_steps == 0) {
        buf_add_text(&page->value, level[loop->warmup.class]);
    } else {
        buf_add_text(&page->value, "the first ");
        if (loop->warmup_steps == 1)
            buf_add_text(&page->value, "step");
        else
            page_count(page, (uint64_t)loop->warmup_steps, "step", "steps");
        buf_add_text(&page->value, " took ");
        add_duration(page, (double)loop->warmup_ns);
        if (loop->warmup.cost_ns > 0) {
            buf_add_text(&page->value, ", ");
            add_duration(page, loop->warmup.cost_ns);
            buf_add_text(&page->value, loop->warmup_steps == 1
                                           ? " more than a steady one"
                                           : " more than as many steady ones");
        }
    }
    page_field(page, "Warm-up");
}

static void add_shift(struct report *report, size_t number)
{
    const struct change_shift *shift = &report->loop->change.shifts[number];
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    buf_printf(&page->value, "from step %s on the median is ",
               units_integer(text, (uint64_t)report->loop->shift_step[number]));
    add_duration(page, shift->after);
    buf_add_text(&page->value, " instead of ");
    add_duration(page, shift->before);
    buf_printf(&page->value, " (%+.1f" TEXT_NO_BREAK "%%)",
               100 * (shift->after / shift->before - 1));
    page_field(page, number == 0 ? "Over time" : "");
}

/* No trend and no shift; the warm-up may have found the run uneven all the same. */
static const char *unchanged(const struct snap_loop *loop)
{
    switch (loop->warmup.class) {
    case WARMUP_DRIFTING:
        return "not level, but no trend and no shift that is more than noise";
    case WARMUP_NO_STEADY_STATE:
        return "changed midway, but no trend and no shift that is more than noise";
    default:
        return "no change that is more than noise";
    }
}

static void say_change(struct report *report)
{
    const struct change *change = &report->loop->change;
    struct page *page = &report->page;

    for (size_t i = 0; change->kind == CHANGE_SHIFT && i < change->shift_count; i++)
        add_shift(report, i);
    if (change->kind == CHANGE_DRIFT) {
        buf_printf(&page->value,
                   "steps become %s: by %.1f" TEXT_NO_BREAK "%% from first to last",
                   change->trend > 0 ? "slower" : "faster", 100 * fabs(change->trend));
        page_field(page, "Over time");
    } else if (change->kind == CHANGE_NONE) {
        buf_add_text(&page->value, unchanged(report->loop));
        page_field(page, "Over time");
    }
}

static void say_spikes(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;

    for (int i = 0; i < loop->periods; i++) {
        const struct period *period = &loop->period[i];
        buf_printf(&page->value,
                   "every %" PRId64 " steps one takes longer: %zu of %zu times",
                   period->steps, period->hits, period->places);
        page_field(page, i == 0 ? "Spikes" : "");
    }
    if (loop->spike_tax >= 0.01) {
        buf_printf(&page->value,
                   "slow steps lift the mean %.1f" TEXT_NO_BREAK "%% above the median",
                   100 * loop->spike_tax);
        page_field(page, loop->periods == 0 ? "Spikes" : "");
    }
}

static void say_finish(struct report *report)
{
    const struct interval left = report->loop->left_ns;
    struct page *page = &report->page;

    if (report_state(report->input) == REPORT_LIVE && isfinite(left.mid)) {
        buf_add_text(&page->value, "in ");
        add_duration(page, left.mid);
        if (isfinite(left.low) && isfinite(left.high)) {
            buf_add_text(&page->value, " (");
            add_duration(page, left.low);
            buf_add_text(&page->value, " to ");
            add_duration(page, left.high);
            buf_add_text(&page->value, ")");
        }
    } else if (report_state(report->input) == REPORT_LIVE && report->input->deadline_ns) {
        buf_add_text(&page->value, "not known: nobody said how many steps there will be");
    }
    if (report->input->deadline_ns > 0) {
        buf_add_text(&page->value, page->value.size > 0 ? "; " : "");
        report_say_deadline(page, report->input);
    }
    if (page->value.size > 0)
        page_field(page, "Finish");
}

static void say_evaluation(struct report *report)
{
    const int64_t *segment_ns = report->loop->segment_ns;
    const double eval = (double)segment_ns[SEGMENT_EVAL_NS];
    const double training =
        (double)(segment_ns[SEGMENT_WARMUP_NS] + segment_ns[SEGMENT_STEADY_NS]);
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    if (eval <= 0 || training <= 0)
        return;
    add_duration(page, eval);
    buf_add_text(&page->value, ", against ");
    add_duration(page, training);
    buf_add_text(&page->value, " of training steps: ");
    page_joined(page, share_text(text, eval / training));
    page_field(page, "Evaluated");
}

static void say_extent(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    buf_printf(&page->value, "%s steps/s with all between the steps",
               digits_text(text, loop->overall_steps_per_s));
    const char *before = report_has_statistics(loop) ? "; steady " : "; ";
    if (isfinite(loop->samples_per_s.mid)) {
        buf_printf(&page->value, "%s%s samples/s", before,
                   digits_text(text, loop->samples_per_s.mid));
        before = ", ";
    }
    if (isfinite(loop->bytes_per_s.mid))
        buf_printf(&page->value, "%s%s/s of input", before,
                   units_bytes(text, (uint64_t)fmin(loop->bytes_per_s.mid, 1e18)));
    page_field(page, "Over all");
    say_evaluation(report);
    if (loop->steps > 0 && loop->batches > loop->steps + loop->steps / 2) {
        buf_printf(&page->value, "%.3g a step",
                   (double)loop->batches / (double)loop->steps);
        page_field(page, "Batches");
    }
    if (loop->window_steps > 1) {
        buf_printf(&page->value,
                   "steps are timed in windows of up to %" PRId64
                   ": only their ends are sure",
                   loop->window_steps);
        page_field(page, "Windows");
    }
    if (loop->flagged_steps > 0) {
        page_count(page, (uint64_t)loop->flagged_steps, "step", "steps");
        buf_add_text(&page->value,
                     " cut short or disturbed: in the books, in no statistics");
        page_field(page, "Left out");
    }
}

void report_course(struct report *report)
{
    page_line(&report->page);
    if (report_has_statistics(report->loop)) {
        say_warmup(report);
        say_change(report);
        say_spikes(report);
    }
    say_extent(report);
    say_finish(report);
}
