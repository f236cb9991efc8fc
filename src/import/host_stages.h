/* What the thread that trains did, in stages: made of what nests in nothing (docs/import.md). */
#ifndef IMPORT_HOST_STAGES_H
#define IMPORT_HOST_STAGES_H

#include "import/trace.h"

struct stage_span {
    int64_t start_ns, end_ns;
    uint32_t name;  /* TRACE_NO_NAME: that of its stage */
    uint8_t stage;  /* enum ss_stage */
    bool is_update; /* an optimizer step */
};

struct stage_list {
    struct stage_span *items; /* in order, none overlapping another */
    size_t count, capacity;
    bool failed; /* out of memory */
};

void stage_list_release(struct stage_list *list);

/* Of this thread of a settled trace; `out` is empty. */
void host_stages_find(struct stage_list *out, const struct trace *trace, uint16_t thread);

/* The thread that trains: that of the steps, else the one with most time in operations;
 * TRACE_NO_THREAD if there is none. */
uint16_t host_stages_thread(const struct trace *trace);

#endif
