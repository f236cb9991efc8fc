/* What is missing from a run, and what hangs in it. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "read/fold.h"
#include "render/units.h"
#include "report/info.h"

enum { MOST_LINES = 10, NAME_COLUMNS = 40 };

/* The label stands on the first line only. */
static void lost_line(struct page *page, bool *first)
{
    page_field(page, *first ? "Lost" : "");
    *first = false;
}

static void add_stages(struct page *page, const uint64_t *counts)
{
    const char *between = " (spans by stage: ";
    char text[UNITS_SIZE];

    for (unsigned i = 0; i < SS_STAGE_COUNT; i++) {
        if (counts[i] == 0)
            continue;
        buf_add_text(&page->value, between);
        page_joined(page, "%s %s", ss_stage_text(i), units_integer(text, counts[i]));
        between = ", ";
    }
    if (between[0] == ',')
        buf_add_text(&page->value, ")");
}

static void say_recorder_errors(struct page *page, const struct tally *tally, bool *first)
{
    size_t lines = 0;

    for (size_t i = 0; i < ss_run_processes(tally->run) && lines < MOST_LINES; i++) {
        const struct ss_process *process = ss_run_process(tally->run, i);
        if (process->recorder_error == 0)
            continue;
        buf_printf(&page->value, "recorder error in process %zu (pid %" PRIu32 "): %s", i,
                   process->pid, ss_error_text(process->recorder_error));
        lost_line(page, first);
        lines++;
    }
}

static void say_dropped(struct page *page, const struct tally *tally, bool *first)
{
    if (tally->sum.dropped > 0) {
        page_count(page, tally->sum.dropped, "record", "records");
        buf_add_text(&page->value, " dropped: the buffer was full");
        add_stages(page, tally->dropped_by_stage);
        lost_line(page, first);
    }
    if (tally->reused > 0) {
        page_count(page, tally->reused, "record", "records");
        buf_add_text(&page->value, " discarded from the middle (size cap or full disk)");
        add_stages(page, tally->reused_by_stage);
        lost_line(page, first);
    }
}

static void say_rare(struct page *page, const struct tally *tally, bool *first)
{
    if (tally->sum.too_deep > 0) {
        page_count(page, tally->sum.too_deep, "span", "spans");
        buf_printf(&page->value, " nested deeper than %d", SS_STACK_DEPTH - 1);
        lost_line(page, first);
    }
    if (tally->lost_names > 0) {
        page_count(page, tally->lost_names, "name or calibration", "names or calibrations");
        buf_add_text(&page->value, " did not fit");
        lost_line(page, first);
    }
    if (tally->lost_threads > 0) {
        page_count(page, tally->lost_threads, "thread", "threads");
        buf_add_text(&page->value, " did not fit: what they did is not in the run");
        lost_line(page, first);
    }
}

static void say_folded(struct page *page, const struct run_folded *folded, bool *first)
{
    char text[UNITS_SIZE];

    if (folded->processes == 0)
        return;
    page_count(page, folded->processes, "process", "processes");
    buf_add_text(&page->value,
                 " that had ended summarised to keep the run within its disk budget: ");
    page_count(page, folded->records, "record", "records");
    buf_printf(&page->value, ", %s", units_bytes(text, folded->bytes));
    lost_line(page, first);
}

static void say_unread(struct page *page, const struct ss_run *run, bool *first)
{
    static const char *const words[] = {
        [SS_LOSS_TRUNCATED] = "the file is truncated",
        [SS_LOSS_HEADER] = "invalid header",
        [SS_LOSS_RECORDS] = "invalid record",
        [SS_LOSS_ORDER] = "a segment is out of order",
        [SS_LOSS_FILE] = "cannot be opened, or was written by a newer version",
        [SS_LOSS_CHANGED] = "overwritten while being read",
    };
    size_t losses = ss_run_losses(run);

    for (size_t i = 0; i < losses && i < MOST_LINES; i++) {
        const struct ss_loss *loss = ss_run_loss(run, i);
        page_text(page, (struct ss_text){loss->file, strlen(loss->file)}, NAME_COLUMNS);
        buf_printf(&page->value, " at %" PRIu64 ", ", loss->offset);
        page_count(page, loss->bytes, "byte", "bytes");
        if (loss->kind <= SS_LOSS_CHANGED)
            buf_printf(&page->value, ": %s", words[loss->kind]);
        lost_line(page, first);
    }
    if (losses > MOST_LINES) {
        buf_printf(&page->value, "and %zu more %s; --json lists all", losses - MOST_LINES,
                   losses - MOST_LINES == 1 ? "place" : "places");
        lost_line(page, first);
    }
}

void info_text_lost(struct page *page, const struct tally *tally)
{
    bool first = true;

    if (!tally->whole) {
        say_recorder_errors(page, tally, &first);
        say_dropped(page, tally, &first);
        say_rare(page, tally, &first);
        say_folded(page, fold_counts(tally->run), &first);
        say_unread(page, tally->run, &first);
    }
    if (tally->sum.unbalanced > 0) {
        page_count(page, tally->sum.unbalanced, "end", "ends");
        buf_add_text(&page->value, " without a begin: ss_end() was called too often");
        page_field(page, "Note");
    }
}

static void add_open_spans(struct page *page, const struct tally *tally, size_t index,
                           const struct ss_record *open, size_t count)
{
    const struct ss_lane *lane = ss_run_lane(tally->run, index);
    const struct lane_tally *own = &tally->lanes[index];
    const struct ss_process *process = ss_run_process(tally->run, lane->process);
    char text[UNITS_SIZE];

    buf_printf(&page->value, "process %" PRIu32 ", thread", lane->process);
    if (lane->tid > 0)
        buf_printf(&page->value, " %" PRIu32, lane->tid);
    if (own->thread_bytes > 0) {
        buf_add_text(&page->value, " ");
        page_text(page, (struct ss_text){own->thread, own->thread_bytes}, NAME_COLUMNS);
    }
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&page->value, i == 0 ? ": " : " > ");
        page_text(page, ss_run_name(tally->run, lane->process, open[i].name)->text, NAME_COLUMNS);
    }
    uint64_t ns = tally_difference(process->end_ns, open[count - 1].start_ns);
    buf_printf(&page->value, ", for %s", units_duration(text, (int64_t)ns));
}

void info_text_open(struct page *page, const struct tally *tally)
{
    struct ss_record open[SS_STACK_DEPTH];
    size_t lanes = 0;

    for (size_t i = 0; i < ss_run_lanes(tally->run); i++) {
        size_t count = ss_run_open_spans(tally->run, i, open, SS_STACK_DEPTH);
        if (count == 0)
            continue;
        if (++lanes > MOST_LINES)
            continue;
        add_open_spans(page, tally, i, open, count);
        page_field(page, lanes == 1 ? "Open" : "");
    }
    if (lanes > MOST_LINES) {
        buf_printf(&page->value, "and in %zu more %s; --json lists all", lanes - MOST_LINES,
                   lanes - MOST_LINES == 1 ? "thread" : "threads");
        page_field(page, "");
    }
}
