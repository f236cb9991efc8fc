#include "render/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/style.h"

enum { GAP_MOST = 2, BAR_LEAST = 4, BAR_MOST = 50, TEXT_LEAST = 8, TEXT_WANTED = 20 };

struct widths {
    size_t column[TABLE_COLUMNS];
    bool left_out[TABLE_COLUMNS];
    size_t gap;
};

void table_init(struct table *table)
{
    *table = (struct table){0};
}

void table_release(struct table *table)
{
    buf_release(&table->cells);
}

void table_optional(struct table *table, const char *title, enum table_kind kind, unsigned drop)
{
    if (table->columns < TABLE_COLUMNS)
        table->column[table->columns++] = (struct table_column){title, kind, drop};
}

void table_column(struct table *table, const char *title, enum table_kind kind)
{
    table_optional(table, title, kind, 0);
}

void table_text(struct table *table, const char *text)
{
    buf_add(&table->cells, text, strlen(text) + 1);
    table->count += !table->cells.failed;
}

void table_cell(struct table *table, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_text(table, text);
}

void table_bar(struct table *table, double share, int colour)
{
    table_cell(table, "%.9f %d", share, colour);
}

double table_bar_share(const char *cell, int *colour)
{
    char *rest;
    const double share = strtod(cell, &rest);

    *colour = (int)strtol(rest, NULL, 10);
    return share;
}

static size_t widest(const struct table *table, size_t column)
{
    const char *cell = buf_text(&table->cells);
    size_t width = strlen(table->column[column].title);

    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        size_t own = i % table->columns == column ? text_width(cell, strlen(cell)) : 0;
        width = own > width ? own : width;
    }
    return width;
}

/* The column that gives way: a bar, else the first text, else none. */
static size_t flexible(const struct table *table)
{
    size_t found = TABLE_COLUMNS;

    for (size_t i = table->columns; i-- > 0;)
        if (table->column[i].kind == TABLE_TEXT)
            found = i;
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].kind == TABLE_BAR)
            found = i;
    return found;
}

/* Columns of the page that all but `soft` take, with the gaps. */
static size_t taken(const struct table *table, const struct widths *widths, size_t soft)
{
    size_t others = 0, shown = 0;

    for (size_t i = 0; i < table->columns; i++) {
        if (widths->left_out[i])
            continue;
        shown++;
        others += i == soft ? 0 : widths->column[i];
    }
    return others + widths->gap * (shown > 0 ? shown - 1 : 0);
}

static size_t left_over(const struct table *table, size_t page_columns, const struct widths *widths,
                        size_t soft)
{
    const size_t others = taken(table, widths, soft);

    return page_columns > others ? page_columns - others : 0;
}

/* Leaves the next column out that may be missing; false: there is none. */
static bool leave_out(const struct table *table, struct widths *widths)
{
    size_t found = TABLE_COLUMNS;

    for (size_t i = 0; i < table->columns; i++)
        if (!widths->left_out[i] && table->column[i].drop > 0 &&
            (found == TABLE_COLUMNS || table->column[i].drop > table->column[found].drop))
            found = i;
    if (found < TABLE_COLUMNS)
        widths->left_out[found] = true;
    return found < TABLE_COLUMNS;
}

/* No column gives way: they have what they need, or fewer are shown. */
static void measure_rigid(const struct table *table, size_t page_columns, struct widths *widths)
{
    for (;;) {
        for (widths->gap = GAP_MOST; widths->gap > 0; widths->gap--)
            if (taken(table, widths, TABLE_COLUMNS) <= page_columns)
                return;
        widths->gap = 1;
        if (!leave_out(table, widths))
            return;
    }
}

static struct widths measure(const struct table *table, size_t page_columns)
{
    const size_t soft = flexible(table);
    struct widths widths = {.gap = GAP_MOST};

    for (size_t i = 0; i < table->columns; i++)
        widths.column[i] = table->column[i].kind == TABLE_BAR ? 0 : widest(table, i);
    if (soft == TABLE_COLUMNS) {
        measure_rigid(table, page_columns, &widths);
        return widths;
    }
    const bool is_bar = table->column[soft].kind == TABLE_BAR;
    const size_t most = is_bar ? BAR_MOST : widths.column[soft];
    const size_t least = is_bar ? BAR_LEAST : TEXT_LEAST;
    const size_t text = table->text_wanted ? table->text_wanted : TEXT_WANTED;
    const size_t wanted = is_bar ? BAR_LEAST : most < text ? most : text;
    size_t left = left_over(table, page_columns, &widths, soft);
    if (left < wanted) {
        widths.gap = 1;
        while ((left = left_over(table, page_columns, &widths, soft)) < wanted)
            if (!leave_out(table, &widths))
                break;
    }
    left = left > most ? most : left;
    widths.column[soft] = left < least && least < most ? least : left;
    return widths;
}

static void add_cell(struct buf *line, const char *cell, enum table_kind kind, size_t width,
                     const struct style *style)
{
    if (kind == TABLE_BAR) {
        int colour;
        const double share = table_bar_share(cell, &colour);
        bar_add(line, share, width, colour, style);
        return;
    }
    size_t own = text_width(cell, strlen(cell));
    size_t space = own < width ? width - own : 0;
    if (kind == TABLE_NUMBER)
        buf_add_repeated(line, ' ', space);
    text_fit(line, cell, strlen(cell), width);
    if (kind == TABLE_TEXT)
        buf_add_repeated(line, ' ', space);
}

/* No line ends with spaces. */
static void trim(struct buf *line)
{
    while (line->size > 0 && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
}

static bool has_titles(const struct table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].title[0])
            return true;
    return false;
}

static void print_titles(const struct table *table, const struct widths *widths, struct page *page,
                         const struct style *style)
{
    buf_add_text(&page->value, style_faint(style));
    for (size_t i = 0; i < table->columns; i++) {
        const enum table_kind kind = table->column[i].kind;
        if (widths->left_out[i])
            continue;
        buf_add_repeated(&page->value, ' ', i > 0 ? widths->gap : 0);
        add_cell(&page->value, table->column[i].title, kind == TABLE_BAR ? TABLE_TEXT : kind,
                 widths->column[i], style);
    }
    trim(&page->value);
    buf_add_text(&page->value, style_plain(style));
    page_line(page);
}

static void print_lines(const struct table *table, struct page *page, const struct style *style)
{
    const struct widths widths = measure(table, page->columns);
    const char *cell = buf_text(&table->cells);

    if (has_titles(table))
        print_titles(table, &widths, page, style);
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        const size_t column = i % table->columns;
        if (!widths.left_out[column]) {
            buf_add_repeated(&page->value, ' ', column > 0 ? widths.gap : 0);
            add_cell(&page->value, cell, table->column[column].kind, widths.column[column], style);
        }
        if (column + 1 == table->columns) {
            trim(&page->value);
            page_line(page);
        }
    }
}

void table_print(struct table *table, struct page *page, const struct style *style)
{
    if (table->cells.failed)
        sink_fail(page->out, SS_E_NOMEM, ENOMEM);
    if (page->medium)
        page->medium->table(page->context, table);
    else
        print_lines(table, page, style);
    buf_reset(&table->cells);
    table->count = 0;
}
