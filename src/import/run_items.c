#include "import/run_items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/array.h"

/* A trace without the time of day begins at 0, a Kineto trace of 2021 when the machine did. */
static const int64_t since_1970_ns = INT64_C(100000000) * 1000000000;

bool run_items_begin(struct run_items *items, const struct trace *trace,
                     const struct run_lane_place *place, int64_t pid, int64_t rank)
{
    struct run_writer_process process = {
        .number = ++*place->processes,
        .pid = pid > 0 && pid < INT32_MAX ? (uint32_t)pid : *place->processes,
        .rank = rank >= 0 && rank < INT32_MAX ? (int32_t)rank : -1,
        .world = trace->world > 0 && trace->world < INT32_MAX ? (uint32_t)trace->world : 0,
    };

    *items = (struct run_items){.trace = trace, .writer = {.fd = -1}};
    if (trace->base_ns + trace->first_ns > since_1970_ns)
        process.realtime_ns = trace->base_ns + trace->first_ns;
    items->shift_ns = trace->base_ns - place->origin_ns;
    process.start_ns = trace->first_ns + items->shift_ns;
    process.end_ns = trace->last_ns + items->shift_ns;
    items->names = calloc(trace->names.count + SS_STAGE_COUNT, sizeof *items->names);
    items->failed = !items->names;
    if (run_writer_open(&items->writer, place->dir, &process) != 0 || !items->names)
        return false;
    run_writer_info(&items->writer, "imported", place->source);
    if (trace->host != TRACE_NO_NAME)
        run_writer_info(&items->writer, "host", trace_text(trace, trace->host));
    return true;
}

/* "Optimizer.step#SGD.step" is called "step", of an object "SGD". */
static uint16_t make_name(struct run_items *items, const char *text, enum ss_stage stage,
                          bool update)
{
    const char *hash = strchr(text, '#'), *dot = hash ? strchr(hash, '.') : NULL;
    const enum ss_role role = update ? SS_ROLE_UPDATE : SS_ROLE_NONE;

    if (strncmp(text, "Optimizer.", 10) != 0 || !dot)
        return run_writer_name(&items->writer, text, "", stage, role);
    char *object = strndup(hash + 1, (size_t)(dot - hash - 1));
    const uint16_t name =
        object ? run_writer_name(&items->writer, dot + 1, object, stage, role) : 0;
    items->failed |= !object;
    free(object);
    return name;
}

uint16_t run_items_name(struct run_items *items, uint32_t name, enum ss_stage stage, bool update)
{
    uint16_t *known =
        &items->names[name == TRACE_NO_NAME ? (uint32_t)stage : name + SS_STAGE_COUNT];

    if (*known == 0)
        *known = make_name(
            items, name == TRACE_NO_NAME ? ss_stage_text(stage) : trace_text(items->trace, name),
            stage, update);
    return *known;
}

struct run_item *run_items_add(struct run_items *items, enum run_item_kind what, int64_t start_ns,
                               int64_t end_ns)
{
    struct run_item *grown =
        array_grow(items->items, &items->capacity, sizeof *grown, items->count + 1);

    items->failed |= !grown;
    if (!grown)
        return NULL;
    items->items = grown;
    grown[items->count] = (struct run_item){.start_ns = start_ns + items->shift_ns,
                                            .end_ns = end_ns + items->shift_ns,
                                            .what = (uint8_t)what};
    return &grown[items->count++];
}

void run_items_steps(struct run_items *items, const struct trace_step *steps, size_t count)
{
    const struct trace_step *before = NULL;
    uint16_t loop = 0;

    for (size_t i = 0; i < count; i++) {
        const struct trace_step *step = &steps[i];
        if (before && step->start_ns < before->end_ns)
            continue;
        if (loop == 0)
            loop =
                run_writer_name(&items->writer, "profiled steps", "", SS_STAGE_OTHER, SS_ROLE_LOOP);
        struct run_item *item;
        if (before && step->number != before->number + 1 &&
            (item = run_items_add(items, ITEM_LOOP_END, before->end_ns, before->end_ns)))
            item->name = loop;
        if ((!before || step->number != before->number + 1) &&
            (item = run_items_add(items, ITEM_LOOP_BEGIN, step->start_ns, step->start_ns)))
            item->name = loop;
        run_items_add(items, ITEM_STEP, step->start_ns, step->start_ns);
        before = step;
    }
    if (before) {
        struct run_item *item = run_items_add(items, ITEM_LOOP_END, before->end_ns, before->end_ns);
        if (item)
            item->name = loop;
    }
}

static int outer_first(const void *a, const void *b)
{
    const struct run_item *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return y->is_note - x->is_note;
}

static int in_order_of_records(const void *a, const void *b)
{
    const struct run_item *x = a, *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static uint8_t nest_in(const struct run_item *outer)
{
    const enum ss_stage stage = (enum ss_stage)outer->stage;
    const unsigned opaque = stage != SS_STAGE_USER ? SS_NEST_OPAQUE : 0;
    const unsigned closed = SS_STAGE_IS_CLOSED(stage) ? SS_NEST_CLOSED : 0;
    const unsigned around = outer->nest & (unsigned)(SS_NEST_OPAQUE | SS_NEST_CLOSED);

    return (uint8_t)((unsigned)stage | SS_NEST_OPEN | opaque | closed | around);
}

/* What is around each span. A note that crosses the end of another span goes, and a stage does not
 * go on beyond the end of what it begins in. */
static void nest(struct run_items *items)
{
    const struct run_item *open[SS_STACK_DEPTH];
    unsigned depth = 0;

    for (size_t i = 0; i < items->count; i++) {
        struct run_item *item = &items->items[i];
        if (item->what != ITEM_SPAN)
            continue;
        while (depth > 0 && open[depth - 1]->end_ns <= item->start_ns)
            depth--;
        if (depth > 0 && item->end_ns > open[depth - 1]->end_ns) {
            item->dropped = item->is_note;
            item->end_ns = open[depth - 1]->end_ns;
        }
        item->dropped |= depth == SS_STACK_DEPTH - 1;
        if (item->dropped)
            continue;
        item->depth = (uint8_t)depth;
        item->nest = depth > 0 ? nest_in(open[depth - 1]) : 0;
        open[depth++] = item;
    }
}

/* Notes that a stage begins inside and outlives are of less use than the stage. */
static void drop_crossed_notes(struct run_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct run_item *note = &items->items[i];
        if (note->what != ITEM_SPAN || !note->is_note)
            continue;
        for (size_t k = i + 1; k < items->count && items->items[k].start_ns < note->end_ns; k++)
            if (items->items[k].what == ITEM_SPAN && !items->items[k].is_note &&
                items->items[k].end_ns > note->end_ns)
                note->dropped = true;
    }
}

static void write_item(struct run_items *items, const struct run_item *item)
{
    static const enum ss_kind kinds[] = {[ITEM_LOOP_END] = SS_KIND_LOOP_END,
                                         [ITEM_LOOP_BEGIN] = SS_KIND_LOOP_BEGIN,
                                         [ITEM_STEP] = SS_KIND_STEP};
    struct ss_rec_span span = {
        .head = {.kind = SS_KIND_SPAN,
                 .units = 1,
                 .name = item->name,
                 .flags = SS_FLAG_TRAIN,
                 .depth = item->depth,
                 .nest = item->nest},
        .start_ticks = (uint64_t)item->start_ns,
        .end_ticks = (uint64_t)item->end_ns,
    };

    if (item->what == ITEM_DEVICE_SPAN)
        span.head.flags |= SS_FLAG_PRODUCER | SS_FLAG_APPENDED;
    if (item->what == ITEM_SPAN || item->what == ITEM_DEVICE_SPAN)
        run_writer_span(&items->writer, &span);
    else
        run_writer_point(&items->writer, kinds[item->what], item->name, item->end_ns);
}

static void write_items(struct run_items *items)
{
    if (items->count == 0)
        return;
    qsort(items->items, items->count, sizeof *items->items, outer_first);
    drop_crossed_notes(items);
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++)
        if (!items->items[i].dropped)
            items->items[kept++] = items->items[i];
    items->count = kept;
    nest(items);
    qsort(items->items, items->count, sizeof *items->items, in_order_of_records);
    for (size_t i = 0; i < items->count; i++)
        if (!items->items[i].dropped)
            write_item(items, &items->items[i]);
}

int run_items_finish(struct run_items *items)
{
    if (items->writer.fd >= 0 && !items->failed)
        write_items(items);
    const int failed = run_writer_finish(&items->writer);
    free(items->items);
    free(items->names);
    return failed != 0 ? failed : items->failed ? ENOMEM : 0;
}
