/* The lines of a manifest (docs/format.md 1): "key: value". */
#ifndef BASE_FACT_LINE_H
#define BASE_FACT_LINE_H

#include <stdint.h>

#include "base/buf.h"

/* Line ends and backslashes in the value are escaped. */
void fact_line(struct buf *out, const char *key, const char *value);
void fact_line_number(struct buf *out, const char *key, int64_t value);

#endif
