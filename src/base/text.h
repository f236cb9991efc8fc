/* Makes bytes that anyone may have written fit for a terminal.
 *
 * Names, commands and paths come from the recorded program. Shown as they are they could move the
 * cursor, recolour the screen, hide or reorder what stands around them. Here tabs, line breaks and
 * non-breaking spaces become a space; other control characters (ESC, C1), characters that reorder or hide text, what
 * is not UTF-8, and marks piled on one letter become U+FFFD. Text in any language stays. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Columns that a character takes: 0 (combining), 1, or 2 (East Asian wide, emoji). */
unsigned text_columns(uint32_t character);

/* Columns that the bytes take once they are made safe. */
size_t text_width(const char *data, size_t size);

/* Appends the bytes made safe. */
void text_safe(struct buf *out, const char *data, size_t size);

/* The same, cut to `columns`: what is too long ends in "...". */
void text_fit(struct buf *out, const char *data, size_t size, size_t columns);

#define TEXT_NO_BREAK "\xc2\xa0" /* between words that text_wrap() keeps together */

/* The same, broken at spaces into lines of `columns`; all but the first begin with `indent`
 * spaces, which count. Several spaces become one; no line end after the last line. */
void text_wrap(struct buf *out, const char *data, size_t size, size_t indent,
               size_t columns);

#endif
