/* What may be a step of an XPlane trace, of which the best kind becomes its steps. */
#ifndef IMPORT_XPLANE_STEPS_H
#define IMPORT_XPLANE_STEPS_H

#include "import/trace.h"

/* The best first. */
enum mark_kind {
    MARK_DEVICE,   /* what the framework made of its own events: on a device */
    MARK_NUMBERED, /* the program says so */
    MARK_CALL,     /* a call of a compiled function */
    MARK_RUN       /* the same, of a function without a name */
};

struct mark {
    int64_t start_ns, end_ns;
    int64_t number;
    uint32_t name;
    uint16_t thread, device; /* TRACE_NO_THREAD: of the device */
    uint8_t kind;            /* enum mark_kind */
};

struct mark_list {
    struct mark *items;
    size_t count, capacity;
};

/* Memory that there is not shows in trace->failed. */
void marks_add(struct mark_list *list, struct trace *trace, const struct mark *mark);

/* Adds the steps to the trace; releases the list. */
void marks_settle(struct mark_list *list, struct trace *trace);

#endif
