#include "html/html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "stepscope/error.h"

#define JSON_LESS "\\u003c" /* for "<" */

void html_init(struct html *html, struct sink *out)
{
    html->out = out;
    buf_init(&html->safe);
}

void html_release(struct html *html)
{
    buf_release(&html->safe);
}

void html_markup(struct html *html, const char *markup)
{
    sink_text(html->out, markup);
}

void html_printf(struct html *html, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink_text(html->out, text);
}

static const char *escape_of(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void escape(struct sink *out, const char *data, size_t size)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        const char *instead = escape_of(data[i]);
        if (!instead)
            continue;
        sink_write(out, data + from, i - from);
        sink_text(out, instead);
        from = i + 1;
    }
    sink_write(out, data + from, size - from);
}

void html_bytes(struct html *html, const char *data, size_t size, size_t columns)
{
    buf_reset(&html->safe);
    text_fit(&html->safe, data, size, columns);
    if (html->safe.failed)
        sink_fail(html->out, SS_E_NOMEM, ENOMEM);
    escape(html->out, buf_text(&html->safe), html->safe.size);
}

/* In pieces, since text_fit() would make plain spaces of those that must not break. One that is cut
 * has plain ones: it must not end without its dots because a piece of it ended at the limit. */
void html_text(struct html *html, const char *sentence)
{
    struct buf kept = {0};

    if (text_width(sentence, strlen(sentence)) > HTML_TEXT_MOST) {
        html_bytes(html, sentence, strlen(sentence), HTML_TEXT_MOST);
        return;
    }
    text_keep_units(&kept, sentence, strlen(sentence));
    if (kept.failed)
        sink_fail(html->out, SS_E_NOMEM, ENOMEM);
    const char *text = buf_text(&kept);
    for (const char *next; (next = strstr(text, TEXT_NO_BREAK));
         text = next + strlen(TEXT_NO_BREAK)) {
        html_bytes(html, text, (size_t)(next - text), HTML_TEXT_MOST);
        html_markup(html, TEXT_NO_BREAK);
    }
    html_bytes(html, text, strlen(text), HTML_TEXT_MOST);
    buf_release(&kept);
}

size_t html_json_size(const struct buf *json)
{
    const char *data = buf_text(json);
    size_t size = json->size;

    for (size_t i = 0; i < json->size; i++)
        size += data[i] == '<' ? sizeof JSON_LESS - 2 : 0;
    return size;
}

void html_json(struct html *html, const struct buf *json)
{
    const char *data = buf_text(json);
    size_t from = 0;

    if (json->failed)
        sink_fail(html->out, SS_E_NOMEM, ENOMEM);
    for (size_t i = 0; i < json->size; i++) {
        if (data[i] != '<')
            continue;
        sink_write(html->out, data + from, i - from);
        sink_text(html->out, JSON_LESS);
        from = i + 1;
    }
    sink_write(html->out, data + from, json->size - from);
}
