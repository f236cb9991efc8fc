/* What is missing, what went wrong, and what a run without steps needs. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "output/report_parts.h"

enum { TEXT_MOST = 60, HOOK_COLUMNS = 29, COMMAND_MOST = 210 };

static void say(struct report *report, bool *first, const char *label)
{
    page_field(&report->page, *first ? label : "");
    *first = false;
}

static void say_count(struct report *report, bool *first, uint64_t count, const char *one,
                      const char *many, const char *what)
{
    if (count == 0)
        return;
    page_count(&report->page, count, one, many);
    buf_add_text(&report->page.value, what);
    say(report, first, "Lost");
}

static void say_losses(struct report *report, bool *first)
{
    const struct report_losses losses = report_losses(report->input->run);
    struct buf *value = &report->page.value;
    char text[UNITS_SIZE];

    if (losses.recorder_error != 0) {
        buf_printf(value, "the recorder met: %s", ss_error_text(losses.recorder_error));
        say(report, first, "Lost");
    }
    say_count(report, first, losses.dropped, "record", "records",
              " dropped: no room was ready in time");
    say_count(report, first, losses.reused, "record", "records",
              " from the middle given up at the cap or for a full disk");
    say_count(report, first, losses.too_deep, "span", "spans", " nested too deep");
    say_count(report, first, losses.names, "name or calibration", "names or calibrations",
              " found no room");
    say_count(report, first, losses.threads, "thread", "threads", " found no room");
    if (losses.places > 0) {
        page_count(&report->page, losses.places, "place", "places");
        buf_printf(value,
                   " in the files could not be read, %s: 'stepscope info' says where",
                   units_bytes(text, losses.bytes));
        say(report, first, "Lost");
    }
}

/* Books that do not close are an error of ours, not of the run's: never hidden. */
static void say_errors(struct report *report, bool *first)
{
    const struct snapshot *snapshot = report->input->snapshot;
    int64_t negative_ns = snapshot->negative_ns;
    char text[UNITS_SIZE];

    for (size_t i = 0; i < snapshot->loop_count; i++)
        negative_ns += snapshot->loops[i].negative_ns;
    if (negative_ns > 0) {
        buf_printf(&report->page.value,
                   "spans overlap by %s: stages were more than their step, taken off the "
                   "largest",
                   units_duration(text, negative_ns));
        say(report, first, "Error");
    }
    if (snapshot->orphan_spans > 0) {
        page_count(&report->page, snapshot->orphan_spans, "span", "spans");
        buf_add_text(&report->page.value, " lost what was around them");
        say(report, first, "Error");
    }
}

static void say_clocks(struct report *report)
{
    for (size_t i = 0; i < ss_run_processes(report->input->run); i++) {
        if (!ss_run_process(report->input->run, i)->clock_suspect)
            continue;
        buf_printf(&report->page.value,
                   "the clock of process %zu jumped: the machine was suspended or moved; "
                   "do not trust times across that moment",
                   i);
        page_field(&report->page, "Clock");
        return;
    }
}

void report_lost(struct report *report)
{
    bool first_loss = true, first_error = true;
    const struct report_losses losses = report_losses(report->input->run);

    page_line(&report->page);
    if (report_is_whole(&losses)) {
        buf_add_text(&report->page.value, report_state(report->input) == REPORT_LIVE
                                              ? "nothing so far"
                                              : "nothing");
        page_field(&report->page, "Lost");
    }
    say_losses(report, &first_loss);
    say_errors(report, &first_error);
    say_clocks(report);
}

static void say_hook(struct report *report, const struct feed_hook *hook)
{
    struct page *page = &report->page;

    page_text(page, (struct ss_text){hook->target.data, hook->target.size}, HOOK_COLUMNS);
    buf_add_text(&page->value, hook->skipped ? ": skipped, " : ": installed");
    page_text(page, (struct ss_text){hook->reason.data, hook->reason.size}, HOOK_COLUMNS);
    page_field(page, "");
}

/* What was looked for: first what was not found. */
static void say_hooks(struct report *report, size_t most)
{
    const struct feed_hooks *hooks = report->input->hooks;
    struct page *page = &report->page;
    size_t said = 0;

    if (!hooks || hooks->count == 0) {
        buf_add_text(&page->value, "none: no framework was looked for");
        page_field(page, "Hooks");
        return;
    }
    buf_printf(&page->value, "%" PRIu64 " installed, %" PRIu64 " skipped",
               hooks->installed, hooks->skipped);
    page_field(page, "Hooks");
    for (int skipped = 1; skipped >= 0; skipped--)
        for (size_t i = 0; i < hooks->count && said < most; i++)
            if (hooks->hook[i].skipped == (skipped == 1)) {
                say_hook(report, &hooks->hook[i]);
                said++;
            }
    if (hooks->count > said) {
        buf_add_text(&page->value, "and more: 'stepscope report' lists them");
        page_field(page, "");
    }
}

void report_no_steps(struct report *report, size_t most_hooks)
{
    buf_add_text(&report->page.value, "no training steps were seen in this run");
    report_paragraph(report, true);
    say_hooks(report, most_hooks);
    buf_add_text(&report->page.value,
                 "call ss_step() at the start of each step, or record data, forward, "
                 "backward and the optimizer's update as spans of these stages");
    page_field(&report->page, "To do");
}

static void say_recorded(struct report *report)
{
    const struct ss_run *run = report->input->run;
    int64_t start_ns = 0;
    char text[64];
    struct tm parts;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const int64_t own = ss_run_process(run, i)->start_realtime_ns;
        start_ns = start_ns == 0 || (own > 0 && own < start_ns) ? own : start_ns;
    }
    time_t seconds = (time_t)(start_ns / 1000000000);
    if (start_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return;
    buf_add_text(&report->page.value, text);
    const struct ss_text host = report_info(report->input, "host");
    if (host.size > 0) {
        buf_add_text(&report->page.value, " on ");
        page_text(&report->page, host, TEXT_MOST);
    }
    page_field(&report->page, "Recorded");
}

/* What the supervisor was told by the kernel when the command had ended. */
static void say_usage(struct report *report)
{
    const struct run_facts *facts = report->input->facts;
    const int64_t cpu_ns = facts->user_ns + facts->system_ns;
    const int64_t wall_ns = facts->ended_ns - facts->started_ns;
    char text[UNITS_SIZE];

    if (facts->ended_ns == 0 || wall_ns <= 0 || facts->max_rss_bytes <= 0)
        return;
    buf_printf(&report->page.value, "%.2f cores on average; largest process ",
               (double)cpu_ns / (double)wall_ns);
    page_joined(&report->page, units_bytes(text, (uint64_t)facts->max_rss_bytes));
    page_field(&report->page, "Used");
}

void report_facts(struct report *report)
{
    const struct report_input *input = report->input;
    const struct ss_text command = report_command(input);
    struct page *page = &report->page;

    page_text(page, (struct ss_text){input->facts->path, strlen(input->facts->path)},
              COMMAND_MOST);
    page_field(page, "Run");
    if (command.size > 0) {
        page_text(page, command, COMMAND_MOST);
        page_field(page, "Command");
    }
    say_recorded(report);
    page_count(page, ss_run_processes(input->run), "process", "processes");
    buf_add_text(&page->value, ", ");
    page_count(page, input->snapshot->spans_seen, "span", "spans");
    if (report->loop) {
        buf_printf(&page->value, ", steps counted by %s",
                   model_source_text(report->loop->source));
    }
    page_field(page, "Holds");
    say_usage(report);
}
