/* What traces say: the file "device" of a run that was imported (format 1.3), and the file
 * "operations" of one that had windows of a framework's own profiler (format 1.4).
 *
 * A table of rows of a few kinds, each with whole numbers and at most one text. The importer makes
 * it, reports read it; a file from anywhere is read as far as it makes sense. */
#ifndef LOAD_DEVICE_TABLE_H
#define LOAD_DEVICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define DEVICE_TABLE_FILE "device"

/* Columns of each kind; keys of JSON too. Times of a device are of its window: its steps, or from
 * its first event to its last. */
#define DEVICE_COLUMNS(X)                                                                          \
    X(RANK, "rank")                                                                                \
    X(ID, "id")                                                                                    \
    X(EVENTS, "events")                                                                            \
    X(WINDOW_NS, "window_ns")                                                                      \
    X(EXTENT_NS, "extent_ns")                                                                      \
    X(BUSY_NS, "busy_ns")                                                                          \
    X(KERNEL_NS, "kernel_ns")                                                                      \
    X(COMPUTE_NS, "compute_ns")                                                                    \
    X(COMM_NS, "comm_ns")                                                                          \
    X(COMM_EXPOSED_NS, "comm_exposed_ns")                                                          \
    X(COPY_NS, "transfer_ns")                                                                      \
    X(COPY_EXPOSED_NS, "transfer_exposed_ns")                                                      \
    X(HOST_NS, "idle_host_ns")                                                                     \
    X(DATA_NS, "idle_data_ns")                                                                     \
    X(LAUNCH_NS, "idle_launch_ns")                                                                 \
    X(UNKNOWN_NS, "idle_unknown_ns")                                                               \
    X(EARLIER_NS, "idle_earlier_ns")

#define STEP_COLUMNS(X)                                                                            \
    X(RANK, "rank")                                                                                \
    X(ID, "id")                                                                                    \
    X(NUMBER, "number")                                                                            \
    X(START_NS, "start_ns")                                                                        \
    X(WALL_NS, "wall_ns")                                                                          \
    X(KERNEL_NS, "kernel_ns")                                                                      \
    X(COPY_NS, "memcpy_ns")                                                                        \
    X(SET_NS, "memset_ns")                                                                         \
    X(COMM_NS, "comm_ns")                                                                          \
    X(RUNTIME_NS, "runtime_ns")                                                                    \
    X(DATA_NS, "data_ns")                                                                          \
    X(CPU_NS, "cpu_ns")                                                                            \
    X(OTHER_NS, "other_ns")

#define TRANSFER_COLUMNS(X)                                                                        \
    X(COUNT, "count")                                                                              \
    X(BYTES, "bytes")                                                                              \
    X(TOTAL_NS, "total_ns")

#define KERNEL_COLUMNS(X)                                                                          \
    X(CALLS, "calls")                                                                              \
    X(TOTAL_NS, "total_ns")                                                                        \
    X(MOST_NS, "max_ns")

#define COLLECTIVE_COLUMNS(X)                                                                      \
    X(CALLS, "calls")                                                                              \
    X(TOTAL_NS, "total_ns")                                                                        \
    X(LEAST_NS, "min_ns")                                                                          \
    X(MOST_NS, "max_ns")                                                                           \
    X(ELEMENTS, "elements")                                                                        \
    X(RANKS, "ranks")

#define LAYER_COLUMNS(X)                                                                           \
    X(CALLS, "calls")                                                                              \
    X(HOST_NS, "host_ns")                                                                          \
    X(DEVICE_NS, "device_ns")

#define WINDOW_COLUMNS(X)                                                                          \
    X(PID, "pid")                                                                                  \
    X(STEPS, "steps")                                                                              \
    X(BEGAN_NS, "began_ns")                                                                        \
    X(WALL_NS, "wall_ns")                                                                          \
    X(COVERED_NS, "covered_ns")                                                                    \
    X(EVENTS, "events")                                                                            \
    X(COST_NS, "own_cost_ns")

#define OPERATION_COLUMNS(X)                                                                       \
    X(WINDOW, "window")                                                                            \
    X(PASS, "pass")                                                                                \
    X(CALLS, "calls")                                                                              \
    X(SELF_NS, "self_ns")                                                                          \
    X(FLOPS, "flops")                                                                              \
    X(BYTES, "bytes")

#define FACT_COLUMNS(X) X(VALUE, "value")

/* Kind, word in the file, columns; what the text of each is stands in format 1.3 and 1.4. */
#define DEVICE_TABLE_KINDS(X)                                                                      \
    X(FACT, "fact")                                                                                \
    X(DEVICE, "device")                                                                            \
    X(STEP, "step")                                                                                \
    X(TRANSFER, "transfer")                                                                        \
    X(KERNEL, "kernel")                                                                            \
    X(COLLECTIVE, "collective")                                                                    \
    X(LAYER, "layer")                                                                              \
    X(WINDOW, "window")                                                                            \
    X(OPERATION, "operation")

#define DEVICE_ENUM(id, text) TABLE_##id,
enum device_kind { DEVICE_TABLE_KINDS(DEVICE_ENUM) TABLE_KINDS };

#define DEVICE_COLUMN_ENUM(id, text) DEVICE_##id,
enum device_column { DEVICE_COLUMNS(DEVICE_COLUMN_ENUM) DEVICE_COLUMN_COUNT };
#define STEP_COLUMN_ENUM(id, text) STEP_##id,
enum step_column { STEP_COLUMNS(STEP_COLUMN_ENUM) STEP_COLUMN_COUNT };
#define TRANSFER_COLUMN_ENUM(id, text) TRANSFER_##id,
enum transfer_column { TRANSFER_COLUMNS(TRANSFER_COLUMN_ENUM) TRANSFER_COLUMN_COUNT };
#define KERNEL_COLUMN_ENUM(id, text) KERNEL_##id,
enum kernel_column { KERNEL_COLUMNS(KERNEL_COLUMN_ENUM) KERNEL_COLUMN_COUNT };
#define COLLECTIVE_COLUMN_ENUM(id, text) COLLECTIVE_##id,
enum collective_column { COLLECTIVE_COLUMNS(COLLECTIVE_COLUMN_ENUM) COLLECTIVE_COLUMN_COUNT };
#define LAYER_COLUMN_ENUM(id, text) LAYER_##id,
enum layer_column { LAYER_COLUMNS(LAYER_COLUMN_ENUM) LAYER_COLUMN_COUNT };
#define WINDOW_COLUMN_ENUM(id, text) WINDOW_##id,
enum window_column { WINDOW_COLUMNS(WINDOW_COLUMN_ENUM) WINDOW_COLUMN_COUNT };
#define OPERATION_COLUMN_ENUM(id, text) OPERATION_##id,
enum operation_column { OPERATION_COLUMNS(OPERATION_COLUMN_ENUM) OPERATION_COLUMN_COUNT };

enum { DEVICE_TABLE_NUMBERS = 20 };

struct device_row {
    char *text; /* "": none */
    int64_t number[DEVICE_TABLE_NUMBERS];
};

struct device_rows {
    struct device_row *items;
    size_t count, capacity;
};

struct device_table {
    struct device_rows rows[TABLE_KINDS];
    bool failed; /* out of memory */
};

void device_table_release(struct device_table *table);

/* A row with this text, of zeros, to be filled before the next one is added; NULL: no memory. */
struct device_row *device_table_add(struct device_table *table, enum device_kind kind,
                                    const char *text);

/* The text of a fact, or NULL; its number, or `otherwise`. */
const char *device_table_fact(const struct device_table *table, const char *key);
int64_t device_table_number(const struct device_table *table, const char *key, int64_t otherwise);

/* The sum of a column. */
int64_t device_table_sum(const struct device_table *table, enum device_kind kind, unsigned column);

size_t device_table_columns(enum device_kind kind);
const char *device_table_column(enum device_kind kind, size_t column);

/* The content of the file, and back. */
void device_table_write(struct buf *out, const struct device_table *table);
void device_table_parse(struct device_table *table, const char *data, size_t size);

/* The file of this name of the run in this directory; without it the table is empty. 0 or
 * SS_E_NOMEM. */
int device_table_load(struct device_table *table, const char *path, const char *file);

#endif
