#include "model/item.h"

#include <stdlib.h>
#include <string.h>

bool hold_init(struct hold *hold, uint32_t most)
{
    hold->entry = malloc(most * sizeof *hold->entry);
    hold->count = 0;
    hold->most = hold->entry ? most : 0;
    return hold->entry != NULL;
}

void hold_release(struct hold *hold)
{
    free(hold->entry);
    *hold = (struct hold){0};
}

void held_set(struct held *held, const struct item *item)
{
    held->item = *item;
    if (item->work) {
        held->work = *item->work;
        held->item.work = &held->work;
    }
    if (item->before) {
        held->before = *item->before;
        held->item.before = &held->before;
    }
}

struct held *hold_add(struct hold *hold, const struct item *item)
{
    struct held *held = &hold->entry[hold->count++];
    held_set(held, item);
    return held;
}

void hold_extend(struct hold *hold, const struct work *work, int64_t end_ns)
{
    struct held *held = hold_last(hold);
    work_add(&held->work, work);
    held->item.end_ns = end_ns;
}

static void move_held(struct held *to, const struct held *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        held_set(&to[i], &from[i].item);
}

void hold_pass(struct hold *hold, uint32_t count, void (*pass)(void *to, struct item *item),
               void *to)
{
    const uint32_t left = hold->count - count;
    hold->count = 0;
    for (uint32_t i = 0; i < count; i++)
        pass(to, &hold->entry[i].item);
    if (left > 0 && count > 0)
        move_held(hold->entry, hold->entry + count, left);
    hold->count = left;
}
