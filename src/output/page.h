/* A page of text for people: labelled paragraphs and lines, as wide as the terminal. */
#ifndef OUTPUT_PAGE_H
#define OUTPUT_PAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/sink.h"
#include "stepscope/reader.h"

enum { PAGE_COLUMNS = 80, PAGE_LABEL_COLUMNS = 10 };

struct page {
    struct sink *out;
    struct buf value; /* the paragraph under construction */
    size_t columns;
};

/* 80 columns wide. */
void page_init(struct page *page, struct sink *out);
void page_release(struct page *page);

/* Prints the paragraph after its label, wrapped, and starts a new one. */
void page_field(struct page *page, const char *label);

/* Prints the line as it is: for tables. */
void page_line(struct page *page);

/* Adds to the paragraph: "1 span", "1,234 spans"; words that no line end parts; a text made safe
 * and cut to `columns`. */
void page_count(struct page *page, uint64_t count, const char *one, const char *many);
void page_joined(struct page *page, const char *words);
void page_text(struct page *page, struct ss_text text, size_t columns);

#endif
