#include "render/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "render/units.h"

enum { JOINED_SIZE = 128 };

void page_init(struct page *page, struct sink *out)
{
    page->out = out;
    page->columns = PAGE_COLUMNS;
    page->medium = NULL;
    page->context = NULL;
    buf_init(&page->value);
}

void page_release(struct page *page)
{
    buf_release(&page->value);
}

static void print(struct page *page, const struct buf *lines)
{
    if (lines->failed || page->value.failed)
        sink_fail(page->out, SS_E_NOMEM, ENOMEM);
    sink_write(page->out, buf_text(lines), lines->size);
    sink_write(page->out, "\n", 1);
    buf_reset(&page->value);
}

/* The medium has what was on the page. */
static void start_anew(struct page *page)
{
    if (page->value.failed)
        sink_fail(page->out, SS_E_NOMEM, ENOMEM);
    buf_reset(&page->value);
}

void page_title(struct page *page)
{
    page->medium->title(page->context, buf_text(&page->value));
    start_anew(page);
}

void page_paragraph(struct page *page, bool bold)
{
    if (page->value.size > 0)
        page->medium->paragraph(page->context, buf_text(&page->value), bold);
    start_anew(page);
}

void page_field(struct page *page, const char *label)
{
    struct buf lines = {0};

    if (page->medium) {
        page->medium->field(page->context, label, buf_text(&page->value));
        start_anew(page);
        return;
    }
    buf_printf(&lines, "%-*s", PAGE_LABEL_COLUMNS, label);
    text_wrap(&lines, buf_text(&page->value), page->value.size, PAGE_LABEL_COLUMNS, page->columns);
    print(page, &lines);
    buf_release(&lines);
}

void page_line(struct page *page)
{
    if (page->medium)
        page_paragraph(page, false);
    else
        print(page, &page->value);
}

void page_count(struct page *page, uint64_t count, const char *one, const char *many)
{
    char number[UNITS_SIZE];

    buf_printf(&page->value, "%s %s", units_integer(number, count), count == 1 ? one : many);
}

void page_joined(struct page *page, const char *format, ...)
{
    char words[JOINED_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    for (const char *at = words; *at; at++)
        buf_add_text(&page->value, *at == ' ' ? TEXT_NO_BREAK : (char[2]){*at, '\0'});
}

void page_text(struct page *page, struct ss_text text, size_t columns)
{
    text_fit(&page->value, text.data, text.size, columns);
}

void page_prose(struct page *page, const char *text)
{
    text_safe(&page->value, text, strlen(text));
}
