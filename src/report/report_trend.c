/* How the run went over time: warm-up, changes, spikes, and when it will be done. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "render/numbers.h"
#include "report/report_parts.h"

static const char *duration(char out[UNITS_SIZE], double ns)
{
    return units_duration(out, ns < 9e18 ? (int64_t)ns : INT64_MAX);
}

static void say_warmup(struct report *report)
{
    static const char *const level[] = {
        [WARMUP_FLAT] = "none: steady from the first step on",
        [WARMUP_SLOWER_FIRST] = "none",
        [WARMUP_FASTER_FIRST] = "none: the first steps were faster than the rest",
        [WARMUP_DRIFTING] = "none found: step time keeps drifting in the second half of the run",
        [WARMUP_NO_STEADY_STATE] = "none found: the two halves of the run differ",
    };
    const struct snap_loop *loop = report->loop;
    struct buf *value = &report->page.value;
    const bool is_one = loop->warmup_steps == 1;
    char steps[UNITS_SIZE], took[UNITS_SIZE], cost[UNITS_SIZE];

    units_integer(steps, (uint64_t)loop->warmup_steps);
    duration(took, (double)loop->warmup_ns);
    if (loop->warmup_steps == 0)
        buf_add_text(value, level[loop->warmup.class]);
    else if (is_one)
        buf_printf(value, "the first step took %s", took);
    else
        buf_printf(value, "the first %s steps took %s", steps, took);
    if (loop->warmup_steps > 0 && loop->warmup.cost_ns > 0)
        buf_printf(value,
                   is_one ? ", %s more than a steady one" : ", %s more than as many steady ones",
                   duration(cost, loop->warmup.cost_ns));
    page_field(&report->page, "Warm-up");
}

static void add_shift(struct report *report, size_t number)
{
    const struct change_shift *shift = &report->loop->change.shifts[number];
    struct page *page = &report->page;
    char step[UNITS_SIZE], after[UNITS_SIZE], before[UNITS_SIZE], longer[UNITS_SIZE];

    buf_printf(&page->value, "from step %s on, the median is %s instead of %s (%s)",
               units_integer(step, (uint64_t)report->loop->shift_step[number]),
               duration(after, shift->after), duration(before, shift->before),
               units_longer(longer, shift->after / shift->before));
    page_field(page, number == 0 ? "Trend" : "");
}

/* No trend and no shift; the warm-up may have found the run uneven all the same. */
static const char *unchanged(const struct snap_loop *loop)
{
    switch (loop->warmup.class) {
    case WARMUP_DRIFTING:
        return "step time drifts, but with no trend or shift beyond noise";
    case WARMUP_NO_STEADY_STATE:
        return "step time changed midway, but with no trend or shift beyond noise";
    default:
        return "no change beyond noise";
    }
}

static void say_change(struct report *report)
{
    const struct change *change = &report->loop->change;
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    for (size_t i = 0; change->kind == CHANGE_SHIFT && i < change->shift_count; i++)
        add_shift(report, i);
    if (change->kind == CHANGE_DRIFT) {
        buf_printf(&page->value, "steps become %s: %s from first to last",
                   change->trend > 0 ? "slower" : "faster",
                   units_longer(text, 1 + diagnosis_trend(report->loop)));
        page_field(page, "Trend");
    } else if (change->kind == CHANGE_NONE) {
        buf_add_text(&page->value, unchanged(report->loop));
        page_field(page, "Trend");
    }
}

void report_add_spike_tax(struct buf *out, const struct snap_loop *loop)
{
    const double tax = loop->spike_tax;

    if (tax >= 1)
        buf_printf(out, "slow steps make the mean %.1fx the median", 1 + tax);
    else
        buf_printf(out, "slow steps lift the mean %.1f %% above the median", 100 * tax);
}

static void say_spikes(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;

    for (int i = 0; i < loop->periods; i++) {
        const struct period *period = &loop->period[i];
        buf_printf(&page->value, "one in every %" PRId64 " steps takes longer: %zu of %zu times",
                   period->steps, period->hits, period->places);
        page_field(page, i == 0 ? "Spikes" : "");
    }
    if (loop->spike_tax >= 0.01) {
        report_add_spike_tax(&page->value, loop);
        page_field(page, loop->periods == 0 ? "Spikes" : "");
    }
}

static void say_finish(struct report *report)
{
    const struct interval left = report->loop->left_ns;
    struct page *page = &report->page;
    char mid[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    if (report_state(report->analysis) == REPORT_LIVE && isfinite(left.mid)) {
        buf_printf(&page->value, "in %s", duration(mid, left.mid));
        if (isfinite(left.low) && isfinite(left.high))
            buf_printf(&page->value, " (%s to %s)", duration(low, left.low),
                       duration(high, left.high));
    } else if (report_state(report->analysis) == REPORT_LIVE && report->analysis->deadline_ns) {
        buf_add_text(&page->value,
                     "unknown: the total number of steps was not given (stepscope.plan())");
    }
    if (report->analysis->deadline_ns > 0) {
        buf_add_text(&page->value, page->value.size > 0 ? "; " : "");
        report_say_deadline(page, report->analysis);
    }
    if (page->value.size > 0)
        page_field(page, "Finish");
}

static void say_evaluation(struct report *report)
{
    const int64_t *segment_ns = report->loop->segment_ns;
    const double eval = (double)segment_ns[SEGMENT_EVAL_NS];
    const double training = (double)(segment_ns[SEGMENT_WARMUP_NS] + segment_ns[SEGMENT_STEADY_NS]);
    struct page *page = &report->page;
    char took[UNITS_SIZE], steps[UNITS_SIZE], share[UNITS_SIZE];

    if (eval <= 0 || training <= 0)
        return;
    buf_printf(&page->value, "%s vs %s of training steps: %s", duration(took, eval),
               duration(steps, training), share_text(share, eval / training));
    page_field(page, "Eval");
}

static void say_extent(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    buf_printf(&page->value, "%s steps/s including pauses between steps",
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
    page_field(page, "Overall");
    say_evaluation(report);
    if (loop->steps > 0 && loop->batches > loop->steps + loop->steps / 2) {
        buf_printf(&page->value, "%.3g per step", (double)loop->batches / (double)loop->steps);
        page_field(page, "Batches");
    }
    if (loop->window_steps > 1) {
        buf_printf(&page->value,
                   "steps finish asynchronously and are timed in groups of up to %" PRId64,
                   loop->window_steps);
        page_field(page, "Windows");
    }
    if (loop->flagged_steps > 0) {
        page_count(page, (uint64_t)loop->flagged_steps, "step", "steps");
        buf_add_text(&page->value,
                     " interrupted or disturbed: counted in the totals, excluded from statistics");
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
