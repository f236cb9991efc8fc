/* Writes rows of cells with commas between them, quoted as RFC 4180 says, a line feed at the end.
 *
 * Spreadsheets take a cell that begins with = + - or @ for a formula, which may run programs. Texts of
 * a run get an apostrophe in front of such a character, also after a quote, a comma or a semicolon, where a
 * program that parts cells elsewhere would see a beginning. Control characters and what is not UTF-8
 * go as base/text.h has it. */
#ifndef EXPORT_CSV_CELLS_H
#define EXPORT_CSV_CELLS_H

#include "base/sink.h"
#include "stepscope/reader.h"

struct csv_row {
    struct sink *out;
    bool filled; /* has a cell already */
};

/* Our own words: without commas and quotes. */
void csv_word(struct csv_row *row, const char *word);
void csv_int(struct csv_row *row, int64_t value);
void csv_empty(struct csv_row *row);
void csv_end(struct csv_row *row);

/* Several cells that are made already, as by csv_quote(). */
void csv_cells(struct csv_row *row, const char *cells, size_t size);

/* Appends a text of a run as one cell. */
void csv_quote(struct buf *out, struct ss_text text);

#endif
