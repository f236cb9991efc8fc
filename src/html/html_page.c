#include "html/html_page.h"

#include <errno.h>
#include <string.h>

#include "html/html_parts.h"
#include "html/page_asset.h"
#include "output/report_findings.h"
#include "output/report_hot.h"
#include "output/report_resources.h"

enum { EPOCHS_SHOWN = 40, WIDEST = 1 << 20, TITLE_MOST = 80 };

double html_seconds(const struct html_page *page, int64_t ns)
{
    return (double)(ns - report_begin_ns(page->report.input)) * 1e-9;
}

void html_findings(struct html_page *page)
{
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

void html_course(struct html_page *page)
{
    if (!page->report.loop)
        return;
    html_heading(page, "The course of it", "");
    report_course(&page->report);
    report_epochs(&page->report, EPOCHS_SHOWN);
}

void html_callbacks(struct html_page *page)
{
    report_callbacks(&page->report);
    report_spans(&page->report);
    report_latency(&page->report);
}

void html_hot(struct html_page *page)
{
    if (page->report.input->snapshot->hot.line_count == 0)
        return;
    html_heading(page, "Hot lines", "");
    report_hot(&page->report);
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
    {"findings", "Findings", html_findings},
    {"stages", "Stages", html_stages},
    {"steps", "Steps", html_steps},
    {"spread", "Spread", html_spread},
    {"slowest", "Slowest", html_slowest},
    {"names", "Callbacks and spans", html_callbacks},
    {"hot", "Hot lines", html_hot},
    {"machine", "Machine", html_machine},
    {"loops", "Loops", html_loops},
    {"run", "Run", html_books},
    {"course", "Course", html_course},
    {"validity", "Validity", html_validity},
    {"command", "Command", html_command},
    {"method", "Method", html_measured},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

/* A section is written apart first: one that has nothing to say is left out, its link too. */
static void write_section(struct html_page *page, const struct section *section,
                          struct buf *out)
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
    const struct report_input *input = page->report.input;
    const struct ss_text command = report_command(input);

    html_printf(&page->html, "<title>%s: ", page->verdict);
    if (command.size > 0)
        html_bytes(&page->html, command.data, command.size, TITLE_MOST);
    else
        html_text(&page->html, run_facts_name(input->facts));
    html_markup(&page->html, "</title>\n");
}

/* Style and script are named by their hashes: nothing else is allowed, whatever a name of the run may
 * hold. */
static void put_policy(struct html *html)
{
    html_printf(
        html,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src '%s'; script-src %s%s%s; base-uri 'none'; form-action "
        "'none'\">\n",
        page_style.hash, page_script.size ? "'" : "",
        page_script.size ? page_script.hash : "'none'", page_script.size ? "'" : "");
}

static void put_top(struct html_page *page)
{
    struct html *html = &page->html;

    html_markup(
        html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(html);
    html_markup(html, "<meta name=\"viewport\" content=\"width=device-width\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n");
    put_title(page);
    html_markup(html, "<style>");
    sink_write(html->out, page_style.text, page_style.size);
    html_markup(html, "</style>\n</head>\n<body>\n");
}

/* Stages that share a colour differ by it. */
static void put_hatch(struct html *html)
{
    static const unsigned stages[] = {
        SS_STAGE_COMPUTE, SS_STAGE_SYNC,       SS_STAGE_COMPILE,
        SS_STAGE_SETUP,   SS_STAGE_GC,         SS_STAGE_EVAL,
        SS_STAGE_INFER,   SS_STAGE_CHECKPOINT, SS_STAGE_PRODUCE};

    html_markup(html, "<svg class=\"hatches\" width=\"0\" height=\"0\" "
                      "aria-hidden=\"true\"><defs>");
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        html_printf(html,
                    "<pattern id=\"hatch-%s\" width=\"6\" height=\"6\" "
                    "patternUnits=\"userSpaceOnUse\"><rect class=\"hue-%s\" width=\"6\" "
                    "height=\"6\"/><path class=\"hatching\" d=\"M-1 7L7 -1\"/></pattern>",
                    ss_stage_text(stages[i]), ss_stage_text(stages[i]));
    html_markup(html, "</defs></svg>\n");
}

static void put_links(struct html *html, const struct buf *text)
{
    html_markup(html, "<nav aria-label=\"sections\">");
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].link && text[i].size > 0)
            html_printf(html, "<a href=\"#%s\">%s</a> ", sections[i].id,
                        sections[i].link);
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

    html_markup(html,
                "<footer>Made by stepscope; the same as text: <code>stepscope report "
                "</code><code>");
    html_text(html, page->report.input->facts->path);
    html_markup(html, "</code></footer>\n");
    if (page_script.size > 0) {
        html_data(page);
        html_markup(html, "<script>");
        sink_write(html->out, page_script.text, page_script.size);
        html_markup(html, "</script>\n");
    }
    html_markup(html, "</body>\n</html>\n");
}

static const char *verdict_of(const struct report_input *input)
{
    struct diagnosis diagnosis;

    diagnose(&diagnosis, input->snapshot, input->run);
    return diagnosis_verdict(&diagnosis, input->snapshot);
}

void html_page_write(struct sink *out, const struct report_input *input,
                     const struct step_courses *courses)
{
    static const struct report_style style = {.columns = WIDEST, .blocks = true};
    struct html_page page = {.courses = courses, .verdict = verdict_of(input)};
    struct buf text[SECTIONS];

    html_init(&page.html, out);
    report_begin(&page.report, out, input, &style);
    page.course = step_courses_find(courses, page.report.loop);
    for (size_t i = 0; i < SECTIONS; i++) {
        buf_init(&text[i]);
        write_section(&page, &sections[i], &text[i]);
    }
    put_top(&page);
    put_hatch(&page.html);
    put_sections(&page.html, text);
    put_end(&page);
    if (courses->failed)
        sink_fail(out, SS_E_NOMEM, ENOMEM);
    for (size_t i = 0; i < SECTIONS; i++)
        buf_release(&text[i]);
    report_end(&page.report);
    html_release(&page.html);
}
