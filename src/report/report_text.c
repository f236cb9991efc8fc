/* The order of the text report. */
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "render/style.h"
#include "report/report.h"
#include "report/report_job.h"
#include "report/report_parts.h"

enum { PARAGRAPH_INDENT = 2, EPOCHS_SHOWN = 8, SLOWEST_SHOWN = 5 };

void report_begin(struct report *report, struct sink *out, const struct analysis *analysis,
                  const struct style *style)
{
    *report = (struct report){.analysis = analysis, .style = style};
    if (analysis->snapshot->loop_count > 0)
        report->loop = &analysis->snapshot->loops[0];
    page_init(&report->page, out);
    report->page.columns = style->columns;
}

void report_end(struct report *report)
{
    page_release(&report->page);
}

void report_paragraph(struct report *report, bool bold)
{
    struct buf wrapped = {0};
    struct buf *value = &report->page.value;
    const size_t columns = report->page.columns;
    const bool fits = text_width(buf_text(value), value->size) <= columns;

    if (report->page.medium) {
        page_paragraph(&report->page, bold);
        return;
    }
    text_wrap(&wrapped, buf_text(value), value->size, fits ? 0 : PARAGRAPH_INDENT, columns);
    buf_reset(value);
    buf_printf(value, "%s%s%s", bold ? style_bold(report->style) : "", buf_text(&wrapped),
               bold ? style_plain(report->style) : "");
    value->failed |= wrapped.failed;
    page_line(&report->page);
    buf_release(&wrapped);
}

void report_title(struct report *report, const char *format, ...)
{
    char title[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(title, sizeof title, format, arguments);
    va_end(arguments);
    if (!report->page.medium && report->page.out->bytes > 0)
        page_line(&report->page);
    buf_add_text(&report->page.value, title);
    if (report->page.medium)
        page_title(&report->page);
    else
        report_paragraph(report, true);
}

static void with_steps(struct report *report)
{
    report_head_answer(report);
    report_head_speed(report);
    report_head_sure(report);
    report_arms(report);
    report_findings(report);
    report_stages(report);
    report_layers(report);
    report_operations(report);
    report_books(report);
    report_course(report);
    report_epochs(report, EPOCHS_SHOWN);
    report_loop_parts(report);
    report_loops(report);
    if (!report->analysis->job)
        report_ranks(report);
    report_slowest(report, SLOWEST_SHOWN);
}

void report_text(struct sink *out, const struct analysis *analysis, const struct style *style)
{
    struct report report;

    report_begin(&report, out, analysis, style);
    if (analysis->job) {
        report_job(&report);
        report_title(&report, "Rank %d", report.loop ? report.loop->rank : 0);
    }
    report_head_run(&report, "");
    report_whole(&report);
    if (report.loop) {
        with_steps(&report);
    } else {
        report_no_steps(&report, FEED_MOST_HOOKS);
        if (analysis->deadline_ns > 0) {
            report_say_deadline(&report.page, analysis);
            page_field(&report.page, "Finish");
        }
        report_findings(&report);
        report_books(&report);
    }
    report_devices(&report);
    report_resources(&report);
    report_validity(&report);
    report_callbacks(&report);
    report_spans(&report);
    report_latency(&report);
    report_lost(&report);
    report_facts(&report);
    report_end(&report);
}
