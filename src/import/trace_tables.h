/* The tables of a trace: kernels, collectives, transfers, layers, each by its name. */
#ifndef IMPORT_TRACE_TABLES_H
#define IMPORT_TRACE_TABLES_H

#include "import/trace.h"
#include "load/device_table.h"

/* Of several traces of a run each adds to the same rows. A table that has failed says so. */
void trace_tables_add(struct device_table *table, const struct trace *trace);

/* When all are in: the largest first, and only this many of the small ones. */
void trace_tables_finish(struct device_table *table);

#endif
