#include "import/host_stages.h"

#include <stdlib.h>
#include <string.h>

#include "import/intervals.h"
#include "read/array.h"

/* One thread's operations, and what other threads do of its backward passes. */
struct search {
    const struct trace *trace;
    uint16_t thread;
    size_t begin; /* of this step in `out` */
    struct intervals backward;
    struct stage_list *out;
};

/* From one step to the next, or from one update to the next. */
struct stretch_of_step {
    size_t first, end;        /* operations */
    int64_t start_ns, end_ns; /* of the step */
    int64_t backward_ns;      /* the last end of a backward pass in it; INT64_MIN: none */
    int64_t data_ns;          /* the first begin of a wait for data; INT64_MAX: none */
};

void stage_list_release(struct stage_list *list)
{
    free(list->items);
    *list = (struct stage_list){0};
}

/* Stages of which only the whole is known: what is between two parts of one belongs to it. */
static bool is_merged(enum ss_stage stage)
{
    return stage == SS_STAGE_FORWARD || stage == SS_STAGE_BACKWARD || stage == SS_STAGE_TRANSFER;
}

/* Spans of a step are merged with those of the same step only. */
static void add(struct search *search, const struct stage_span *span)
{
    struct stage_list *list = search->out;
    struct stage_span *last = list->count > search->begin ? &list->items[list->count - 1] : NULL;

    if (span->end_ns <= span->start_ns)
        return;
    if (last && last->stage == span->stage && last->name == span->name &&
        is_merged((enum ss_stage)span->stage)) {
        last->end_ns = span->end_ns;
        return;
    }
    struct stage_span *grown =
        array_grow(list->items, &list->capacity, sizeof *list->items, list->count + 1);
    list->failed |= !grown;
    if (!grown)
        return;
    list->items = grown;
    grown[list->count++] = *span;
}

static void find_backward(struct search *search)
{
    for (size_t t = 0; t < search->trace->thread_count; t++) {
        const struct trace_thread *thread = &search->trace->threads[t];
        if (t == search->thread || thread->backward == 0)
            continue;
        for (size_t i = 0; i < thread->top.count; i++)
            intervals_add(&search->backward, thread->top.items[i].start_ns,
                          thread->top.items[i].end_ns);
    }
    intervals_settle(&search->backward);
    search->out->failed |= search->backward.failed;
}

/* From the first to the last moment between these two in which another thread runs a part of a
 * backward pass. */
static bool backward_between(const struct search *search, int64_t from_ns, int64_t to_ns,
                             struct stage_span *out)
{
    const struct intervals *set = &search->backward;
    size_t low = 0, high = set->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->items[middle].end_ns <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == set->count || set->items[low].start_ns >= to_ns)
        return false;
    *out = (struct stage_span){.stage = SS_STAGE_BACKWARD};
    out->start_ns = set->items[low].start_ns > from_ns ? set->items[low].start_ns : from_ns;
    while (low + 1 < set->count && set->items[low + 1].start_ns < to_ns)
        low++;
    out->end_ns = set->items[low].end_ns < to_ns ? set->items[low].end_ns : to_ns;
    return true;
}

static const struct span_list *operations(const struct search *search)
{
    return &search->trace->threads[search->thread].top;
}

static bool is_update(const struct trace *trace, const struct host_span *span)
{
    return strncmp(trace_text(trace, span->name), "Optimizer.step", 14) == 0;
}

/* The root of a backward pass is made just before it. */
static bool is_root(const struct search *search, const struct host_span *span, int64_t next_ns)
{
    struct stage_span unused;

    return strcmp(trace_text(search->trace, span->name), "aten::ones_like") == 0 &&
           backward_between(search, span->end_ns, next_ns, &unused);
}

/* SS_STAGE_OTHER: it is in no stage. */
static enum ss_stage stage_of(const struct search *search, const struct stretch_of_step *step,
                              const struct host_span *span, int64_t next_ns, bool forward)
{
    if (span->stage != SS_STAGE_OTHER)
        return (enum ss_stage)span->stage;
    if (span->is_backward || is_root(search, span, next_ns))
        return SS_STAGE_BACKWARD;
    if (span->end_ns <= step->data_ns && step->data_ns != INT64_MAX)
        return SS_STAGE_OTHER; /* what the profiler does itself at the begin of a step */
    if (step->backward_ns != INT64_MIN && span->start_ns > step->backward_ns)
        return SS_STAGE_OTHER;
    return span->has_copy && !forward ? SS_STAGE_TRANSFER : SS_STAGE_FORWARD;
}

static void look_ahead(const struct search *search, struct stretch_of_step *step)
{
    const struct span_list *top = operations(search);
    struct stage_span span;

    step->backward_ns = INT64_MIN;
    step->data_ns = INT64_MAX;
    for (size_t i = step->first; i < step->end; i++) {
        const struct host_span *item = &top->items[i];
        if (item->is_backward)
            step->backward_ns = item->end_ns;
        if (item->stage == SS_STAGE_DATA && step->data_ns == INT64_MAX)
            step->data_ns = item->start_ns;
    }
    if (backward_between(search, step->start_ns, step->end_ns, &span) &&
        span.end_ns > step->backward_ns)
        step->backward_ns = span.end_ns;
}

static void add_stretch(struct search *search, struct stretch_of_step *step)
{
    const struct span_list *top = operations(search);
    int64_t at_ns = step->start_ns;
    bool forward = false;
    struct stage_span span;

    look_ahead(search, step);
    search->begin = search->out->count;
    for (size_t i = step->first; i <= step->end; i++) {
        const struct host_span *item = i < step->end ? &top->items[i] : NULL;
        const int64_t start_ns = item ? item->start_ns : step->end_ns;
        const int64_t next_ns = i + 1 < step->end ? top->items[i + 1].start_ns : step->end_ns;
        if (backward_between(search, at_ns, start_ns, &span))
            add(search, &span);
        if (!item)
            break;
        at_ns = item->end_ns > at_ns ? item->end_ns : at_ns;
        const enum ss_stage stage = stage_of(search, step, item, next_ns, forward);
        forward = stage == SS_STAGE_FORWARD || (forward && stage == SS_STAGE_SYNC);
        if (stage == SS_STAGE_OTHER)
            continue;
        add(search,
            &(struct stage_span){.start_ns = item->start_ns,
                                 .end_ns = item->end_ns,
                                 .name = item->stage == SS_STAGE_OTHER ? TRACE_NO_NAME : item->name,
                                 .stage = (uint8_t)stage,
                                 .is_update = is_update(search->trace, item)});
    }
}

/* Steps of the profiler, each up to the begin of the next one. */
static void add_steps(struct search *search)
{
    const struct trace *trace = search->trace;
    const struct span_list *top = operations(search);
    size_t at = 0;

    for (size_t i = 0; i < trace->step_count; i++) {
        if (trace->steps[i].thread != search->thread)
            continue;
        struct stretch_of_step step = {.start_ns = trace->steps[i].start_ns,
                                       .end_ns = trace->steps[i].end_ns};
        while (at < top->count && top->items[at].start_ns < step.start_ns)
            at++;
        step.first = at;
        while (at < top->count && top->items[at].end_ns <= step.end_ns)
            at++;
        step.end = at;
        add_stretch(search, &step);
    }
}

/* Without them each update ends one. */
static void add_updates(struct search *search)
{
    const struct span_list *top = operations(search);
    struct stretch_of_step step = {.start_ns = search->trace->first_ns};

    for (size_t i = 0; i < top->count; i++) {
        if (i + 1 < top->count && !is_update(search->trace, &top->items[i]))
            continue;
        step.end = i + 1;
        step.end_ns = i + 1 < top->count ? top->items[i].end_ns : search->trace->last_ns;
        add_stretch(search, &step);
        step.first = step.end;
        step.start_ns = step.end_ns;
    }
}

/* Adds a stretch, a piece for each step: the model gives a span to one of them. */
static void add_in_steps(struct search *search, const struct stretch *stretch, enum ss_stage stage)
{
    const struct trace *trace = search->trace;
    int64_t at_ns = stretch->start_ns;
    size_t low = 0, high = trace->step_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (trace->steps[middle].thread == search->thread && trace->steps[middle].start_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (at_ns < stretch->end_ns) {
        const bool is_cut = low < trace->step_count && trace->steps[low].thread == search->thread &&
                            trace->steps[low].start_ns < stretch->end_ns;
        const int64_t end_ns = is_cut ? trace->steps[low++].start_ns : stretch->end_ns;
        search->begin = search->out->count; /* pieces of different steps stay apart */
        add(search,
            &(struct stage_span){.start_ns = at_ns, .end_ns = end_ns, .stage = (uint8_t)stage});
        at_ns = end_ns;
    }
}

/* Operations that run on any thread, as a compiled function's do: computing is when one runs, a
 * wait for data is when none does. */
static void add_any_thread(struct search *search)
{
    const struct trace *trace = search->trace;
    struct intervals compute = {0}, waits = {0}, data = {0};

    for (size_t t = 0; t < trace->thread_count; t++)
        for (size_t i = 0; i < trace->threads[t].top.count; i++) {
            const struct host_span *span = &trace->threads[t].top.items[i];
            if (span->stage != SS_STAGE_SYNC)
                intervals_add(span->stage == SS_STAGE_DATA ? &waits : &compute, span->start_ns,
                              span->end_ns);
        }
    intervals_settle(&compute);
    intervals_settle(&waits);
    intervals_subtract(&data, &waits, &compute);
    for (size_t i = 0, k = 0; i < compute.count || k < data.count;) {
        const bool is_data = i == compute.count ||
                             (k < data.count && data.items[k].start_ns < compute.items[i].start_ns);
        add_in_steps(search, is_data ? &data.items[k++] : &compute.items[i++],
                     is_data ? SS_STAGE_DATA : SS_STAGE_COMPUTE);
    }
    search->out->failed |= data.failed;
    intervals_release(&compute);
    intervals_release(&waits);
    intervals_release(&data);
}

void host_stages_find(struct stage_list *out, const struct trace *trace, uint16_t thread)
{
    struct search search = {.trace = trace, .thread = thread, .out = out};

    if (trace->form == TRACE_XPLANE) {
        add_any_thread(&search);
        return;
    }

    find_backward(&search);
    if (trace->step_count > 0 && trace->steps[0].thread == thread)
        add_steps(&search);
    else
        add_updates(&search);
    intervals_release(&search.backward);
}

uint16_t host_stages_thread(const struct trace *trace)
{
    uint16_t best = TRACE_NO_THREAD;
    int64_t most_ns = 0;

    if (trace->step_count > 0 && trace->steps[0].thread != TRACE_NO_THREAD)
        return trace->steps[0].thread; /* those of threads come first */
    for (size_t t = 0; t < trace->thread_count; t++) {
        const struct trace_thread *thread = &trace->threads[t];
        int64_t own_ns = 0;
        for (size_t i = 0; i < thread->top.count; i++)
            own_ns += thread->top.items[i].end_ns - thread->top.items[i].start_ns;
        /* A thread that only runs backward passes trains for another one. */
        if (thread->backward * 2 < thread->top.count + 1 && own_ns > most_ns) {
            best = (uint16_t)t;
            most_ns = own_ns;
        }
    }
    return best;
}
