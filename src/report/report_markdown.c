/* The report for a pull request or an issue: what one must know, and the rest folded away. */
#include "render/markdown.h"
#include "report/report.h"
#include "report/report_parts.h"

enum { WIDEST = 1 << 20 };

static void put_answer(struct report *report)
{
    const struct finding *finding = diagnosis_worst(&report->analysis->diagnosis);

    report_head_answer(report);
    if (finding) {
        report_say_saving(report, finding);
        if (report->page.value.size > 0)
            page_field(&report->page, "Saves");
        page_prose(&report->page, finding->advice);
        if (report->page.value.size > 0)
            page_field(&report->page, "Try");
    }
    report_head_speed(report);
    report_head_sure(report);
    report_stages(report);
}

static void put_details(struct report *report, struct markdown *markdown)
{
    markdown_fold(markdown, "Findings, with evidence");
    report_findings(report);
    markdown_unfold(markdown);
    markdown_fold(markdown, "The run");
    report_books(report);
    report_validity(report);
    report_facts(report);
    markdown_unfold(markdown);
}

void report_markdown(struct sink *out, const struct analysis *analysis)
{
    static const struct style style = {.columns = WIDEST};
    struct markdown markdown;
    struct report report;

    report_begin(&report, out, analysis, &style);
    markdown_begin(&markdown, &report.page);
    report_head_run(&report, "stepscope: ");
    if (report.loop) {
        put_answer(&report);
        report_whole(&report);
        put_details(&report, &markdown);
    } else {
        report_no_steps(&report, 0);
    }
    report_end(&report);
}
