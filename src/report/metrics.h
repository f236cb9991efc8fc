/* The metrics of a loop: one line each in metrics.c, from which the JSON report, its schema, the
 * table in docs/report.md and the columns of text and page take it (tools/generate-docs). */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include "base/json.h"
#include "render/numbers.h"
#include "render/table.h"
#include "summary/snapshot.h"

enum metric_type {
    METRIC_COUNT,   /* int64_t, 0 or more */
    METRIC_INTEGER, /* int64_t, -1: none */
    METRIC_NUMBER,  /* double, NAN: not known */
    METRIC_POSITIVE,
    METRIC_SHARE,    /* struct interval, from 0 to 1 */
    METRIC_INTERVAL, /* struct interval, not negative */
};

struct metric {
    const char *name;   /* key in JSON */
    const char *ci;     /* key of its 95 % interval; NULL: it has none */
    const char *column; /* its title in the table of stages; NULL: it is not shown there */
    enum metric_type type;
    size_t offset; /* in the struct of its group */
    /* It is a column if there are this many values; the columns that a narrow page leaves out first
     * have the largest `drop`. */
    uint64_t least, most;
    unsigned drop;
    const char *meaning;
};

struct metric_group {
    const char *name; /* as tools/generate-docs calls it */
    const struct metric *metric;
    size_t count;
};

/* Offsets are in struct snap_loop (steady, throughput), snap_stage, snap_quantiles. */
extern const struct metric_group metrics_steady, metrics_throughput, metrics_stage,
    metrics_quantiles;

/* All keys of a group, in the order of the table. */
void metrics_json(struct json *json, const struct metric_group *group, const void *from);

/* The columns of stages over `count` steps; a row of them. */
void metrics_columns(struct table *table, const struct metric_group *group, uint64_t count);
void metrics_cells(struct table *table, const struct metric_group *group, const void *from,
                   uint64_t count, struct scale scale);

/* For tools/generate-docs: what the schema calls the type. */
const char *metric_type_text(enum metric_type type);

#endif
