/* Bytes that anyone may have written, as text that is fit for a terminal; UTF-8.
 *
 * Names, commands and paths come from the recorded program. Shown as they are they could move the
 * cursor, recolour the screen, hide or reorder what stands around them. Here tabs, line breaks and
 * non-breaking spaces become a space; other control characters (ESC, C1), characters that reorder
 * or hide text, what is not UTF-8, and marks piled on one letter become U+FFFD. Text in any
 * language stays. */
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

#define TEXT_NO_BREAK "\xc2\xa0" /* a space that is no place for a line end */

/* Appends the bytes, with such a space between each number and its unit: "12.3 ms", "4 min 12 s",
 * "95 %", "1,000 steps". */
void text_keep_units(struct buf *out, const char *data, size_t size);

/* Appends the bytes made safe, broken at spaces into lines of `columns`, but not between a number
 * and its unit; all lines but the first begin with `indent` spaces, which count. Several spaces
 * become one; no line end after the last line. */
void text_wrap(struct buf *out, const char *data, size_t size, size_t indent, size_t columns);

/* UTF-8 that may be anything, read and written. */

#define UTF8_REPLACEMENT 0xfffdu

enum { UTF8_MAX_BYTES = 4 };

/* Takes the first character of `size` > 0 bytes and returns how many bytes it was. Bytes that are
 * not UTF-8 give UTF8_REPLACEMENT, once for each maximal subpart (the longest start of a valid
 * sequence, or one byte): what Unicode recommends and Python's "replace" does. */
size_t utf8_next(const char *data, size_t size, uint32_t *character);

/* Bytes of a text, at most `max`; a text that is longer is cut between two characters. */
size_t utf8_cut(const char *text, size_t max);

/* Writes a character and returns how many bytes it took. */
size_t utf8_put(char out[UTF8_MAX_BYTES], uint32_t character);

#endif
