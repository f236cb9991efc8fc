/* Bars that start at 0, one colour a stage on all surfaces (the palette of Okabe and Ito); a label
 * stands beside each, so that colour alone says nothing. */
#ifndef OUTPUT_BAR_H
#define OUTPUT_BAR_H

#include "base/buf.h"
#include "output/report.h"

enum { BAR_PLAIN = -1 };

/* Appends a bar for `share` (0 to 1) of `columns`, and spaces up to there. `colour`: a stage, or
 * BAR_PLAIN. */
void bar_add(struct buf *out, double share, size_t columns, int colour,
             const struct report_style *style);

/* What stands between these is bold, where colours are. */
const char *style_bold(const struct report_style *style);
const char *style_faint(const struct report_style *style);
const char *style_plain(const struct report_style *style);

#endif
