/* The first lines: what a reader needs who has five seconds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/numbers.h"
#include "render/units.h"
#include "report/report_parts.h"

enum { COMMAND_LEAST = 12 };

/* How well the mean of a step is known, in words. What is 2 % once it is rounded is. How
 * many more steps would make it 2 % is said below this multiple of those that were seen (ours). */
static const double known_high = 0.0205, known_good = 0.05, known_fair = 0.1, more_most = 10;

/* Programs are known by their names, wherever they are: the text without the folder of its first
 * word. */
static struct ss_text without_folder(struct ss_text command)
{
    size_t start = 0;

    for (size_t i = 0; i + 1 < command.size && command.data[i] != ' '; i++)
        if (command.data[i] == '/')
            start = i + 1;
    return (struct ss_text){command.data + start, command.size - start};
}

/* What a user calls the command: "python train.py --epochs 3", or "notebook". */
static void add_command(struct buf *out, struct ss_text command)
{
    static const char python[] = "python", kernel[] = "-m ipykernel";
    size_t word = 0;

    command = without_folder(command);
    if (command.size > strlen(python) && memcmp(command.data, python, strlen(python)) == 0) {
        while (word < command.size && command.data[word] != ' ')
            word++;
        word += word < command.size;
    }
    const struct ss_text rest = {command.data + word, command.size - word};
    if (word > 0 && rest.size >= strlen(kernel) && memcmp(rest.data, kernel, strlen(kernel)) == 0) {
        buf_add_text(out, "notebook");
        return;
    }
    const bool is_script = word > 0 && rest.size > 0 && !strchr("-'\"", rest.data[0]);
    const struct ss_text shown = is_script ? without_folder(rest) : rest;
    buf_add(out, command.data, word);
    buf_add(out, shown.data, shown.size);
}

static void add_steps(struct page *page, const struct snapshot *snapshot)
{
    if (snapshot->loop_count > 0) {
        page_count(page, (uint64_t)snapshot->loops[0].steps, "step", "steps");
        buf_add_text(&page->value, ", ");
    }
}

/* How it ended, as the end of a sentence that begins with the command. */
static void add_end(struct page *page, const struct analysis *analysis)
{
    const struct run_facts *facts = analysis->facts;
    const enum report_state state = report_state(analysis);
    struct buf *out = &page->value;
    const char *after = "";
    char took[UNITS_SIZE];

    add_steps(page, analysis->snapshot);
    units_duration(took, report_wall_ns(analysis));
    if (state == REPORT_STOPPED)
        after = ", then stopped";
    else if (state == REPORT_UNKNOWN)
        after = ", how it ended is unknown";
    if (state == REPORT_LIVE)
        buf_printf(out, "running for %s", took);
    else if (facts->ended_ns > 0 && facts->signal > 0)
        buf_printf(out, "killed by signal %d (%s) after %s%s", facts->signal,
                   strsignal(facts->signal), took, after);
    else if (facts->ended_ns > 0 && facts->exit_code > 0)
        buf_printf(out, "exited with %d after %s%s", facts->exit_code, took, after);
    else if (state == REPORT_KILLED)
        buf_printf(out, "killed after %s", took);
    else if (state == REPORT_STOPPED || state == REPORT_UNKNOWN)
        buf_printf(out, "recorded for %s%s", took, after);
    else
        buf_printf(out, "took %s", took);
    if (report_losses(analysis->run).places > 0)
        buf_add_text(out, "; DAMAGED");
}

void report_head_run(struct report *report, const char *before)
{
    const struct analysis *analysis = report->analysis;
    struct page *page = &report->page;
    struct ss_text command = report_command(analysis);
    struct buf end = {0}, name = {0};

    add_end(page, analysis);
    buf_add(&end, buf_text(&page->value), page->value.size);
    buf_reset(&page->value);
    if (command.size == 0)
        command = (struct ss_text){run_facts_name(analysis->facts),
                                   strlen(run_facts_name(analysis->facts))};
    const size_t used = strlen(before) + 2 + text_width(buf_text(&end), end.size);
    buf_add_text(&page->value, before);
    add_command(&name, command);
    page_text(page, (struct ss_text){buf_text(&name), name.size},
              page->columns > used + COMMAND_LEAST ? page->columns - used : COMMAND_LEAST);
    buf_printf(&page->value, ": %s", buf_text(&end));
    page->value.failed |= end.failed || name.failed;
    report_paragraph(report, false);
    buf_release(&name);
    buf_release(&end);
}

static void add_share_interval(struct page *page, struct interval share)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!isfinite(share.low) || !isfinite(share.high))
        return;
    share_text(low, share.low);
    low[strlen(low) - strlen(" %")] = '\0';
    buf_printf(&page->value, " (%s to %s)", low, share_text(high, share.high));
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
    char text[NUMBERS_PART_SIZE];

    buf_printf(&page->value, ": %s",
               part_text(text, loop->stage[stage].mean_ns, loop->step_ns.mid));
}

static void add_largest(struct page *page, const struct snap_loop *loop, int stage)
{
    const struct interval share = loop->stage[stage].share;
    char text[UNITS_SIZE];

    share_text(text, share.mid);
    if (stage == SS_STAGE_OTHER)
        buf_printf(&page->value, "%s of the step is outside any span", text);
    else
        buf_printf(&page->value, "%s takes %s of the step", ss_stage_text((unsigned)stage), text);
    add_share_interval(page, share);
    add_times(page, loop, stage);
}

static const char *name_of(int stage)
{
    return stage == SS_STAGE_OTHER ? "time outside any span" : ss_stage_text((unsigned)stage);
}

/* Two that may be the largest: which one is more than the data can tell. */
static void add_either(struct page *page, const struct snap_loop *loop, int stage, int rival)
{
    char text[UNITS_SIZE];

    buf_printf(&page->value, "%s or %s takes most of the step: %s", name_of(stage), name_of(rival),
               share_text(text, loop->stage[stage].share.mid));
    add_share_interval(page, loop->stage[stage].share);
    buf_printf(&page->value, " or %s", share_text(text, loop->stage[rival].share.mid));
    add_share_interval(page, loop->stage[rival].share);
}

static void add_need(struct page *page, const struct snap_loop *loop)
{
    const int64_t missing = loop->warmup.missing > 0 ? loop->warmup.missing : 1;
    const uint64_t needed = (uint64_t)(missing * loop->window_steps);
    char text[UNITS_SIZE], seen[UNITS_SIZE];

    if (snapshot_waits_seldom(loop)) {
        const int stage = report_largest_stage(loop);
        if (stage != REPORT_NO_STAGE)
            buf_printf(&page->value, "%s takes %s of the host's time; ", name_of(stage),
                       share_text(text, loop->stage[stage].share.mid));
        buf_printf(
            &page->value,
            "of %s steps, which finish asynchronously, too few were waited for to know that well",
            units_integer(seen, (uint64_t)loop->steps));
        return;
    }
    buf_printf(&page->value, "%s more %s needed to see where the time goes; %s so far",
               units_integer(text, needed), needed == 1 ? "step" : "steps",
               units_integer(seen, (uint64_t)loop->steps));
    if (loop->flagged_steps > loop->steps / 2)
        buf_printf(&page->value, ", of which %s %s excluded from statistics",
                   units_integer(text, (uint64_t)loop->flagged_steps),
                   loop->flagged_steps == 1 ? "is" : "are");
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

    report_say_claim(page, &report->analysis->diagnosis);
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
    buf_printf(&report->page.value, "%s: ", analysis_verdict(report->analysis));
    report_head_claim(report);
}

void report_head_speed(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char text[UNITS_SIZE], range[NUMBERS_RANGE_SIZE];

    if (!report_has_statistics(loop)) {
        buf_printf(out, "%s steps/s so far", digits_text(text, loop->overall_steps_per_s));
        report_paragraph(report, false);
        return;
    }
    const struct snap_quantiles quantiles =
        report_quantiles(loop->quantiles, (uint64_t)loop->steady_steps);
    buf_printf(out, "%s, median step %s", range_text(range, loop->steps_per_s, "steps/s"),
               units_duration(text, (int64_t)quantiles.p50_ns));
    if (isfinite(quantiles.p95_ns))
        buf_printf(out, ", p95 %s", units_duration(text, (int64_t)quantiles.p95_ns));
    if (isfinite(quantiles.p99_ns))
        buf_printf(out, ", p99 %s", units_duration(text, (int64_t)quantiles.p99_ns));
    report_paragraph(report, false);
}

static bool is_level(const struct snap_loop *loop)
{
    return loop->warmup.class != WARMUP_DRIFTING && loop->warmup.class != WARMUP_NO_STEADY_STATE;
}

/* Whether more steps would make the mean precise, and not too many to be worth a word. */
static bool needs_more(const struct snap_loop *loop)
{
    return loop->more_steps_needed > 0 && !(relative_error(loop->step_ns) < known_high) &&
           (double)loop->more_steps_needed < more_most * (double)loop->steady_steps;
}

static void add_more(struct buf *out, const struct snap_loop *loop)
{
    char text[UNITS_SIZE];

    if (is_level(loop) && needs_more(loop))
        buf_printf(out, "; %s more steps would give +-2 %%",
                   units_integer(text, (uint64_t)loop->more_steps_needed));
}

/* Why the confidence is low though the interval may be narrow; "": the interval says it. */
static const char *why_low(const struct snap_loop *loop)
{
    return loop->warmup.class == WARMUP_DRIFTING          ? ", as steps keep drifting"
           : loop->warmup.class == WARMUP_NO_STEADY_STATE ? ", as step time changed midway"
                                                          : "";
}

/* How well the mean of a step is known; of steps that are not level there is no such mean. */
static const char *confidence(const struct snap_loop *loop)
{
    const double error = relative_error(loop->step_ns);

    if (!is_level(loop))
        return "low";
    return error < known_high    ? "high"
           : error <= known_good ? "good"
           : error <= known_fair ? "fair"
                                 : "low";
}

void report_head_sure(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *out = &report->page.value;
    char steady[UNITS_SIZE], precision[UNITS_SIZE];
    const double error = relative_error(loop->step_ns);

    if (!report_has_statistics(loop))
        return;
    buf_printf(out, "confidence %s%s: %s steady steps", confidence(loop), why_low(loop),
               units_integer(steady, (uint64_t)loop->steady_steps));
    if (isfinite(error))
        buf_printf(out, ", mean +-%s", percent_text(precision, error));
    else
        buf_add_text(out, ", too few for an interval");
    add_more(out, loop);
    report_paragraph(report, false);
}
