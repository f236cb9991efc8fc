/* The records of one process file to be: spans, steps and loops, added in any order and written in
 * the order in which a recorder would have written them. */
#ifndef IMPORT_RUN_ITEMS_H
#define IMPORT_RUN_ITEMS_H

#include "import/run_lane.h"
#include "import/run_writer.h"

enum run_item_kind { ITEM_SPAN, ITEM_DEVICE_SPAN, ITEM_LOOP_END, ITEM_LOOP_BEGIN, ITEM_STEP };

/* A record to be. A point has its time as its end. */
struct run_item {
    int64_t start_ns, end_ns;
    uint16_t name;
    uint8_t what; /* of what is at the same time, the order */
    uint8_t stage, depth, nest;
    bool is_note; /* may go if it does not nest */
    bool dropped;
};

struct run_items {
    const struct trace *trace;
    struct run_writer writer;
    struct run_item *items;
    size_t count, capacity;
    uint16_t *names; /* of the file, by the trace's name and what it is */
    int64_t shift_ns;
    bool failed;
};

/* Makes the file, of this process and rank (-1: not known). Finish it in either case. */
bool run_items_begin(struct run_items *items, const struct trace *trace,
                     const struct run_lane_place *place, int64_t pid, int64_t rank);

/* The name of the file for one of the trace (TRACE_NO_NAME: that of the stage), made when it is
 * used first. */
uint16_t run_items_name(struct run_items *items, uint32_t name, enum ss_stage stage, bool update);

/* To be filled before the next one is added; NULL: no memory. */
struct run_item *run_items_add(struct run_items *items, enum run_item_kind what, int64_t start_ns,
                               int64_t end_ns);

/* Marks, a loop around those that follow each other, and a new one after a gap. */
void run_items_steps(struct run_items *items, const struct trace_step *steps, size_t count);

/* Writes all, and closes the file. 0 or errno. */
int run_items_finish(struct run_items *items);

#endif
