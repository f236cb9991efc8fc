/* The stages of the summary: as many as there is room for, the largest first to get a row, and the
 * hottest line of the largest one. */
#include <string.h>

#include "base/code_place.h"
#include "base/text.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report_parts.h"

enum {
    STAGES_LEAST = 3,
    STAGES_SHOWN = 6,  /* unless fewer than ENOUGH of the step is in them */
    NAME_COLUMNS = 22, /* at least; on a wide page all but what the others need */
    OTHER_COLUMNS = 44
};

/* The stages with this part of the step are shown; of the first few each that is worth a row; the
 * line only if it has this part of its stage for certain. */
static const double enough = 0.9, worth_a_row = 0.01, line_least = 0.1;

/* What is known of it; a stage that cannot be separated from another has time, but not its own. */
static int64_t time_of(const struct snap_loop *loop, int stage)
{
    return loop->stage[stage].measured ? loop->stage[stage].total_ns : 0;
}

/* The largest stage that is not in the set. */
static int largest_but(const struct snap_loop *loop, unsigned shown)
{
    int largest = REPORT_NO_STAGE;

    REPORT_FOR_STAGES(stage)
    {
        const int64_t ns = time_of(loop, stage);
        if (!(shown & 1u << stage) && ns > 0 &&
            (largest == REPORT_NO_STAGE || ns > time_of(loop, largest)))
            largest = stage;
    }
    return largest;
}

static unsigned stages_to_show(const struct snap_loop *loop, size_t most)
{
    unsigned shown = 0;

    for (size_t count = 0; count < most; count++) {
        const int largest = largest_but(loop, shown);
        if (largest != REPORT_NO_STAGE)
            shown |= 1u << largest;
    }
    return shown;
}

/* How many of the largest stages are enough of the step; a few in any case, as one alone compares
 * with nothing. */
static size_t stages_needed(const struct snap_loop *loop)
{
    int64_t all_ns = 0, shown_ns = 0;
    unsigned shown = 0;
    size_t count = 0;

    REPORT_FOR_STAGES(stage)
    all_ns += time_of(loop, stage);
    for (;;) {
        const int largest = largest_but(loop, shown);
        const bool is_enough = (double)shown_ns >= enough * (double)all_ns;
        if (largest == REPORT_NO_STAGE ||
            (is_enough && (count >= STAGES_LEAST ||
                           (double)time_of(loop, largest) < worth_a_row * (double)all_ns)))
            return count;
        shown |= 1u << largest;
        shown_ns += time_of(loop, largest);
        count++;
    }
}

static void add_top_name(struct table *table, const struct report *report, int stage)
{
    const struct snap_span *span = report_top_span(report->analysis->snapshot, stage);
    const size_t page = report->page.columns;
    const size_t room = page > OTHER_COLUMNS ? page - OTHER_COLUMNS : 0;
    struct buf name = {0}, cut = {0};

    if (span) {
        snapshot_span_name(&name, span);
        text_fit(&cut, buf_text(&name), name.size, room > NAME_COLUMNS ? room : NAME_COLUMNS);
    }
    table_text(table, buf_text(&cut));
    buf_release(&name);
    buf_release(&cut);
}

static void print_stages(struct report *report, size_t most)
{
    const struct snap_loop *loop = report->loop;
    const struct scale scale = scale_for(loop->step_ns.mid, loop->step_ns.mid);
    const unsigned shown = stages_to_show(loop, most);
    struct table table;
    char text[UNITS_SIZE];

    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, "", TABLE_NUMBER);
    table_column(&table, "", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 1);
    REPORT_FOR_STAGES(stage)
    {
        if (!(shown & 1u << stage))
            continue;
        table_cell(&table, "  %s", ss_stage_text((unsigned)stage));
        table_bar(&table, loop->stage[stage].share.mid, stage);
        table_cell(&table, "%s %s", scale_text(text, loop->stage[stage].mean_ns, scale),
                   scale.unit.name);
        table_cell(&table, "%s", share_text(text, loop->stage[stage].share.mid));
        add_top_name(&table, report, stage);
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

/* The line of the script that takes most of the largest stage; of data that other threads prepare,
 * the line that prepares it. NULL: unknown. */
static const struct snap_hot_line *hottest_line(const struct report *report)
{
    const struct snap_hot *hot = &report->analysis->snapshot->hot;
    const int stage = report_largest_stage(report->loop);
    const struct snap_hot_line *found = NULL;

    if (stage == REPORT_NO_STAGE)
        return NULL;
    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->at.line == 0 || !(line->share.low >= line_least))
            continue;
        if (stage == SS_STAGE_DATA && line->place == SNAP_HOT_MAKING)
            return line;
        if (!found && line->place == (uint32_t)stage)
            found = line;
    }
    return found;
}

static void print_line(struct report *report, const struct snap_hot_line *line)
{
    struct buf *value = &report->page.value;
    struct buf place = {0}, what = {0};
    char text[UNITS_SIZE];

    buf_printf(&what, ": %s of %s", share_text(text, line->share.mid),
               report_place_text(line->place));
    report_add_place(&place, &line->at);
    buf_printf(value, "%-*s", REPORT_LABEL_COLUMNS, "line");
    text_fit(value, buf_text(&place), place.size,
             report->page.columns - REPORT_LABEL_COLUMNS - what.size);
    buf_add(value, buf_text(&what), what.size);
    value->failed |= place.failed || what.failed;
    page_line(&report->page);
    buf_release(&place);
    buf_release(&what);
}

size_t report_summary_stage_lines(const struct report *report)
{
    return stages_needed(report->loop) + (hottest_line(report) ? 1 : 0);
}

void report_summary_stages(struct report *report, size_t lines)
{
    const struct snap_hot_line *line = hottest_line(report);
    const size_t needed = stages_needed(report->loop);
    const size_t most = needed > STAGES_SHOWN ? needed : STAGES_SHOWN;
    const size_t stages = line && lines > needed ? lines - 1 : lines;

    print_stages(report, stages < most ? stages : most);
    if (line && lines > needed)
        print_line(report, line);
}
