/* Writes HTML into a sink. Markup is ours; whatever anybody else may have written goes through
 * html_text(), which is the only way for it onto a page. */
#ifndef HTML_HTML_H
#define HTML_HTML_H

#include "base/buf.h"
#include "base/compiler.h"
#include "base/sink.h"

struct html {
    struct sink *out;
    struct buf safe; /* scratch */
};

void html_init(struct html *html, struct sink *out);
void html_release(struct html *html);

/* Markup, and numbers and words of ours among it: nothing of a run. */
void html_markup(struct html *html, const char *markup);
void html_printf(struct html *html, const char *format, ...) ATTR_PRINTF(2, 3);

/* Columns of a sentence: more than any of ours has, while a name in it may be of any length. */
enum { HTML_TEXT_MOST = 4000 };

/* Any text, made safe (base/text.h) and escaped, both between tags and inside "": what is longer
 * than `columns`, or than HTML_TEXT_MOST, ends in "...". Sentences, which html_text() is for, keep
 * numbers and units together. */
void html_text(struct html *html, const char *sentence);
void html_bytes(struct html *html, const char *data, size_t size, size_t columns);

/* JSON for a <script type="application/json">: no "<" of it can end the element. */
void html_json(struct html *html, const struct buf *json);
size_t html_json_size(const struct buf *json); /* bytes that it becomes */

#endif
