/* What is shown of the machine while a run went on: the counters that are worth a row, chosen once
 * for all who show them, each with its name, its unit and a word on it. */
#ifndef REPORT_MACHINE_ROWS_H
#define REPORT_MACHINE_ROWS_H

#include "summary/snapshot.h"

enum { MACHINE_ROWS_MOST = 192 }; /* 16 GPUs have 144 */

struct machine_row {
    char label[64];                /* "command" */
    const char *unit;              /* "cores" */
    double size;                   /* of a unit: values are divided by it */
    struct snap_resource resource; /* its own numbers, not divided */
    char note[64];                 /* "": none */
};

struct machine_rows {
    struct machine_row row[MACHINE_ROWS_MOST];
    size_t count;
};

/* Those of one kind follow each other: cores, memory, traffic, GPUs. `loop` may be NULL. */
void machine_rows_choose(struct machine_rows *out, const struct snapshot *snapshot,
                         const struct snap_loop *loop);

#endif
