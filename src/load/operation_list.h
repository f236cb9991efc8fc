/* What windows of a framework's own profiler say of operations: the file "operations" of a run
 * (format 1.4), a table in the form of device_table.h, summed up over the windows. */
#ifndef LOAD_OPERATION_LIST_H
#define LOAD_OPERATION_LIST_H

#include "load/device_table.h"

#define OPERATION_TABLE_FILE "operations"

/* Parts of a step: number in the file, word of JSON and text. */
#define OPERATION_PASSES(X)                                                                        \
    X(FORWARD, 0, "forward")                                                                       \
    X(BACKWARD, 1, "backward")                                                                     \
    X(OPTIMIZER, 2, "optimizer")                                                                   \
    X(DATA, 3, "data")                                                                             \
    X(OTHER, 4, "other")

#define OPERATION_PASS_ENUM(id, number, text) PASS_##id = number,
enum operation_pass { OPERATION_PASSES(OPERATION_PASS_ENUM) PASS_COUNT };

struct operation {
    char *name;
    enum operation_pass pass;
    int64_t calls, self_ns; /* in all windows */
    int64_t flops, bytes;   /* the same; -1: not known */
};

struct operation_list {
    struct operation *items; /* those that took most first */
    size_t count;
    int64_t windows, steps, events;
    int64_t wall_ns;    /* of all windows */
    int64_t covered_ns; /* of that, in an operation */
    int64_t self_ns;    /* of all operations, on all threads */
    int64_t cost_ns;    /* what the windows cost the training */
    char *framework;    /* whose profiler it was; "" without windows */
};

const char *operation_pass_text(enum operation_pass pass);

/* Of the run in this directory; without such a file it is empty. 0 or an SS_E code; release it in
 * either case. */
int operation_list_load(struct operation_list *list, const char *path);
void operation_list_release(struct operation_list *list);

#endif
