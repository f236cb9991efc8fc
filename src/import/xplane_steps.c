#include "import/xplane_steps.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "read/array.h"

/* Marks of one kind, thread and name: the steps of one loop, if they are steps. */
struct group {
    const struct mark *first;
    size_t count;
    int64_t total_ns;
};

void marks_add(struct mark_list *list, struct trace *trace, const struct mark *mark)
{
    struct mark *items = array_grow(list->items, &list->capacity, sizeof *items, list->count + 1);

    trace->failed |= !items;
    if (!items)
        return;
    list->items = items;
    items[list->count++] = *mark;
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int in_groups(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    int order = compare(x->kind, y->kind);

    if (order == 0)
        order = compare(x->thread, y->thread);
    if (order == 0)
        order = compare(x->device, y->device);
    if (order == 0 && x->kind != MARK_DEVICE)
        order = compare(x->name, y->name);
    if (order == 0)
        order = compare(x->start_ns, y->start_ns);
    return order != 0 ? order : compare(y->end_ns, x->end_ns);
}

static bool is_one_group(const struct mark *a, const struct mark *b)
{
    return a->kind == b->kind && a->thread == b->thread && a->device == b->device &&
           (a->kind == MARK_DEVICE || a->name == b->name);
}

/* What begins inside another one of its group is a part of it: it goes. */
static void drop_nested(struct mark_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct mark *last = kept > 0 ? &list->items[kept - 1] : NULL;
        if (last && is_one_group(last, &list->items[i]) && list->items[i].start_ns < last->end_ns)
            continue;
        list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* A loop has several steps; of several loops the one that takes longest trains. */
static bool is_better(const struct group *a, const struct group *b)
{
    if (!b->first)
        return true;
    if ((a->count > 1) != (b->count > 1))
        return a->count > 1;
    return a->total_ns > b->total_ns;
}

static struct group find_loop(const struct mark_list *list)
{
    struct group best = {0}, group = {0};

    for (size_t i = 0; i < list->count && list->items[i].kind == list->items[0].kind; i++) {
        const struct mark *mark = &list->items[i];
        if (!group.first || !is_one_group(group.first, mark))
            group = (struct group){.first = mark};
        group.count++;
        saturate_add(&group.total_ns, mark->end_ns - mark->start_ns);
        if (is_better(&group, &best) || group.first == best.first)
            best = group;
    }
    return best;
}

/* A call of a function may return before its work is done: the step lasts until the next call, and
 * the end of the last one is not known. */
static void add_calls(struct trace *trace, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct mark *mark = &group->first[i];
        const bool is_call = mark->kind != MARK_NUMBERED, is_last = i + 1 == group->count;
        if (is_call && is_last && i > 0)
            break;
        const struct trace_step step = {
            .start_ns = mark->start_ns,
            .end_ns = is_call && !is_last ? mark[1].start_ns : mark->end_ns,
            .number = is_call ? (int64_t)i : mark->number,
            .thread = mark->thread,
        };
        trace_add_step(trace, &step);
    }
}

void marks_settle(struct mark_list *list, struct trace *trace)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, in_groups);
    drop_nested(list);
    if (list->count > 0 && list->items[0].kind != MARK_DEVICE) {
        const struct group loop = find_loop(list);
        add_calls(trace, &loop);
    }
    for (size_t i = 0; i < list->count && list->items[i].kind == MARK_DEVICE; i++) {
        const struct mark *mark = &list->items[i];
        const struct trace_step step = {.start_ns = mark->start_ns,
                                        .end_ns = mark->end_ns,
                                        .number = mark->number,
                                        .thread = TRACE_NO_THREAD,
                                        .device = mark->device};
        trace_add_step(trace, &step);
    }
    free(list->items);
    *list = (struct mark_list){0};
}
