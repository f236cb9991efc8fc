#include "import/xplane_event.h"

#include <stdlib.h>
#include <string.h>

#include "import/device_words.h"
#include "import/xplane_layer.h"

void xplane_event_clear(struct xplane_event *event)
{
    memset(event, 0, offsetof(struct xplane_event, annotation));
    event->correlation = event->step = event->program = event->bytes = -1;
    event->annotation[0] = event->instruction[0] = '\0';
}

static uint32_t layer_of_text(struct trace *trace, const char *text)
{
    char path[EVENT_TEXT_BYTES];
    const size_t length = xplane_layer_of_operation(text, path, sizeof path);

    return length > 0 ? trace_name(trace, path, length) : TRACE_NO_NAME;
}

/* The layer that a name of the file says, which is found out once. */
static uint32_t layer_of_name(struct trace *trace, struct plane_name *name)
{
    if (name->layer == NO_LAYER_YET) {
        char text[EVENT_TEXT_BYTES]; /* the text of a trace moves when it gets another name */
        strncpy(text, trace_text(trace, name->name), sizeof text - 1);
        text[sizeof text - 1] = '\0';
        name->layer = layer_of_text(trace, text);
    }
    return name->layer;
}

static uint32_t layer_of(struct xplane_reading *reading, const struct xplane_event *event)
{
    if (event->instruction[0])
        return xplane_meta_layer(reading->meta, event->program, event->instruction);
    if (event->annotation_name)
        return layer_of_name(reading->trace, event->annotation_name);
    if (event->annotation[0])
        return layer_of_text(reading->trace, event->annotation);
    return event->name->kind == HOST_OPERATION ? layer_of_name(reading->trace, event->name)
                                               : TRACE_NO_NAME;
}

static void add_device_event(struct xplane_reading *reading, const struct xplane_line *line,
                             const struct xplane_event *event)
{
    struct trace *trace = reading->trace;
    const char *name = trace_text(trace, event->name->name);
    struct device_event item = {
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .correlation = event->correlation > 0 ? (uint64_t)event->correlation : 0,
        .bytes = event->bytes > 0 ? (uint64_t)event->bytes : 0,
        .name = event->name->name,
        .device = line->device,
        .activity = device_word_activity(name),
        .route = device_word_route(name),
    };

    if (item.activity == ACTIVITY_COMM)
        item.collective = item.name;
    item.layer = layer_of(reading, event);
    trace_add_event(trace, &item);
}

static void add_launch(struct trace *trace, const struct xplane_line *line,
                       const struct xplane_event *event)
{
    const char *name = trace_text(trace, event->name->name);
    const struct device_call call = {
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .correlation = (uint64_t)event->correlation,
        .thread = line->thread,
        .kind = device_word_call(name),
    };

    trace_add_call(trace, &call);
}

/* Its time is that of its layer, without the operations inside it, which have their own. Events of
 * a thread come in the order of their begin. */
static void add_to_layer(struct xplane_reading *reading, struct xplane_line *line,
                         const struct xplane_event *event)
{
    const uint32_t layer = layer_of(reading, event);
    const int64_t own_ns = event->end_ns - event->start_ns;

    while (line->depth > 0 && line->open[line->depth - 1].end_ns <= event->start_ns)
        line->depth--;
    if (line->depth > 0 && line->open[line->depth - 1].layer != TRACE_NO_NAME &&
        event->end_ns <= line->open[line->depth - 1].end_ns)
        trace_add_to_layer(reading->trace, line->open[line->depth - 1].layer, -own_ns, 0);
    if (layer != TRACE_NO_NAME)
        trace_add_to_layer(reading->trace, layer, own_ns, 1);
    if (line->depth < LINE_DEPTH)
        line->open[line->depth++] = (struct open_operation){event->end_ns, layer};
}

static void add_operation(struct trace *trace, const struct xplane_line *line,
                          const struct xplane_event *event, enum ss_stage stage)
{
    const struct host_span span = {.start_ns = event->start_ns,
                                   .end_ns = event->end_ns,
                                   .name = event->name->name,
                                   .thread = line->thread,
                                   .stage = (uint8_t)stage};

    trace_add_operation(trace, &span);
}

static void add_mark(struct xplane_reading *reading, const struct xplane_line *line,
                     const struct xplane_event *event, enum mark_kind kind, int64_t number)
{
    const struct mark mark = {.start_ns = event->start_ns,
                              .end_ns = event->end_ns,
                              .number = number,
                              .name = event->name->name,
                              .thread = line->thread,
                              .device = line->device,
                              .kind = (uint8_t)kind};

    marks_add(&reading->marks, reading->trace, &mark);
}

static void add_input_event(struct xplane_reading *reading, const struct xplane_line *line,
                            const struct xplane_event *event)
{
    if (event->correlation > 0)
        add_launch(reading->trace, line, event);
    if (event->name->kind == HOST_DATA)
        add_operation(reading->trace, line, event, SS_STAGE_DATA);
}

static void add_host_event(struct xplane_reading *reading, struct xplane_line *line,
                           const struct xplane_event *event)
{
    const enum host_event what = (enum host_event)event->name->kind;

    if (event->correlation > 0)
        add_launch(reading->trace, line, event);
    if (event->step >= 0)
        add_mark(reading, line, event, MARK_NUMBERED, event->step);
    else if (event->is_function_call || what == HOST_CALL)
        add_mark(reading, line, event, MARK_CALL, 0);
    else if (what == HOST_RUN)
        add_mark(reading, line, event, MARK_RUN, 0);
    if (what == HOST_OPERATION || event->instruction[0])
        add_to_layer(reading, line, event);
    if (what == HOST_DATA)
        add_operation(reading->trace, line, event, SS_STAGE_DATA);
    else if (what == HOST_OPERATION || what == HOST_AROUND || event->instruction[0])
        add_operation(reading->trace, line, event, SS_STAGE_OTHER);
}

void xplane_event_add(struct xplane_reading *reading, struct xplane_line *line,
                      const struct xplane_event *event)
{
    char *end;

    reading->trace->seen++;
    if (!event->name || event->end_ns < event->start_ns)
        return;
    switch (line->role) {
    case LINE_STREAM:
        add_device_event(reading, line, event);
        break;
    case LINE_STEPS: {
        const char *text = trace_text(reading->trace, event->name->name);
        const int64_t number = strtoll(text, &end, 10);
        add_mark(reading, line, event, MARK_DEVICE,
                 *text && *end == '\0' && number >= 0 ? number : 0);
        break;
    }
    case LINE_THREAD:
        add_host_event(reading, line, event);
        break;
    case LINE_INPUT:
        add_input_event(reading, line, event);
        break;
    case LINE_OTHER:
        break;
    }
}
