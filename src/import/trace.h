/* What is kept of a trace, whatever its form: what devices did, which call launched it, and of the
 * host what nests in nothing. What nests in an operation says nothing more about a step, and is
 * forgotten as soon as that is known: memory grows with the launches, not with the file.
 *
 * Times are nanoseconds on the clock of the trace. */
#ifndef IMPORT_TRACE_H
#define IMPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/name_set.h"
#include "stepscope/vocabulary.h"

enum { TRACE_NO_NAME = 0, TRACE_NO_THREAD = UINT16_MAX };
#define TRACE_NO_TIME INT64_MIN

/* What a device does: in this order each takes its time out of a step. */
enum activity { ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_SET, ACTIVITY_COMM, ACTIVITIES };

/* Where a copy goes. */
enum route { ROUTE_HTOD, ROUTE_DTOH, ROUTE_DTOD, ROUTE_OTHER, ROUTES };

struct device_event {
    int64_t start_ns, end_ns;
    int64_t launch_ns; /* when the host began to launch it; TRACE_NO_TIME: not known */
    uint64_t correlation, bytes;
    int64_t elements; /* that a collective sends, and among how many ranks; 0: not known */
    int64_t ranks;
    uint32_t name, collective, layer; /* of struct name_set */
    uint16_t device;                  /* of trace->devices */
    uint16_t thread;                  /* that launched it; TRACE_NO_THREAD: not known */
    uint8_t activity, route;
};

enum call_kind { CALL_LAUNCH, CALL_COPY, CALL_SYNC };

/* A call into the driver of a device. */
struct device_call {
    int64_t start_ns, end_ns;
    uint64_t correlation; /* 0: none */
    uint16_t thread;
    uint8_t kind;
};

/* A span of the host. What a thread did, top down: `stage` of what is known by its name. */
struct host_span {
    int64_t start_ns, end_ns;
    uint32_t name;
    uint16_t thread;
    uint8_t stage;    /* enum ss_stage; SS_STAGE_OTHER: an operation, which the step decides */
    bool has_copy;    /* it copied to or from a device */
    bool is_backward; /* a part of a backward pass */
};

struct span_list {
    struct host_span *items;
    size_t count, capacity;
};

struct trace_thread {
    uint64_t pid, tid;
    struct span_list top;  /* sorted, none inside another */
    struct span_list late; /* came out of order: settled at the end */
    uint64_t backward;     /* how many parts of a backward pass */
};

struct trace_step {
    int64_t start_ns, end_ns;
    int64_t number;
    uint16_t thread; /* of the host, TRACE_NO_THREAD: of `device` */
    uint16_t device;
};

struct trace_device {
    int64_t id;
    uint32_t name; /* of the hardware */
    uint64_t events;
};

enum trace_form { TRACE_KINETO, TRACE_XPLANE };

/* What was done in a layer, as operations say that name theirs. */
struct layer_sum {
    int64_t ns, calls;
};

struct kineto_event;

struct trace {
    enum trace_form form;
    struct name_set names;
    struct device_event *events;
    size_t event_count, event_capacity;
    struct device_call *calls;
    size_t call_count, call_capacity;
    struct trace_thread *threads;
    size_t thread_count, thread_capacity;
    struct trace_step *steps;
    size_t step_count, step_capacity;
    struct trace_device *devices;
    size_t device_count, device_capacity;
    struct span_list notes;  /* what the user named: they nest in anything */
    struct span_list layers; /* modules */
    struct layer_sum *sums;  /* of the host, by the layer's name */
    size_t sum_capacity;
    uint64_t seen;     /* events of the trace */
    size_t unlaunched; /* launched before the trace began: behind the others in `events` */
    int64_t first_ns, last_ns;
    int64_t base_ns;          /* to be added for nanoseconds since 1970 */
    int64_t pid, rank, world; /* -1, -1, 0: not known */
    uint32_t host;
    bool failed; /* out of memory */

    /* Gets the events of a Kineto trace, of which nothing is kept then; NULL: no one. */
    void (*watch)(void *context, struct trace *trace, const struct kineto_event *event);
    void *watch_context;
};

void trace_init(struct trace *trace, enum trace_form form);
void trace_release(struct trace *trace);

/* The number of a text; the same text has one number. */
uint32_t trace_name(struct trace *trace, const char *text, size_t size);
const char *trace_text(const struct trace *trace, uint32_t name);

uint16_t trace_thread(struct trace *trace, uint64_t pid, uint64_t tid);
uint16_t trace_device(struct trace *trace, int64_t id);

/* Each looks at the times and counts them in. */
void trace_add_event(struct trace *trace, const struct device_event *event);
void trace_add_call(struct trace *trace, const struct device_call *call);
void trace_add_operation(struct trace *trace, const struct host_span *span);
void trace_add_note(struct trace *trace, const struct host_span *span);
void trace_add_layer(struct trace *trace, const struct host_span *span);
void trace_add_step(struct trace *trace, const struct trace_step *step);
/* An operation of a layer took this time: less than nothing to take back what nests in it. */
void trace_add_to_layer(struct trace *trace, uint32_t layer, int64_t host_ns, int64_t calls);

/* When all is read: sorts, and joins launches with what they launched. Device events that were
 * launched before the trace began are kept apart, as long as any launch is known. false: no
 * memory. */
bool trace_settle(struct trace *trace);

/* The steps, in order, that divide the work of a device of a settled trace: its own, else those of
 * the thread that trains, if no device has its own. */
const struct trace_step *trace_steps_of(const struct trace *trace, uint16_t device, size_t *count);

#endif
