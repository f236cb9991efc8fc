/* What the operations of a window took themselves: without those that they called. */
#ifndef IMPORT_OPERATIONS_H
#define IMPORT_OPERATIONS_H

#include "import/trace.h"
#include "load/device_table.h"
#include "load/operation_list.h"

/* What the name of an operation says about the part of a step that it, and all in it, belongs to.
 */
enum operation_hint {
    HINT_NONE,
    HINT_FORWARD,
    HINT_BACKWARD,
    HINT_OPTIMIZER,
    HINT_DATA,
    HINT_OTHER
};

struct operation_event {
    int64_t start_ns, end_ns;
    int64_t self_ns; /* found by operations_settle() */
    uint32_t name;   /* of struct name_set */
    uint16_t thread;
    uint8_t hint; /* enum operation_hint */
    uint8_t pass; /* enum operation_pass, found by operations_settle() */
    bool is_note; /* a scope that has a name, no operation */
};

struct operations {
    struct operation_event *items;
    size_t count, capacity;
    int64_t
        covered_ns; /* of the thread that trains: in an operation; found by operations_settle() */
    bool is_cut;    /* there were too many */
    bool failed;    /* out of memory */
};

void operations_release(struct operations *operations);
void operations_add(struct operations *operations, const struct operation_event *event);

/* When all are there: what each took itself, and in which pass. A name says that it is a part of
 * the backward pass, the optimizer, or the input pipeline; what is before a backward pass is
 * forward, and what is between one and the optimizer belongs to the optimizer. */
void operations_settle(struct operations *operations);

/* A row for each name and pass; `window` is its number in the table. false: no memory. */
bool operations_tell(const struct operations *operations, const struct name_set *names,
                     int64_t window, struct device_table *table);

/* Of a trace of Kineto: see trace->watch. */
struct kineto_event;
void operations_watch_kineto(void *operations, struct trace *trace,
                             const struct kineto_event *event);

#endif
