#include "import/trace_layers.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 256, PATH_MOST = 2000 };

/* The layers of a thread that are open at some time, outermost first. */
struct open_layers {
    uint16_t thread;
    unsigned depth;
    const struct host_span *open[DEPTH_MOST];
};

static void close_until(struct open_layers *layers, int64_t now_ns)
{
    while (layers->depth > 0 && layers->open[layers->depth - 1]->end_ns < now_ns)
        layers->depth--;
}

static void open_layer(struct trace *trace, struct open_layers *layers, struct host_span *span)
{
    struct buf path = {0};

    close_until(layers, span->start_ns);
    if (layers->depth == DEPTH_MOST)
        return;
    if (layers->depth > 0)
        buf_printf(&path, "%s/", trace_text(trace, layers->open[layers->depth - 1]->name));
    buf_add_text(&path, trace_text(trace, span->name));
    if (!path.failed && path.size < PATH_MOST)
        span->name = trace_name(trace, path.data, path.size);
    trace->failed |= path.failed;
    buf_release(&path);
    layers->open[layers->depth++] = span;
}

static int events_by_launch(const void *a, const void *b)
{
    const struct device_event *x = *(const struct device_event *const *)a;
    const struct device_event *y = *(const struct device_event *const *)b;

    return x->launch_ns < y->launch_ns ? -1 : x->launch_ns > y->launch_ns;
}

/* Gives an event the innermost layer that is open when it is launched. */
static void name_layer(struct open_layers *layers, struct device_event *event)
{
    if (event->thread != layers->thread)
        return;
    close_until(layers, event->launch_ns);
    if (layers->depth > 0)
        event->layer = layers->open[layers->depth - 1]->name;
}

/* Layers and launches of one thread, in the order of time. */
static void walk(struct trace *trace, struct open_layers *layers, struct device_event **events,
                 size_t count)
{
    size_t next = 0;

    layers->depth = 0;
    for (size_t i = 0; i < trace->layers.count; i++) {
        struct host_span *span = &trace->layers.items[i];
        if (span->thread != layers->thread)
            continue;
        for (; next < count && events[next]->launch_ns < span->start_ns; next++)
            name_layer(layers, events[next]);
        open_layer(trace, layers, span);
    }
    for (; next < count; next++)
        name_layer(layers, events[next]);
}

void trace_layers_find(struct trace *trace)
{
    const size_t count = trace->event_count;
    struct open_layers *layers = malloc(sizeof *layers);
    struct device_event **events = calloc(count + 1, sizeof *events);
    bool *has_layers = calloc(trace->thread_count + 1, sizeof *has_layers);

    trace->failed |= !layers || !events || !has_layers;
    if (!trace->failed && trace->layers.count > 0) {
        for (size_t i = 0; i < count; i++)
            events[i] = &trace->events[i];
        qsort(events, count, sizeof *events, events_by_launch);
        for (size_t i = 0; i < trace->layers.count; i++)
            has_layers[trace->layers.items[i].thread] = true;
        for (size_t i = 0; i < trace->thread_count; i++) {
            layers->thread = (uint16_t)i;
            if (has_layers[i])
                walk(trace, layers, events, count);
        }
    }
    free(has_layers);
    free(layers);
    free(events);
}
