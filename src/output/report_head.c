/* The first lines: what a reader needs who has five seconds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "output/numbers.h"
#include "output/report_parts.h"

/* Programs are known by their names, wherever they are. */
static struct ss_text without_folder(struct ss_text command)
{
    size_t start = 0;

    for (size_t i = 0; i + 1 < command.size && command.data[i] != ' '; i++)
        if (command.data[i] == '/')
            start = i + 1;
    return (struct ss_text){command.data + start, command.size - start};
}

static void add_steps(struct buf *out, const struct snapshot *snapshot)
{
    char count[UNITS_SIZE];

    if (snapshot->loop_count > 0)
        buf_printf(out, "%s %s, ",
                   units_integer(count, (uint64_t)snapshot->loops[0].steps),
                   snapshot->loops[0].steps == 1 ? "step" : "steps");
}

/* How it ended, as the end of a sentence that begins with the command. */
static void add_end(struct buf *out, const struct report_input *input)
{
    const struct run_facts *facts = input->facts;
    const enum report_state state = report_state(input);
    char took[UNITS_SIZE];

    units_duration(took, report_wall_ns(input));
    add_steps(out, input->snapshot);
    if (state == REPORT_LIVE)
        buf_printf(out, "running for %s", took);
    else if (facts->ended_ns > 0 && facts->signal > 0)
        buf_printf(out, "killed by signal %d (%s) after %s", facts->signal,
                   strsignal(facts->signal), took);
    else if (facts->ended_ns > 0 && facts->exit_code > 0)
        buf_printf(out, "exited with %d after %s", facts->exit_code, took);
    else if (state == REPORT_KILLED)
        buf_printf(out, "killed after %s", took);
    else if (state == REPORT_STOPPED)
        buf_printf(out, "recorded for %s, then stopped", took);
    else if (state == REPORT_UNKNOWN)
        buf_printf(out, "recorded for %s, its end is not known", took);
    else
        buf_printf(out, "took %s", took);
}

void report_head_run(struct report *report, const char *before)
{
    const struct report_input *input = report->input;
    const struct report_losses losses = report_losses(input->run);
    struct ss_text command = report_command(input);
    struct buf end = {0};

    add_end(&end, input);
    if (losses.places > 0)
        buf_add_text(&end, "; DAMAGED");
    if (command.size == 0)
        command = (struct ss_text){run_facts_name(input->facts),
                                   strlen(run_facts_name(input->facts))};
    const size_t used = strlen(before) + 2 + text_width(buf_text(&end), end.size);
    const size_t columns = report->page.columns;
    buf_add_text(&report->page.value, before);
    page_text(&report->page, without_folder(command),
              columns > used + 8 ? columns - used : 8);
    buf_printf(&report->page.value, ": %s", buf_text(&end));
    page_line(&report->page);
    buf_release(&end);
}

static void add_share_interval(struct buf *out, struct interval share)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!isfinite(share.low) || !isfinite(share.high))
        return;
    share_text(low, share.low);
    low[strlen(low) - strlen(" %")] = '\0';
    buf_printf(out, " (%s to %s)", low, share_text(high, share.high));
}

static void add_largest(struct buf *out, const struct snap_loop *loop, int stage)
{
    const struct snap_stage *found = &loop->stage[stage];
    const struct scale scale = scale_for(loop->step_ns.mid, loop->step_ns.mid);
    char share[UNITS_SIZE], own[UNITS_SIZE], step[UNITS_SIZE];

    share_text(share, found->share.mid);
    if (stage == SS_STAGE_OTHER)
        buf_printf(out, "%s of the step is in no span", share);
    else
        buf_printf(out, "%s takes %s of the step", ss_stage_text((unsigned)stage), share);
    add_share_interval(out, found->share);
    buf_printf(out, ": %s of %s %s", scale_text(own, found->mean_ns, scale),
               scale_text(step, loop->step_ns.mid, scale), scale.unit.name);
}

void report_head_answer(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char count[UNITS_SIZE], missing[UNITS_SIZE];

    if (!report_has_statistics(loop)) {
        const int64_t needed = loop->warmup.missing > 0 ? loop->warmup.missing : 1;
        buf_printf(out, "need %s more steps to tell where the time goes; so far %s",
                   units_integer(missing, (uint64_t)(needed * loop->window_steps)),
                   units_integer(count, (uint64_t)loop->steps));
    } else {
        const int stage = report_largest_stage(loop);
        if (stage == REPORT_NO_STAGE)
            buf_add_text(out, "the steps took no time");
        else
            add_largest(out, loop, stage);
    }
    report_paragraph(report, true);
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
    buf_add_text(out, range_text(range, loop->steps_per_s, "steps/s"));
    add_duration(report, ", median step ", loop->quantiles.p50_ns);
    add_duration(report, ", p95 ", loop->quantiles.p95_ns);
    add_duration(report, ", p99 ", loop->quantiles.p99_ns);
    report_paragraph(report, false);
}

static void add_not_level(struct buf *out, const struct snap_loop *loop)
{
    char text[UNITS_SIZE];

    if (loop->warmup.class == WARMUP_DRIFTING)
        buf_add_text(out, "; NOT LEVEL");
    else if (loop->warmup.class == WARMUP_NO_STEADY_STATE)
        buf_add_text(out, "; CHANGED MIDWAY");
    else if (loop->more_steps_needed > 0)
        buf_printf(out, "; need %s more for 2" TEXT_NO_BREAK "%%",
                   units_integer(text, (uint64_t)loop->more_steps_needed));
}

static const char *sureness(const struct snap_loop *loop)
{
    const double error = relative_error(loop->step_ns);

    if (loop->warmup.class == WARMUP_DRIFTING ||
        loop->warmup.class == WARMUP_NO_STEADY_STATE || error > 0.1)
        return "not sure";
    return error > 0.02 ? "rather sure" : "sure";
}

void report_head_sure(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char steady[UNITS_SIZE];
    const double error = relative_error(loop->step_ns);

    if (!report_has_statistics(loop))
        return;
    buf_printf(out, "%s: %s steady steps", sureness(loop),
               units_integer(steady, (uint64_t)loop->steady_steps));
    if (isfinite(error))
        buf_printf(out, ", mean within %.2g" TEXT_NO_BREAK "%%", 100 * error);
    else
        buf_add_text(out, ", too few for an interval");
    add_not_level(out, loop);
    report_paragraph(report, false);
}
