#include "html/html_page.h"

#include <errno.h>
#include <string.h>

#include "html/html_parts.h"
#include "report/report_parts.h"

enum { EPOCHS_SHOWN = 40, WIDEST = 1 << 20, TITLE_MOST = 80 };

double html_seconds(const struct html_page *page, int64_t ns)
{
    return (double)(ns - report_begin_ns(page->report.analysis)) * 1e-9;
}

void html_findings(struct html_page *page)
{
    page->report.in_head = diagnosis_worst(&page->report.analysis->diagnosis);
    report_findings(&page->report);
}

void html_stages(struct html_page *page)
{
    if (page->report.loop)
        report_stages(&page->report);
}

void html_books(struct html_page *page)
{
    report_books(&page->report);
}

void html_trend(struct html_page *page)
{
    if (!page->report.loop)
        return;
    html_heading(page, "Trend", "");
    report_course(&page->report);
    report_epochs(&page->report, EPOCHS_SHOWN);
    report_loop_parts(&page->report);
}

void html_callbacks(struct html_page *page)
{
    report_callbacks(&page->report);
    report_spans(&page->report);
    report_latency(&page->report);
}

void html_hot(struct html_page *page)
{
    if (page->report.analysis->snapshot->hot.line_count == 0)
        return;
    html_heading(page, "Hot lines", "");
    report_hot(&page->report);
}

static void html_operations(struct html_page *page)
{
    report_operations(&page->report);
}

static void html_arms(struct html_page *page)
{
    report_arms(&page->report);
}

static void html_devices(struct html_page *page)
{
    report_devices(&page->report);
}

_Static_assert(HTML_TEXT_MOST >= VALIDITY_ITEMS * (VALIDITY_TEXT_SIZE + 2),
               "all that disturbed a run must fit into one field");

void html_validity(struct html_page *page)
{
    report_validity(&page->report);
}

/* In the order of the page. The first is above the fold and has no link. */
static const struct section {
    const char *id, *link;
    void (*write)(struct html_page *page);
} sections[] = {
    {"verdict", NULL, html_head},
    {"experiment", "Experiment", html_arms},
    {"findings", "Findings", html_findings},
    {"stages", "Stages", html_stages},
    {"layers", "Layers", html_layers},
    {"operations", "Operations", html_operations},
    {"steps", "Steps", html_steps},
    {"spread", "Spread", html_spread},
    {"slowest", "Slowest", html_slowest},
    {"names", "Callbacks and spans", html_callbacks},
    {"hot", "Hot lines", html_hot},
    {"devices", "Devices", html_devices},
    {"machine", "Machine", html_machine},
    {"loops", "Loops", html_loops},
    {"run", "Run", html_books},
    {"trend", "Trend", html_trend},
    {"validity", "Validity", html_validity},
    {"command", "Command", html_command},
    {"method", "Method", html_measured},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

/* A section is written apart first: one that has nothing to say is left out, its link too. */
static void write_section(struct html_page *page, const struct section *section, struct buf *out)
{
    struct sink *before = page->html.out;
    struct sink apart;

    sink_init_buf(&apart, out);
    page->html.out = &apart;
    page->report.page.out = &apart;
    html_medium_set(page);
    section->write(page);
    html_medium_end(page);
    if (sink_flush(&apart) != 0)
        sink_fail(before, apart.error, apart.os_error);
    page->html.out = page->report.page.out = before;
}

static void put_title(struct html_page *page)
{
    const struct analysis *analysis = page->report.analysis;
    const struct ss_text command = report_command(analysis);

    html_printf(&page->html, "<title>%s: ", page->verdict);
    if (command.size > 0)
        html_bytes(&page->html, command.data, command.size, TITLE_MOST);
    else
        html_text(&page->html, run_facts_name(analysis->facts));
    html_markup(&page->html, "</title>\n");
}

/* Style and script are named by their hashes: nothing else is allowed, whatever a name of the run
 * may hold. */
static void put_policy(struct html *html)
{
    html_printf(html,
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src '%s'; script-src %s%s%s; base-uri 'none'; form-action "
                "'none'\">\n",
                page_style.hash, page_script.size ? "'" : "",
                page_script.size ? page_script.hash : "'none'", page_script.size ? "'" : "");
}

static void put_top(struct html_page *page)
{
    struct html *html = &page->html;

    html_markup(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(html);
    html_markup(html, "<meta name=\"viewport\" content=\"width=device-width\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n");
    put_title(page);
    html_markup(html, "<style>");
    sink_write(html->out, page_style.text, page_style.size);
    html_markup(html, "</style>\n</head>\n<body>\n");
}

static void put_links(struct html *html, const struct buf *text)
{
    html_markup(html, "<nav aria-label=\"sections\">");
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].link && text[i].size > 0)
            html_printf(html, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].link);
    html_markup(html, "</nav>\n");
}

static void put_sections(struct html *html, const struct buf *text)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (text[i].size == 0)
            continue;
        html_printf(html, "<%s id=\"%s\">\n", sections[i].link ? "section" : "header",
                    sections[i].id);
        sink_write(html->out, buf_text(&text[i]), text[i].size);
        html_printf(html, "</%s>\n", sections[i].link ? "section" : "header");
        if (!sections[i].link)
            put_links(html, text);
    }
}

static void put_end(struct html_page *page)
{
    struct html *html = &page->html;

    html_markup(html, "<footer>Made by stepscope; the same as text: <code>stepscope report "
                      "</code><code>");
    html_text(html, page->report.analysis->facts->path);
    html_markup(html, "</code></footer>\n");
    if (page_script.size > 0) {
        html_data(page);
        html_markup(html, "<script>");
        sink_write(html->out, page_script.text, page_script.size);
        html_markup(html, "</script>\n");
    }
    html_markup(html, "</body>\n</html>\n");
}

void html_page_write(struct sink *out, const struct analysis *analysis,
                     const struct step_courses *courses)
{
    static const struct style style = {.columns = WIDEST, .blocks = true};
    struct html_page page = {.courses = courses, .verdict = analysis_verdict(analysis)};
    struct buf text[SECTIONS];

    html_init(&page.html, out);
    report_begin(&page.report, out, analysis, &style);
    page.course = step_courses_find(courses, page.report.loop);
    for (size_t i = 0; i < SECTIONS; i++) {
        buf_init(&text[i]);
        write_section(&page, &sections[i], &text[i]);
    }
    put_top(&page);
    put_sections(&page.html, text);
    put_end(&page);
    if (courses->failed)
        sink_fail(out, SS_E_NOMEM, ENOMEM);
    for (size_t i = 0; i < SECTIONS; i++)
        buf_release(&text[i]);
    report_end(&page.report);
    html_release(&page.html);
}

static void put_more(struct html_page *page)
{
    struct html *html = &page->html;

    html_markup(html, "<p class=\"more\">All of it: <code>stepscope report --html page.html ");
    html_text(html, page->report.analysis->facts->path);
    html_markup(html, "</code></p>\n");
}

void html_summary_write(struct sink *out, const struct analysis *analysis)
{
    static const struct style style = {.columns = WIDEST, .blocks = true};
    struct html_page page = {.verdict = analysis_verdict(analysis)};

    html_init(&page.html, out);
    report_begin(&page.report, out, analysis, &style);
    html_medium_set(&page);
    html_markup(&page.html, "<div class=\"stepscope\">\n<style>\n");
    sink_write(out, page_scoped_style.text, page_scoped_style.size);
    html_markup(&page.html, "</style>\n");
    html_head(&page);
    html_medium_end(&page);
    put_more(&page);
    html_markup(&page.html, "</div>\n");
    report_end(&page.report);
    html_release(&page.html);
}
