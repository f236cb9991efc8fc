/* A table as wide as its cells need and no wider than the page. One column gives way: a bar gets
 * what the others leave, else a text is cut. Before that becomes too little, columns that may be
 * missing are left out. */
#ifndef RENDER_TABLE_H
#define RENDER_TABLE_H

#include "base/compiler.h"
#include "render/page.h"
#include "render/style.h"

enum { TABLE_COLUMNS = 20 };

enum table_kind {
    TABLE_NUMBER, /* to the right */
    TABLE_TEXT,   /* to the left; the first one gives way if there is no bar */
    TABLE_BAR
};

struct table_column {
    const char *title;
    enum table_kind kind;
    unsigned drop; /* 0: stays; on a narrow page the largest one goes first */
};

struct table {
    struct table_column column[TABLE_COLUMNS];
    size_t columns;
    size_t text_wanted; /* of the text: before it gets less, columns are left out */
    struct buf cells;   /* each ends with 0, row by row */
    size_t count;       /* of cells */
};

void table_init(struct table *table);
void table_release(struct table *table);
void table_column(struct table *table, const char *title, enum table_kind kind);
void table_optional(struct table *table, const char *title, enum table_kind kind, unsigned drop);

/* The cells of a row, from left to right. Texts may be anything, the rest is ours. */
void table_text(struct table *table, const char *text);
void table_cell(struct table *table, const char *format, ...) ATTR_PRINTF(2, 3);
void table_bar(struct table *table, double share, int colour);

/* The share and the colour of a bar, from its cell. */
double table_bar_share(const char *cell, int *colour);

/* Prints the titles, if there are any, and the rows, and empties the table but for its columns. */
void table_print(struct table *table, struct page *page, const struct style *style);

#endif
