#include "read/losses.h"

#include <stdlib.h>

#include "read/grow.h"

void losses_release(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}

void losses_add(struct losses *losses, const struct ss_loss *loss)
{
    struct ss_loss *items =
        grow(losses->items, &losses->capacity, sizeof *items, losses->count + 1);

    if (!items) {
        losses->failed = true;
        return;
    }
    losses->items = items;
    items[losses->count++] = *loss;
}

void losses_drop_strangers(struct losses *losses)
{
    size_t kept = 0;

    for (size_t i = 0; i < losses->count; i++)
        if (losses->items[i].process != UINT32_MAX)
            losses->items[kept++] = losses->items[i];
    losses->count = kept;
}
