/* The validity stamp: what disturbed a run, each with its number (rule book 8.1, 8.2). A disturbance of
 * which the counter is missing here is "not observable", never ruled out. Without a supervisor that is all but what
 * the processes themselves tell. */
#ifndef DIAGNOSE_VALIDITY_H
#define DIAGNOSE_VALIDITY_H

#include "model/snapshot.h"

enum validity_level {
    VALIDITY_OK,
    VALIDITY_UNSEEN, /* its counter is absent or denied */
    VALIDITY_NOTE,   /* it happened; too little to change a verdict */
    VALIDITY_WARN    /* it changed times */
};

enum { VALIDITY_TEXT_SIZE = 120 };

struct validity_item {
    const char *id;
    enum validity_level level;
    double value;                  /* in the unit; NAN: none */
    const char *unit;              /* "share", "count", "ppm" */
    char text[VALIDITY_TEXT_SIZE]; /* "heat slowed cores down 3 times" */
};

enum { VALIDITY_ITEMS = 16 };

struct validity {
    enum validity_level level; /* the worst; UNSEEN counts as OK if anything is seen */
    struct validity_item item[VALIDITY_ITEMS];
    size_t count;
};

void validity_judge(struct validity *out, const struct snapshot *snapshot,
                    const struct ss_run *run);

const char *validity_level_text(enum validity_level level);

#endif
