/* Adds up what the devices of a trace did: the rows of a device table (docs/import.md). */
#ifndef IMPORT_DEVICE_BOOKS_H
#define IMPORT_DEVICE_BOOKS_H

#include "import/trace.h"
#include "load/device_table.h"

/* The trace is settled. false: no memory. */
bool device_books_add(struct device_table *table, const struct trace *trace);

#endif
