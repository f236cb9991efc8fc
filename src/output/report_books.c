/* The books: every nanosecond of the loop's thread is in exactly one segment. */
#include "output/bar.h"
#include "output/numbers.h"
#include "output/report_parts.h"
#include "output/table.h"

#define SEGMENT_MEANING(id, text, meaning) meaning,
static const char *const meanings[] = {MODEL_SEGMENTS(SEGMENT_MEANING)};

static void add_row(struct table *table, const struct snap_thread *thread, int segment,
                    struct units_scale scale, bool has_steps)
{
    const double ns = (double)thread->segment_ns[segment];
    const double share = thread->wall_ns > 0 ? ns / (double)thread->wall_ns : 0;
    char text[UNITS_SIZE];

    table_cell(table, "%s", model_segment_text((unsigned)segment));
    table_bar(table, share, BAR_PLAIN);
    table_cell(table, "%s", units_scaled(text, thread->segment_ns[segment], scale));
    table_cell(table, "%s", share_text(text, share));
    table_cell(table, "%s",
               segment == SEGMENT_STARTUP_NS && !has_steps ? "no step was seen"
                                                           : meanings[segment]);
}

void report_books(struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const struct snap_thread *thread = snapshot->threads;
    struct table table;
    char text[UNITS_SIZE];

    if (snapshot->thread_count == 0)
        return;
    const struct units_scale scale = units_scale_for(thread->wall_ns);
    report_title(report, "The run by segment: %s of the %s thread", scale.name,
                 report->loop ? "loop's" : "main");
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, scale.name, TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    table_column(&table, "", TABLE_TEXT);
    for (int i = 0; i < MODEL_SEGMENT_COUNT; i++)
        if (thread->segment_ns[i] != 0)
            add_row(&table, thread, i, scale, report->loop != NULL);
    table_cell(&table, "sum");
    table_bar(&table, 0, BAR_PLAIN);
    table_cell(&table, "%s", units_scaled(text, thread->wall_ns, scale));
    table_cell(&table, "100.0 %%");
    table_cell(&table, "%s", "");
    table_print(&table, &report->page, report->style);
    table_release(&table);
}
