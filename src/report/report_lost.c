/* What is missing in a run, and why. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/text.h"
#include "render/units.h"
#include "report/report_parts.h"

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
    const struct report_losses losses = report_losses(report->analysis->run);
    struct buf *value = &report->page.value;
    char text[UNITS_SIZE];

    if (losses.recorder_error != 0) {
        buf_printf(value, "recorder error: %s", ss_error_text(losses.recorder_error));
        say(report, first, "Lost");
    }
    say_count(report, first, losses.dropped, "record", "records", " dropped: the buffer was full");
    say_count(report, first, losses.reused, "record", "records",
              " discarded from the middle (size cap or full disk)");
    say_count(report, first, losses.too_deep, "span", "spans", " nested too deep");
    say_count(report, first, losses.names, "name or calibration", "names or calibrations",
              " did not fit");
    say_count(report, first, losses.threads, "thread", "threads", " did not fit");
    if (losses.folded_processes > 0) {
        page_count(&report->page, losses.folded_processes, "process", "processes");
        buf_add_text(value, " that had ended summarised to keep the run within its disk budget: ");
        page_count(&report->page, losses.folded_records, "record", "records");
        say(report, first, "Lost");
    }
    if (losses.places > 0) {
        page_count(&report->page, losses.places, "place", "places");
        buf_printf(value, " in the files could not be read, %s: 'stepscope info' shows where",
                   units_bytes(text, losses.bytes));
        say(report, first, "Lost");
    }
}

/* Books that do not close are an error of ours, not of the run's: never hidden. */
static void say_errors(struct report *report, bool *first)
{
    const struct snapshot *snapshot = report->analysis->snapshot;
    int64_t negative_ns = snapshot->negative_ns;
    char text[UNITS_SIZE];

    for (size_t i = 0; i < snapshot->loop_count; i++)
        negative_ns += snapshot->loops[i].negative_ns;
    if (negative_ns > 0) {
        buf_printf(&report->page.value,
                   "spans overlap by %s; the excess was subtracted from the largest stage",
                   units_duration(text, negative_ns));
        say(report, first, "Error");
    }
    if (snapshot->orphan_spans > 0) {
        page_count(&report->page, snapshot->orphan_spans, "span", "spans");
        buf_add_text(&report->page.value, snapshot->orphan_spans == 1
                                              ? " lost its enclosing span"
                                              : " lost their enclosing spans");
        say(report, first, "Error");
    }
}

static void say_clocks(struct report *report)
{
    for (size_t i = 0; i < ss_run_processes(report->analysis->run); i++) {
        if (!ss_run_process(report->analysis->run, i)->clock_suspect)
            continue;
        buf_printf(
            &report->page.value,
            "the clock of process %zu jumped: the machine was suspended or migrated; do not trust times across that moment",
            i);
        page_field(&report->page, "Clock");
        return;
    }
}

/* Up to which a span that is open has lasted: now, or when the process was reaped, or its last sign
 * of life, which may be older than its last record. */
static int64_t last_moment_ns(const struct analysis *analysis, uint32_t process)
{
    struct timespec now = {0};

    if (ss_run_process(analysis->run, process)->end == SS_END_LIVE) {
        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    }
    return run_facts_process(analysis->facts, analysis->run, process).end_ns;
}

/* A hang has a name: the spans that are open on the loop thread, and for how long. */
static void say_open(struct report *report)
{
    const struct analysis *analysis = report->analysis;
    const enum report_state state = report_state(analysis);
    struct page *page = &report->page;
    struct ss_record open[SS_STACK_DEPTH];
    char text[UNITS_SIZE];

    if (!report->loop || (state != REPORT_LIVE && state != REPORT_KILLED))
        return;
    const size_t lane = report->loop->lane;
    const uint32_t process = report->loop->process;
    const size_t count = ss_run_open_spans(analysis->run, lane, open, SS_STACK_DEPTH);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&page->value, i == 0 ? "" : " > ");
        page_text(page, ss_run_name(analysis->run, process, open[i].name)->text, NAME_MOST);
    }
    const int64_t ns = last_moment_ns(analysis, process) - open[count - 1].start_ns;
    buf_printf(&page->value, ", for %s", units_duration(text, ns > 0 ? ns : 0));
    page_field(page, "Open");
}

void report_lost(struct report *report)
{
    bool first_loss = true, first_error = true;
    const struct report_losses losses = report_losses(report->analysis->run);

    page_line(&report->page);
    say_open(report);
    if (report_is_whole(&losses)) {
        buf_add_text(&report->page.value,
                     report_state(report->analysis) == REPORT_LIVE ? "nothing so far" : "nothing");
        page_field(&report->page, "Lost");
    }
    say_losses(report, &first_loss);
    say_errors(report, &first_error);
    say_clocks(report);
}

enum { SUMMARY_BYTES = 8192, LINES_MOST = 20 };

static void read_summary(const struct run_facts *facts, struct buf *out)
{
    struct buf path = {0};

    buf_printf(&path, "%s/%s", facts->path, RUN_SUMMARY_FILE);
    if (!path.failed)
        (void)small_file_read(path.data, SUMMARY_BYTES,
                              out); /* the report itself is whole without */
    buf_release(&path);
}

bool report_gave_up(const struct analysis *analysis)
{
    const struct report_losses losses = report_losses(analysis->run);

    return losses.reused > 0 || losses.folded_processes > 0;
}

void report_whole(struct report *report)
{
    struct buf text = {0};

    if (report_gave_up(report->analysis))
        read_summary(report->analysis->facts, &text);
    const char *line = text.data;
    size_t left = text.size;
    if (left > 0)
        report_title(report, "The whole run, as summarised when it ended");
    for (int i = 0; i < LINES_MOST && left > 0; i++) {
        const char *end = memchr(line, '\n', left);
        const size_t size = end ? (size_t)(end - line) : left;
        page_text(&report->page, (struct ss_text){line, size}, report->page.columns);
        page_line(&report->page);
        left -= end ? size + 1 : size;
        line += size + 1;
    }
    if (text.size > 0)
        report_title(report, "The part that is kept");
    buf_release(&text);
}
