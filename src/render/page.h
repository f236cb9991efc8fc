/* A page for people: labelled paragraphs and lines, as wide as the terminal; or another medium. */
#ifndef RENDER_PAGE_H
#define RENDER_PAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/sink.h"
#include "stepscope/reader.h"

enum { PAGE_COLUMNS = 80, PAGE_LABEL_COLUMNS = 10 };

struct table;

/* A medium that has no columns, as a web page: gets titles, paragraphs, fields and tables whole.
 * Texts are not made safe. An empty label goes on with the field before. */
struct page_medium {
    void (*title)(void *context, const char *text);
    void (*paragraph)(void *context, const char *text, bool bold);
    void (*field)(void *context, const char *label, const char *text);
    void (*table)(void *context, const struct table *table);
};

struct page {
    struct sink *out;
    struct buf value; /* the paragraph under construction */
    size_t columns;
    const struct page_medium *medium; /* NULL: lines of text, to `out` */
    void *context;
};

/* 80 columns wide. */
void page_init(struct page *page, struct sink *out);
void page_release(struct page *page);

/* Prints the paragraph after its label, wrapped, and starts a new one. */
void page_field(struct page *page, const char *label);

/* Prints the line as it is: for tables. */
void page_line(struct page *page);

/* Gives what is on the page as a title or a paragraph to its medium, which there must be. */
void page_title(struct page *page);
void page_paragraph(struct page *page, bool bold);

/* Adds to the paragraph: "1 span", "1,234 spans"; a few words that no line end parts (a number and
 * its unit stay together in any text); a text made safe and cut to `columns`; one made safe. */
void page_count(struct page *page, uint64_t count, const char *one, const char *many);
void page_joined(struct page *page, const char *format, ...) ATTR_PRINTF(2, 3);
void page_text(struct page *page, struct ss_text text, size_t columns);
void page_prose(struct page *page, const char *text);

#endif
