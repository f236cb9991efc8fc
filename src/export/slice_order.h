/* Puts the begins and ends of a thread's spans into an order that nests.
 *
 * A span is known when it ends, after those inside it; trace processors sort events by time and
 * leave those of one nanosecond as they find them. So a span's begin must come before the begin of
 * what starts inside it at the same time. What starts with the first span inside another one is
 * held until that one has ended; all else goes on at once. Held is what has one time at each depth,
 * so memory is bounded by the depth, whatever the length of the run. */
#ifndef EXPORT_SLICE_ORDER_H
#define EXPORT_SLICE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepscope/reader.h"

struct slice {
    ss_ns start_ns, end_ns;
    uint64_t name;
    int64_t argument;
    uint16_t flags;
    uint8_t stage;
};

struct slice_edge {
    struct slice slice;
    bool is_end;
};

enum { SLICE_LEVELS = SS_STACK_DEPTH + 1, SLICE_HELD_MOST = 1024 };

struct slice_order {
    void (*give)(void *context, const struct slice_edge *edge);
    void *context;
    struct slice_level {
        ss_ns time_ns; /* of all that is held */
        struct slice_edge *edges;
        size_t count, capacity;
    } levels[SLICE_LEVELS];
    unsigned deepest; /* nothing is held below it */
};

void slice_order_init(struct slice_order *order,
                      void (*give)(void *context, const struct slice_edge *edge), void *context);

/* The next span of the thread, in the order in which they ended. */
void slice_order_add(struct slice_order *order, const struct slice *slice, unsigned depth);

/* Gives all that is held: no more will come, or what comes is of another thread. */
void slice_order_flush(struct slice_order *order);
void slice_order_release(struct slice_order *order);

#endif
