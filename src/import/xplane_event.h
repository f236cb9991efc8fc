/* One event of an XPlane trace, and what it is to us. */
#ifndef IMPORT_XPLANE_EVENT_H
#define IMPORT_XPLANE_EVENT_H

#include "import/xplane_meta.h"
#include "import/xplane_steps.h"

enum { EVENT_TEXT_BYTES = 2048, LINE_DEPTH = 64 };

/* Operations of a line that are open, outermost first. */
struct open_operation {
    int64_t end_ns;
    uint32_t layer;
};

enum line_role {
    LINE_OTHER,
    LINE_STREAM,
    LINE_STEPS,
    LINE_THREAD,
    LINE_INPUT /* a thread that makes batches: what it computes is no part of a step */
};

/* A line of a plane: a stream of a device, or a thread. */
struct xplane_line {
    struct plane *plane;
    enum line_role role;
    uint16_t thread, device;
    int64_t start_ns; /* to be added to the times of its events */
    unsigned depth;
    struct open_operation open[LINE_DEPTH];
};

struct xplane_event {
    struct plane_name *name; /* NULL: the file does not say */
    int64_t start_ns, end_ns;
    int64_t correlation, step, program, bytes; /* -1: not there */
    bool is_function_call;
    struct plane_name *annotation_name; /* its text, if many events share it */
    char annotation[EVENT_TEXT_BYTES];  /* its text otherwise, "": none */
    char instruction[256];              /* of a compiled program, "": none */
};

struct xplane_reading {
    struct trace *trace;
    struct xplane_meta *meta;
    struct mark_list marks;
};

void xplane_event_clear(struct xplane_event *event);

/* Keeps of it what a run needs. */
void xplane_event_add(struct xplane_reading *reading, struct xplane_line *line,
                      const struct xplane_event *event);

#endif
