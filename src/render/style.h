/* How text looks on the medium that it goes to: width, colours, bars. */
#ifndef RENDER_STYLE_H
#define RENDER_STYLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "stepscope/vocabulary.h"

enum { STYLE_COLUMNS = 80 };

struct style {
    unsigned columns; /* of a line, at most */
    bool blocks;      /* bars of block elements, else of # */
    bool colour;
};

/* For a descriptor: COLUMNS or the terminal's width; blocks if the locale has UTF-8; colour if it
 * is a terminal and NO_COLOR is not set. */
struct style style_for(int fd);

/* Escape sequences that switch to bold and faint text and back; "" without colour. */
const char *style_bold(const struct style *style);
const char *style_faint(const struct style *style);
const char *style_plain(const struct style *style);

/* Bars that start at 0, one colour a stage on all surfaces (the palette of Okabe and Ito); a label
 * stands beside each, so that colour alone says nothing. */
enum { BAR_PLAIN = -1 };

/* Appends a bar for `share` (0 to 1) of `columns`, and spaces up to there. `colour`: a stage, or
 * BAR_PLAIN. */
void bar_add(struct buf *out, double share, size_t columns, int colour, const struct style *style);

#endif
