/* A segment as columns, so that like stands next to like (format 11.2), and back.
 *
 * Every segment comes back byte for byte. The way back trusts nothing: any content gives a segment,
 * or is refused. */
#ifndef PACK_COLUMNS_H
#define PACK_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "stepscope/format.h"

/* Where a plane ends: what comes next is of another kind, and is compressed by itself. */
enum { COLUMN_CUTS_MOST = 3 + SS_COLUMN_COUNT * 8 };

/* Memory for the work on one segment after the other; about 300 KB. */
struct columns;

struct columns *columns_new(void); /* NULL: no memory */
void columns_free(struct columns *columns);

struct column_content {
    const uint8_t *bytes; /* of `columns`, until its next use */
    size_t size;
    size_t cut[COLUMN_CUTS_MOST]; /* ascending; the last one is `size` */
    unsigned cuts;
};

/* The form in which a segment of the file is packed best. */
enum ss_packed_form columns_form(const uint8_t *segment, size_t size);

/* `form` is none for which columns_form() has not decided. False: as columns it would be larger. */
bool columns_make(struct columns *columns, enum ss_packed_form form, const uint8_t *segment,
                  struct column_content *content);

/* Writes SS_SEGMENT_BYTES to `segment`. False: the content is invalid. */
bool columns_undo(struct columns *columns, enum ss_packed_form form, const uint8_t *content,
                  size_t size, uint8_t *segment);

#endif
