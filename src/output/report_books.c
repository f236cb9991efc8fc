/* The books: every nanosecond of the loop's thread is in exactly one segment. */
#include "output/bar.h"
#include "output/numbers.h"
#include "output/report_parts.h"
#include "output/table.h"

#define SEGMENT_MEANING(id, text, meaning) meaning,
static const char *const meanings[] = {MODEL_SEGMENTS(SEGMENT_MEANING)};

static const char *meaning_of(const struct report *report, int segment)
{
    if (segment == SEGMENT_STARTUP_NS && !report->loop)
        return "no step was seen";
    if (segment == SEGMENT_STEADY_NS && report->loop &&
        !report_has_statistics(report->loop))
        return "too few to tell what is warm-up";
    return meanings[segment];
}

static void add_row(struct table *table, const struct report *report,
                    const struct snap_thread *thread, int segment,
                    struct units_scale scale)
{
    const double ns = (double)thread->segment_ns[segment];
    const double share = thread->wall_ns > 0 ? ns / (double)thread->wall_ns : 0;
    char text[UNITS_SIZE];

    table_cell(table, "%s", report_segment_text(report->input, (unsigned)segment));
    table_bar(table, share, BAR_PLAIN);
    table_cell(table, "%s", units_scaled(text, thread->segment_ns[segment], scale));
    table_cell(table, "%s", share_text(text, share));
    table_cell(table, "%s", meaning_of(report, segment));
}

void report_books(struct report *report)
{
    const struct snap_thread thread = report_thread(report->input);
    struct table table;
    char text[UNITS_SIZE];

    const struct units_scale scale = units_scale_for(thread.wall_ns);
    report_title(report, "The run by segment: %s%s", scale.name,
                 report->loop ? " of the loop's thread" : "");
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_optional(&table, "", TABLE_BAR, 1);
    table_column(&table, scale.name, TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 2);
    for (int i = 0; i < MODEL_SEGMENT_COUNT; i++)
        if (thread.segment_ns[i] != 0)
            add_row(&table, report, &thread, i, scale);
    table_cell(&table, "sum");
    table_bar(&table, 0, BAR_PLAIN);
    table_cell(&table, "%s", units_scaled(text, thread.wall_ns, scale));
    table_cell(&table, "100.0 %%");
    table_cell(&table, "%s", "");
    table_print(&table, &report->page, report->style);
    table_release(&table);
}
