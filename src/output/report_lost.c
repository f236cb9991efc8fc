/* What is missing, what went wrong, and what hangs. */
#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "output/report_parts.h"

enum { NAME_MOST = 40 };

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
        buf_add_text(&report->page.value, "spans overlap by ");
        page_joined(&report->page, units_duration(text, negative_ns));
        buf_add_text(&report->page.value,
                     ": stages were more than their step, taken off the largest");
        say(report, first, "Error");
    }
    if (snapshot->orphan_spans > 0) {
        page_count(&report->page, snapshot->orphan_spans, "span", "spans");
        buf_add_text(&report->page.value, snapshot->orphan_spans == 1
                                              ? " lost what was around it"
                                              : " lost what was around them");
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

/* Up to which a span that is open has lasted: now, or when the process was reaped, or its last sign
 * of life, which may be older than its last record. */
static int64_t last_moment_ns(const struct report_input *input, uint32_t process)
{
    struct timespec now = {0};

    if (ss_run_process(input->run, process)->end == SS_END_LIVE) {
        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    }
    return run_facts_process(input->facts, input->run, process).end_ns;
}

/* A hang has a name: the spans that are open on the loop's thread, and for how long. */
static void say_open(struct report *report)
{
    const struct report_input *input = report->input;
    const enum report_state state = report_state(input);
    struct page *page = &report->page;
    struct ss_record open[SS_STACK_DEPTH];
    char text[UNITS_SIZE];

    if (!report->loop || (state != REPORT_LIVE && state != REPORT_KILLED))
        return;
    const size_t lane = report->loop->lane;
    const uint32_t process = report->loop->process;
    const size_t count = ss_run_open_spans(input->run, lane, open, SS_STACK_DEPTH);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&page->value, i == 0 ? "" : " > ");
        page_text(page, ss_run_name(input->run, process, open[i].name)->text, NAME_MOST);
    }
    const int64_t ns = last_moment_ns(input, process) - open[count - 1].start_ns;
    buf_add_text(&page->value, ", for ");
    page_joined(page, units_duration(text, ns > 0 ? ns : 0));
    page_field(page, "Open");
}

void report_lost(struct report *report)
{
    bool first_loss = true, first_error = true;
    const struct report_losses losses = report_losses(report->input->run);

    page_line(&report->page);
    say_open(report);
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
