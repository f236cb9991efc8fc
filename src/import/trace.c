#include "import/trace.h"

#include <stdlib.h>
#include <string.h>

#include "import/name_set.h"
#include "read/array.h"

enum { THREADS_MOST = 65000, DEVICES_MOST = 4096 };

void trace_init(struct trace *trace, enum trace_form form)
{
    *trace = (struct trace){
        .form = form, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .pid = -1, .rank = -1};
    trace->failed = name_set_add(&trace->names, "", 0) == NAME_SET_FULL;
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        free(trace->threads[i].top.items);
        free(trace->threads[i].late.items);
    }
    name_set_release(&trace->names);
    free(trace->events);
    free(trace->calls);
    free(trace->threads);
    free(trace->steps);
    free(trace->devices);
    free(trace->notes.items);
    free(trace->layers.items);
    free(trace->sums);
    *trace = (struct trace){0};
}

uint32_t trace_name(struct trace *trace, const char *text, size_t size)
{
    const uint32_t name = name_set_add(&trace->names, text, size);

    trace->failed |= name == NAME_SET_FULL;
    return name == NAME_SET_FULL ? TRACE_NO_NAME : name;
}

const char *trace_text(const struct trace *trace, uint32_t name)
{
    return name_set_text(&trace->names, name);
}

/* The place of one more item, or NULL. */
static void *one_more(struct trace *trace, void **items, size_t *count, size_t *capacity,
                      size_t size)
{
    void *grown = array_grow(*items, capacity, size, *count + 1);

    if (!grown) {
        trace->failed = true;
        return NULL;
    }
    *items = grown;
    return (char *)grown + size * (*count)++;
}

#define ONE_MORE(trace, items, count, capacity)                                                    \
    one_more(trace, (void **)&(items), &(count), &(capacity), sizeof *(items))

static void add_span(struct trace *trace, struct span_list *list, const struct host_span *span)
{
    struct host_span *place = ONE_MORE(trace, list->items, list->count, list->capacity);

    if (place)
        *place = *span;
}

uint16_t trace_thread(struct trace *trace, uint64_t pid, uint64_t tid)
{
    /* The last ones first: events come thread by thread. */
    for (size_t i = trace->thread_count; i-- > 0;)
        if (trace->threads[i].tid == tid && trace->threads[i].pid == pid)
            return (uint16_t)i;
    if (trace->thread_count == THREADS_MOST)
        return THREADS_MOST - 1;
    struct trace_thread *thread =
        ONE_MORE(trace, trace->threads, trace->thread_count, trace->thread_capacity);
    if (!thread)
        return 0;
    *thread = (struct trace_thread){.pid = pid, .tid = tid};
    return (uint16_t)(trace->thread_count - 1);
}

uint16_t trace_device(struct trace *trace, int64_t id)
{
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return (uint16_t)i;
    if (trace->device_count == DEVICES_MOST)
        return DEVICES_MOST - 1;
    struct trace_device *device =
        ONE_MORE(trace, trace->devices, trace->device_count, trace->device_capacity);
    if (!device)
        return 0;
    *device = (struct trace_device){.id = id};
    return (uint16_t)(trace->device_count - 1);
}

static void see(struct trace *trace, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < trace->first_ns)
        trace->first_ns = start_ns;
    if (end_ns > trace->last_ns)
        trace->last_ns = end_ns;
}

void trace_add_event(struct trace *trace, const struct device_event *event)
{
    struct device_event *place =
        ONE_MORE(trace, trace->events, trace->event_count, trace->event_capacity);

    if (!place)
        return;
    see(trace, event->start_ns, event->end_ns);
    *place = *event;
    place->launch_ns = TRACE_NO_TIME;
    place->thread = TRACE_NO_THREAD;
}

void trace_add_call(struct trace *trace, const struct device_call *call)
{
    struct device_call *place =
        ONE_MORE(trace, trace->calls, trace->call_count, trace->call_capacity);

    if (!place)
        return;
    see(trace, call->start_ns, call->end_ns);
    *place = *call;
}

static bool contains(const struct host_span *outer, const struct host_span *inner)
{
    return outer->start_ns <= inner->start_ns && inner->end_ns <= outer->end_ns;
}

/* The span begins at or after the last one: it is new, or inside the last one. */
static void add_in_order(struct trace *trace, struct span_list *top, const struct host_span *span)
{
    if (top->count > 0 && contains(&top->items[top->count - 1], span))
        return;
    add_span(trace, top, span);
}

void trace_add_operation(struct trace *trace, const struct host_span *span)
{
    struct trace_thread *thread = &trace->threads[span->thread];
    struct span_list *top = &thread->top;

    see(trace, span->start_ns, span->end_ns);
    thread->backward += span->is_backward;
    while (top->count > 0 && contains(span, &top->items[top->count - 1]))
        top->count--;
    if (top->count == 0 || span->start_ns >= top->items[top->count - 1].start_ns)
        add_in_order(trace, top, span);
    else
        add_span(trace, &thread->late, span);
}

void trace_add_note(struct trace *trace, const struct host_span *span)
{
    see(trace, span->start_ns, span->end_ns);
    add_span(trace, &trace->notes, span);
}

void trace_add_layer(struct trace *trace, const struct host_span *span)
{
    add_span(trace, &trace->layers, span);
}

void trace_add_step(struct trace *trace, const struct trace_step *step)
{
    struct trace_step *place =
        ONE_MORE(trace, trace->steps, trace->step_count, trace->step_capacity);

    if (!place)
        return;
    see(trace, step->start_ns, step->end_ns);
    *place = *step;
}

void trace_add_to_layer(struct trace *trace, uint32_t layer, int64_t host_ns, int64_t calls)
{
    struct layer_sum *sums =
        array_grow(trace->sums, &trace->sum_capacity, sizeof *sums, (size_t)layer + 1);

    trace->failed |= !sums;
    if (!sums)
        return;
    trace->sums = sums;
    if (__builtin_add_overflow(sums[layer].ns, host_ns, &sums[layer].ns))
        sums[layer].ns = INT64_MAX;
    sums[layer].calls += calls;
}

/* Earlier first, and of those that begin together the longer one. */
static int by_start(const void *a, const void *b)
{
    const struct host_span *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static int events_by_start(const void *a, const void *b)
{
    const struct device_event *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int calls_by_correlation(const void *a, const void *b)
{
    const struct device_call *x = a, *y = b;

    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int calls_by_start(const void *a, const void *b)
{
    const struct device_call *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Those of the host first, each thread's and each device's together. */
static int steps_by_start(const void *a, const void *b)
{
    const struct trace_step *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void sort(void *items, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1)
        qsort(items, count, size, order);
}

/* Those that came late go to their places, and what nests goes. */
static void settle_thread(struct trace *trace, struct trace_thread *thread)
{
    struct span_list *top = &thread->top;
    size_t kept = 0;

    for (size_t i = 0; i < thread->late.count; i++)
        add_span(trace, top, &thread->late.items[i]);
    free(thread->late.items);
    thread->late = (struct span_list){0};
    sort(top->items, top->count, sizeof *top->items, by_start);
    for (size_t i = 0; i < top->count; i++)
        if (kept == 0 || !contains(&top->items[kept - 1], &top->items[i]))
            top->items[kept++] = top->items[i];
    top->count = kept;
}

static const struct device_call *find_call(const struct trace *trace, uint64_t correlation)
{
    size_t low = 0, high = trace->call_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (trace->calls[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->call_count && trace->calls[low].correlation == correlation
               ? &trace->calls[low]
               : NULL;
}

static void join_launches(struct trace *trace)
{
    size_t joined = 0, kept = 0;

    sort(trace->calls, trace->call_count, sizeof *trace->calls, calls_by_correlation);
    for (size_t i = 0; i < trace->event_count; i++) {
        struct device_event *event = &trace->events[i];
        const struct device_call *call =
            event->correlation != 0 ? find_call(trace, event->correlation) : NULL;
        if (!call)
            continue;
        event->launch_ns = call->start_ns;
        event->thread = call->thread;
        joined++;
    }
    if (joined > 0) {
        for (size_t i = 0; i < trace->event_count; i++)
            if (trace->events[i].launch_ns != TRACE_NO_TIME) {
                const struct device_event event = trace->events[i];
                trace->events[i] = trace->events[kept];
                trace->events[kept++] = event;
            }
        trace->unlaunched = trace->event_count - kept;
        trace->event_count = kept;
    }
    sort(trace->calls, trace->call_count, sizeof *trace->calls, calls_by_start);
}

/* The operation of the thread in which a call is says that it copies. */
static void mark_copies(struct trace *trace)
{
    for (size_t i = 0; i < trace->call_count; i++) {
        const struct device_call *call = &trace->calls[i];
        const struct span_list *top = &trace->threads[call->thread].top;
        size_t low = 0, high = top->count;
        if (call->kind != CALL_COPY)
            continue;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (top->items[middle].start_ns <= call->start_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && call->end_ns <= top->items[low - 1].end_ns)
            top->items[low - 1].has_copy = true;
    }
}

bool trace_settle(struct trace *trace)
{
    if (trace->failed)
        return false;
    for (size_t i = 0; i < trace->thread_count; i++)
        settle_thread(trace, &trace->threads[i]);
    join_launches(trace);
    mark_copies(trace);
    sort(trace->events, trace->event_count, sizeof *trace->events, events_by_start);
    sort(trace->steps, trace->step_count, sizeof *trace->steps, steps_by_start);
    sort(trace->notes.items, trace->notes.count, sizeof *trace->notes.items, by_start);
    sort(trace->layers.items, trace->layers.count, sizeof *trace->layers.items, by_start);
    for (size_t i = 0; i < trace->event_count; i++)
        trace->devices[trace->events[i].device].events++;
    return !trace->failed;
}

const struct trace_step *trace_steps_of(const struct trace *trace, uint16_t device, size_t *count)
{
    const bool on_host = trace->step_count > 0 && trace->steps[0].thread != TRACE_NO_THREAD;
    const struct trace_step *first = NULL;

    *count = 0;
    for (size_t i = 0; i < trace->step_count; i++) {
        const struct trace_step *step = &trace->steps[i];
        if (on_host ? step->thread != trace->steps[0].thread : step->device != device)
            continue;
        if (*count == 0)
            first = step;
        ++*count;
    }
    return first;
}
