#include "export/slice_order.h"

#include <stdlib.h>
#include <string.h>

void slice_order_init(struct slice_order *order,
                      void (*give)(void *context, const struct slice_edge *edge), void *context)
{
    memset(order, 0, sizeof *order);
    order->give = give;
    order->context = context;
}

void slice_order_release(struct slice_order *order)
{
    for (size_t i = 0; i < SLICE_LEVELS; i++)
        free(order->levels[i].edges);
    memset(order, 0, sizeof *order);
}

static void give_level(struct slice_order *order, struct slice_level *level)
{
    for (size_t i = 0; i < level->count; i++)
        order->give(order->context, &level->edges[i]);
    level->count = 0;
}

void slice_order_flush(struct slice_order *order)
{
    for (size_t i = 0; i < SLICE_LEVELS; i++)
        give_level(order, &order->levels[i]);
}

static bool make_room(struct slice_level *level, size_t more)
{
    if (level->count + more <= level->capacity)
        return true;
    const size_t capacity = 2 * (level->count + more);
    struct slice_edge *grown = realloc(level->edges, capacity * sizeof *grown);
    if (!grown)
        return false;
    level->edges = grown;
    level->capacity = capacity;
    return true;
}

/* Where too many have one time, or memory is short, they go on as they come: nesting may then be
 * wrong at this nanosecond. */
static void hold(struct slice_order *order, struct slice_level *level,
                 const struct slice_edge *edges, size_t count)
{
    if (level->count + count > SLICE_HELD_MOST || !make_room(level, count)) {
        give_level(order, level);
        for (size_t i = 0; i < count; i++)
            order->give(order->context, &edges[i]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        level->edges[level->count++] = edges[i];
}

/* Where edges of this time go from `depth`: on to the level, which waits for the span around it;
 * NULL: to the output. */
static struct slice_level *level_for(struct slice_order *order, unsigned depth, ss_ns time_ns)
{
    if (depth == 0 || depth >= SLICE_LEVELS)
        return NULL;
    struct slice_level *level = &order->levels[depth];
    if (level->count == 0)
        level->time_ns = time_ns; /* the first one inside the span around it */
    return level->time_ns == time_ns ? level : NULL;
}

static void pass_on(struct slice_order *order, struct slice_level *to,
                    const struct slice_edge *edges, size_t count)
{
    if (to)
        hold(order, to, edges, count);
    else
        for (size_t i = 0; i < count; i++)
            order->give(order->context, &edges[i]);
}

void slice_order_add(struct slice_order *order, const struct slice *slice, unsigned depth)
{
    const struct slice_edge begin = {*slice, false}, end = {*slice, true};

    depth = depth < SLICE_LEVELS ? depth : SLICE_LEVELS - 1;
    for (unsigned i = depth + 1; i <= order->deepest; i++)
        if (order->levels[i].time_ns != slice->start_ns)
            give_level(order, &order->levels[i]);
    struct slice_level *to = level_for(order, depth, slice->start_ns);
    pass_on(order, to, &begin, 1);
    for (unsigned i = depth + 1; i <= order->deepest; i++) {
        pass_on(order, to, order->levels[i].edges, order->levels[i].count);
        order->levels[i].count = 0;
    }
    order->deepest = depth;
    pass_on(order, slice->start_ns == slice->end_ns ? to : NULL, &end, 1);
}
