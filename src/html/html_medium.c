/* The parts of the text report as markup. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "html/html_parts.h"
#include "render/style.h"
#include "render/table.h"

enum { BAR_WIDTH = 1000, CELL_MOST = 160 };

static void end_fields(struct html_page *page)
{
    if (page->in_fields)
        html_markup(&page->html, "</dl>\n");
    page->in_fields = false;
}

void html_medium_end(struct html_page *page)
{
    end_fields(page);
}

static void put_heading(struct html_page *page, const char *title, size_t size, const char *note)
{
    const char *level = page->has_title ? "h3" : "h2";
    const char first = (char)toupper((unsigned char)title[0]);

    end_fields(page);
    snprintf(page->heading, sizeof page->heading, "%.*s", (int)size, title);
    html_printf(&page->html, "<%s>", level);
    html_bytes(&page->html, &first, size > 0, CELL_MOST);
    html_bytes(&page->html, title + 1, size > 0 ? size - 1 : 0, CELL_MOST);
    if (*note) {
        html_markup(&page->html, " <small>");
        html_text(&page->html, note);
        html_markup(&page->html, "</small>");
    }
    html_printf(&page->html, "</%s>\n", level);
    page->has_title = true;
}

void html_heading(struct html_page *page, const char *title, const char *note)
{
    put_heading(page, title, strlen(title), note);
}

static void medium_title(void *context, const char *text)
{
    const char *colon = strstr(text, ": ");

    put_heading(context, text, colon ? (size_t)(colon - text) : strlen(text),
                colon ? colon + 2 : "");
}

static void medium_paragraph(void *context, const char *text, bool bold)
{
    struct html_page *page = context;

    end_fields(page);
    html_markup(&page->html, bold ? "<p class=\"claim\">" : "<p>");
    html_text(&page->html, text);
    html_markup(&page->html, "</p>\n");
}

static void medium_field(void *context, const char *label, const char *text)
{
    struct html_page *page = context;

    label += strspn(label, " ");
    if (page->left_out && strcmp(label, page->left_out) == 0)
        return;
    if (!page->in_fields)
        html_markup(&page->html, "<dl>\n");
    page->in_fields = true;
    if (*label) {
        html_markup(&page->html, "<dt>");
        html_text(&page->html, label);
        html_markup(&page->html, "</dt>");
    }
    html_markup(&page->html, "<dd>");
    html_text(&page->html, text);
    html_markup(&page->html, "</dd>\n");
}

static void put_bar(struct html *html, const char *cell)
{
    int colour;
    const double share = table_bar_share(cell, &colour);

    html_printf(html,
                "<svg class=\"bar\" viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
                "aria-hidden=\"true\"><rect class=\"s-%s\" width=\"%.1f\" height=\"10\"/>",
                BAR_WIDTH, colour == BAR_PLAIN ? "plain" : ss_stage_text((unsigned)colour),
                BAR_WIDTH * (share > 0 ? share < 1 ? share : 1 : 0));
    html_markup(html, "</svg>");
}

static const char *class_of(enum table_kind kind)
{
    return kind == TABLE_NUMBER ? " class=\"n\"" : kind == TABLE_BAR ? " class=\"b\"" : "";
}

static void put_titles(struct html *html, const struct table *table)
{
    html_markup(html, "<thead><tr>");
    for (size_t i = 0; i < table->columns; i++) {
        html_printf(html, "<th%s>", class_of(table->column[i].kind));
        html_text(html, table->column[i].title);
        html_markup(html, "</th>");
    }
    html_markup(html, "</tr></thead>\n");
}

void html_table_begin(struct html_page *page, const char *class)
{
    html_markup(&page->html, "<div class=\"table\" tabindex=\"0\" role=\"region\" "
                             "aria-label=\"table: ");
    html_text(&page->html, page->heading);
    html_printf(&page->html, "\"><table%s>", class);
}

void html_table_end(struct html_page *page)
{
    html_markup(&page->html, "</table></div>\n");
}

static void medium_table(void *context, const struct table *table)
{
    struct html_page *page = context;
    struct html *html = &page->html;
    const char *cell = buf_text(&table->cells);

    end_fields(page);
    html_table_begin(page, "");
    put_titles(html, table);
    html_markup(html, "<tbody>\n");
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        const enum table_kind kind = table->column[i % table->columns].kind;
        html_markup(html, i % table->columns == 0 ? "<tr>" : "");
        html_printf(html, "<td%s>", class_of(kind));
        if (kind == TABLE_BAR)
            put_bar(html, cell);
        else
            html_bytes(html, cell, strlen(cell), CELL_MOST);
        html_markup(html, "</td>");
        html_markup(html, (i + 1) % table->columns == 0 ? "</tr>\n" : "");
    }
    html_markup(html, "</tbody>");
    html_table_end(page);
}

void html_medium_set(struct html_page *page)
{
    static const struct page_medium medium = {.title = medium_title,
                                              .paragraph = medium_paragraph,
                                              .field = medium_field,
                                              .table = medium_table};

    page->report.page.medium = &medium;
    page->report.page.context = page;
    page->in_fields = page->has_title = false;
}

static void capture_text(void *out, const char *text)
{
    buf_printf(out, "%s%s", ((struct buf *)out)->size > 0 ? "; " : "", text);
}

static void capture_paragraph(void *out, const char *text, bool bold)
{
    (void)bold;
    capture_text(out, text);
}

static void capture_field(void *out, const char *label, const char *text)
{
    (void)label;
    capture_text(out, text);
}

static void capture_table(void *out, const struct table *table)
{
    (void)out;
    (void)table;
}

void html_capture(struct html_page *page, void (*part)(struct report *report), struct buf *out)
{
    static const struct page_medium medium = {.title = capture_text,
                                              .paragraph = capture_paragraph,
                                              .field = capture_field,
                                              .table = capture_table};
    struct page *text = &page->report.page;
    const struct page_medium *before = text->medium;

    text->medium = &medium;
    text->context = out;
    part(&page->report);
    text->medium = before;
    text->context = page;
}
