/* The first lines: what a reader needs who has five seconds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "output/numbers.h"
#include "output/report_findings.h"
#include "output/report_parts.h"

enum { COMMAND_LEAST = 12 };

/* Half of the width of a share's interval. */
static const double NARROW = 0.03, WIDE = 0.1;

/* Programs are known by their names, wherever they are. */
static struct ss_text without_folder(struct ss_text command)
{
    size_t start = 0;

    for (size_t i = 0; i + 1 < command.size && command.data[i] != ' '; i++)
        if (command.data[i] == '/')
            start = i + 1;
    return (struct ss_text){command.data + start, command.size - start};
}

static void add_steps(struct page *page, const struct snapshot *snapshot)
{
    if (snapshot->loop_count > 0) {
        page_count(page, (uint64_t)snapshot->loops[0].steps, "step", "steps");
        buf_add_text(&page->value, ", ");
    }
}

/* How it ended, as the end of a sentence that begins with the command. */
static void add_end(struct page *page, const struct report_input *input)
{
    const struct run_facts *facts = input->facts;
    const enum report_state state = report_state(input);
    struct buf *out = &page->value;
    const char *after = "";
    char took[UNITS_SIZE];

    add_steps(page, input->snapshot);
    if (state == REPORT_LIVE)
        buf_add_text(out, "running for ");
    else if (facts->ended_ns > 0 && facts->signal > 0)
        buf_printf(out, "killed by signal %d (%s) after ", facts->signal,
                   strsignal(facts->signal));
    else if (facts->ended_ns > 0 && facts->exit_code > 0)
        buf_printf(out, "exited with %d after ", facts->exit_code);
    else if (state == REPORT_KILLED)
        buf_add_text(out, "killed after ");
    else if (state == REPORT_STOPPED || state == REPORT_UNKNOWN)
        buf_add_text(out, "recorded for ");
    else
        buf_add_text(out, "took ");
    if (state == REPORT_STOPPED)
        after = ", then stopped";
    else if (state == REPORT_UNKNOWN)
        after = ", its end is not known";
    page_joined(page, units_duration(took, report_wall_ns(input)));
    buf_add_text(out, after);
    if (report_losses(input->run).places > 0)
        buf_add_text(out, "; DAMAGED");
}

void report_head_run(struct report *report, const char *before)
{
    const struct report_input *input = report->input;
    struct page *page = &report->page;
    struct ss_text command = report_command(input);
    struct buf end = {0};

    add_end(page, input);
    buf_add(&end, buf_text(&page->value), page->value.size);
    buf_reset(&page->value);
    if (command.size == 0)
        command = (struct ss_text){run_facts_name(input->facts),
                                   strlen(run_facts_name(input->facts))};
    const size_t used = strlen(before) + 2 + text_width(buf_text(&end), end.size);
    buf_add_text(&page->value, before);
    page_text(page, without_folder(command),
              page->columns > used + COMMAND_LEAST ? page->columns - used
                                                   : COMMAND_LEAST);
    buf_printf(&page->value, ": %s", buf_text(&end));
    page->value.failed |= end.failed;
    report_paragraph(report, false);
    buf_release(&end);
}

static void add_share_interval(struct page *page, struct interval share)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!isfinite(share.low) || !isfinite(share.high))
        return;
    share_text(low, share.low);
    low[strlen(low) - strlen(" %")] = '\0';
    buf_printf(&page->value, " (%s to ", low);
    page_joined(page, share_text(high, share.high));
    buf_add_text(&page->value, ")");
}

/* The second largest stage, if it could as well be the largest; else REPORT_NO_STAGE. */
static int rival_of(const struct snap_loop *loop, int largest)
{
    const int second = report_second_stage(loop, largest);

    if (second == REPORT_NO_STAGE ||
        loop->stage[second].share.high < loop->stage[largest].share.low)
        return REPORT_NO_STAGE;
    return second;
}

static void add_times(struct page *page, const struct snap_loop *loop, int stage)
{
    const struct scale scale = scale_for(loop->step_ns.mid, loop->step_ns.mid);
    char own[UNITS_SIZE], step[UNITS_SIZE];

    buf_printf(&page->value, ": %s of %s" TEXT_NO_BREAK "%s",
               scale_text(own, loop->stage[stage].mean_ns, scale),
               scale_text(step, loop->step_ns.mid, scale), scale.unit.name);
}

static void add_largest(struct page *page, const struct snap_loop *loop, int stage)
{
    const struct interval share = loop->stage[stage].share;
    char text[UNITS_SIZE];

    if (stage != SS_STAGE_OTHER)
        buf_printf(&page->value, "%s takes ", ss_stage_text((unsigned)stage));
    page_joined(page, share_text(text, share.mid));
    buf_add_text(&page->value,
                 stage == SS_STAGE_OTHER ? " of the step is in no span" : " of the step");
    add_share_interval(page, share);
    add_times(page, loop, stage);
}

static const char *name_of(int stage)
{
    return stage == SS_STAGE_OTHER ? "what is in no span"
                                   : ss_stage_text((unsigned)stage);
}

/* Two that may be the largest: which one is more than the data can tell. */
static void add_either(struct page *page, const struct snap_loop *loop, int stage,
                       int rival)
{
    char text[UNITS_SIZE];

    buf_printf(&page->value, "%s or %s takes most of the step: ", name_of(stage),
               name_of(rival));
    page_joined(page, share_text(text, loop->stage[stage].share.mid));
    add_share_interval(page, loop->stage[stage].share);
    buf_add_text(&page->value, " or ");
    page_joined(page, share_text(text, loop->stage[rival].share.mid));
    add_share_interval(page, loop->stage[rival].share);
}

static void add_need(struct page *page, const struct snap_loop *loop)
{
    const int64_t missing = loop->warmup.missing > 0 ? loop->warmup.missing : 1;
    const uint64_t needed = (uint64_t)(missing * loop->window_steps);
    char text[UNITS_SIZE];

    buf_printf(&page->value, "need %s more %s to tell where the time goes; so far ",
               units_integer(text, needed), needed == 1 ? "step" : "steps");
    buf_add_text(&page->value, units_integer(text, (uint64_t)loop->steps));
    if (loop->flagged_steps > loop->steps / 2)
        buf_printf(&page->value, ", of which %s are in no statistics",
                   units_integer(text, (uint64_t)loop->flagged_steps));
}

/* Where nothing holds it back: what it does. */
static void add_stages(struct page *page, const struct snap_loop *loop)
{
    const int stage = report_largest_stage(loop);
    const int rival = stage == REPORT_NO_STAGE ? REPORT_NO_STAGE : rival_of(loop, stage);

    if (stage == REPORT_NO_STAGE)
        buf_add_text(&page->value, "the steps took no time");
    else if (rival == REPORT_NO_STAGE)
        add_largest(page, loop, stage);
    else
        add_either(page, loop, stage, rival);
}

void report_head_claim(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct page *page = &report->page;
    const size_t before = page->value.size;

    report_say_claim(page, &report->diagnosis);
    const bool is_said = page->value.size > before;
    if (!report_has_statistics(loop)) {
        buf_add_text(&page->value, is_said ? "; " : "");
        add_need(page, loop);
    } else if (!is_said) {
        add_stages(page, loop);
    }
    report_paragraph(report, true);
}

void report_head_answer(struct report *report)
{
    buf_printf(&report->page.value,
               "%s: ", diagnosis_verdict(&report->diagnosis, report->input->snapshot));
    report_head_claim(report);
}

static void add_duration(struct report *report, const char *label, double ns)
{
    char text[UNITS_SIZE];

    buf_add_text(&report->page.value, label);
    page_joined(&report->page, units_duration(text, (int64_t)ns));
}

void report_head_speed(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char text[UNITS_SIZE], range[NUMBERS_RANGE_SIZE];

    if (!report_has_statistics(loop)) {
        buf_printf(out, "%s steps/s so far",
                   digits_text(text, loop->overall_steps_per_s));
        report_paragraph(report, false);
        return;
    }
    const struct snap_quantiles quantiles =
        report_quantiles(loop->quantiles, (uint64_t)loop->steady_steps);
    buf_add_text(out, range_text(range, loop->steps_per_s, "steps/s"));
    add_duration(report, ", median step ", quantiles.p50_ns);
    if (isfinite(quantiles.p95_ns))
        add_duration(report, ", p95 ", quantiles.p95_ns);
    if (isfinite(quantiles.p99_ns))
        add_duration(report, ", p99 ", quantiles.p99_ns);
    report_paragraph(report, false);
}

/* What has the wanted precision once it is rounded needs nothing. */
static bool is_rough(const struct snap_loop *loop)
{
    return loop->more_steps_needed > 0 && !(relative_error(loop->step_ns) < 0.0205);
}

static void add_not_level(struct buf *out, const struct snap_loop *loop)
{
    char text[UNITS_SIZE];

    if (loop->warmup.class == WARMUP_DRIFTING)
        buf_add_text(out, "; NOT LEVEL");
    else if (loop->warmup.class == WARMUP_NO_STEADY_STATE)
        buf_add_text(out, "; CHANGED MIDWAY");
    else if (is_rough(loop))
        buf_printf(out, "; need %s more for 2" TEXT_NO_BREAK "%%",
                   units_integer(text, (uint64_t)loop->more_steps_needed));
}

/* About the claim above it: which stage is the largest, and how large. */
static const char *sureness(const struct snap_loop *loop)
{
    const int stage = report_largest_stage(loop);

    if (stage == REPORT_NO_STAGE)
        return "not sure";
    const struct interval share = loop->stage[stage].share;
    const double half = (share.high - share.low) / 2;
    const bool certain = rival_of(loop, stage) == REPORT_NO_STAGE;
    const bool level = loop->warmup.class != WARMUP_DRIFTING &&
                       loop->warmup.class != WARMUP_NO_STEADY_STATE;
    if (certain && level && half <= NARROW)
        return "sure";
    return (certain && half <= WIDE) || half <= NARROW ? "rather sure" : "not sure";
}

void report_head_sure(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char steady[UNITS_SIZE], precision[UNITS_SIZE];
    const double error = relative_error(loop->step_ns);

    if (!report_has_statistics(loop))
        return;
    buf_printf(out, "%s: %s steady steps", sureness(loop),
               units_integer(steady, (uint64_t)loop->steady_steps));
    if (isfinite(error)) {
        buf_add_text(out, ", mean within ");
        page_joined(&report->page, percent_text(precision, error));
    } else {
        buf_add_text(out, ", too few for an interval");
    }
    add_not_level(out, loop);
    report_paragraph(report, false);
}
