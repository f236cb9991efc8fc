#include "render/markdown.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "render/table.h"

/* All that may mean something anywhere in a line. */
static const char special[] = "\\*_[]<>#~&";

static bool has_whole_code(const char *text)
{
    size_t ticks = 0;

    for (; *text; text++)
        ticks += *text == '`';
    return ticks % 2 == 0;
}

/* A mention needs an @ before a letter, and a backslash does not stop it. */
static void put_character(struct sink *out, char character, bool in_code)
{
    if (character == '@' && !in_code)
        sink_text(out, "@<!-- -->");
    else if (character == '|' || (!in_code && (character == '`' || strchr(special, character))))
        sink_printf(out, "\\%c", character);
    else
        sink_printf(out, "%c", character);
}

static void put_text(struct sink *out, const char *text)
{
    const bool may_have_code = has_whole_code(text);
    struct buf safe = {0};
    bool in_code = false;

    text_safe(&safe, text, strlen(text));
    for (const char *at = buf_text(&safe); *at; at++) {
        if (*at == '`' && may_have_code) {
            in_code = !in_code;
            sink_text(out, "`");
        } else {
            put_character(out, *at, in_code);
        }
    }
    if (safe.failed)
        sink_fail(out, SS_E_NOMEM, 0);
    buf_release(&safe);
}

static void end_fields(struct markdown *markdown)
{
    if (markdown->in_fields)
        sink_text(markdown->out, "\n");
    markdown->in_fields = false;
}

static void put_title(void *context, const char *text)
{
    struct markdown *markdown = context;

    end_fields(markdown);
    sink_text(markdown->out, "#### ");
    put_text(markdown->out, text);
    sink_text(markdown->out, "\n\n");
}

static void put_paragraph(void *context, const char *text, bool bold)
{
    struct markdown *markdown = context;

    end_fields(markdown);
    sink_text(markdown->out, bold ? "**" : "");
    put_text(markdown->out, text);
    sink_text(markdown->out, bold ? "**\n\n" : "\n\n");
}

static void put_field(void *context, const char *label, const char *text)
{
    struct markdown *markdown = context;

    label += strspn(label, " ");
    markdown->in_fields = true;
    if (*label)
        sink_printf(markdown->out, "- **%c%s** ", toupper((unsigned char)label[0]), label + 1);
    else
        sink_text(markdown->out, "  ");
    put_text(markdown->out, text);
    sink_text(markdown->out, "\n");
}

/* The cells of one row; gives where the next one begins. Bars are left out. */
static const char *put_row(struct sink *out, const struct table *table, const char *cell)
{
    for (size_t i = 0; i < table->columns; i++, cell += strlen(cell) + 1)
        if (table->column[i].kind != TABLE_BAR) {
            sink_text(out, "| ");
            put_text(out, cell);
            sink_text(out, " ");
        }
    sink_text(out, "|\n");
    return cell;
}

static void put_titles(struct sink *out, const struct table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].kind != TABLE_BAR) {
            sink_text(out, "| ");
            put_text(out, table->column[i].title);
            sink_text(out, " ");
        }
    sink_text(out, "|\n");
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].kind != TABLE_BAR)
            sink_text(out, table->column[i].kind == TABLE_NUMBER ? "|---:" : "|---");
    sink_text(out, "|\n");
}

static void put_table(void *context, const struct table *table)
{
    struct markdown *markdown = context;
    const char *cell = buf_text(&table->cells);

    end_fields(markdown);
    put_titles(markdown->out, table);
    for (size_t done = 0; done < table->count; done += table->columns)
        cell = put_row(markdown->out, table, cell);
    sink_text(markdown->out, "\n");
}

void markdown_begin(struct markdown *markdown, struct page *page)
{
    static const struct page_medium medium = {
        .title = put_title, .paragraph = put_paragraph, .field = put_field, .table = put_table};

    *markdown = (struct markdown){.out = page->out};
    page->medium = &medium;
    page->context = markdown;
}

void markdown_fold(struct markdown *markdown, const char *title)
{
    end_fields(markdown);
    sink_printf(markdown->out, "<details><summary>%s</summary>\n\n", title);
}

void markdown_unfold(struct markdown *markdown)
{
    end_fields(markdown);
    sink_text(markdown->out, "</details>\n");
}
