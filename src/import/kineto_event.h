/* One event of a Kineto trace, and what it is to us. */
#ifndef IMPORT_KINETO_EVENT_H
#define IMPORT_KINETO_EVENT_H

#include "import/json_pull.h"
#include "import/trace.h"

/* Of "cat", whose words have changed over the years. */
enum kineto_category {
    KINETO_OTHER,
    KINETO_KERNEL,
    KINETO_COPY,
    KINETO_SET,
    KINETO_CALL,       /* cuda_runtime, cuda_driver, ... */
    KINETO_OPERATION,  /* cpu_op, Operator */
    KINETO_ANNOTATION, /* user_annotation */
    KINETO_PYTHON      /* python_function */
};

struct kineto_event {
    enum kineto_category category;
    char ph;
    bool has_time, has_duration;
    uint64_t pid, tid;
    int64_t start_ns, duration_ns;
    int64_t correlation, device, bytes, elements, group; /* -1: not there */
    char collective[64], dtype[32];
    char name[PULL_TEXT_BYTES];
};

void kineto_event_clear(struct kineto_event *event);
enum kineto_category kineto_category(const char *text);

/* What the name of an operation, or of a scope, says of the stage that it is a part of;
 * SS_STAGE_OTHER: nothing. */
void kineto_event_meaning(const char *name, enum ss_stage *stage, bool *is_backward);

/* Keeps of it what a run needs. */
void kineto_event_add(struct trace *trace, const struct kineto_event *event);

#endif
