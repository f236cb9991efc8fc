#include "stats/sample.h"

#include <stdlib.h>

#include "stats/mix.h"

void sample_init(struct sample *sample, uint64_t source)
{
    sample->source = mix64(source);
    sample->count = 0;
    sample->last = 0;
}

static size_t find_last(const struct sample *sample)
{
    size_t last = 0;
    for (size_t i = 1; i < sample->count; i++)
        if (sample->item[i].order > sample->item[last].order)
            last = i;
    return last;
}

static void add_item(struct sample *sample, struct sample_item item)
{
    if (sample->count < SAMPLE_SIZE)
        sample->item[sample->count++] = item;
    else if (item.order < sample->item[sample->last].order)
        sample->item[sample->last] = item;
    else
        return;
    if (sample->count == SAMPLE_SIZE)
        sample->last = find_last(sample);
}

void sample_add(struct sample *sample, int64_t step, double value)
{
    uint64_t order = mix64(sample->source ^ (uint64_t)step);
    add_item(sample, (struct sample_item){order, step, value});
}

void sample_merge(struct sample *to, const struct sample *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_item(to, from->item[i]);
}

static int compare_steps(const void *a, const void *b)
{
    const struct sample_item *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

size_t sample_values(const struct sample *sample, int64_t first_step, double *out)
{
    struct sample_item item[SAMPLE_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < sample->count; i++)
        if (sample->item[i].step >= first_step)
            item[count++] = sample->item[i];
    if (count > 1)
        qsort(item, count, sizeof *item, compare_steps);
    for (size_t i = 0; i < count; i++)
        out[i] = item[i].value;
    return count;
}

enum { FIRST_ROOM = 32 };

void shared_steps_release(struct shared_steps *steps)
{
    free(steps->items);
    *steps = (struct shared_steps){0};
}

static uint64_t order_of(const struct shared_step *step)
{
    return mix64((uint64_t)step->number);
}

static size_t last_shared(const struct shared_steps *steps)
{
    size_t last = 0;

    for (size_t i = 1; i < steps->count; i++)
        if (order_of(&steps->items[i].step) > order_of(&steps->items[last].step))
            last = i;
    return last;
}

void shared_steps_add(struct shared_steps *steps, int64_t start_ns, const struct shared_step *step)
{
    if (steps->count == SHARED_STEPS_MOST) {
        if (order_of(step) >= order_of(&steps->items[steps->last].step))
            return;
        steps->items[steps->last] = (struct begun_step){*step, start_ns};
        steps->last = last_shared(steps);
        return;
    }
    if (steps->count == steps->capacity) {
        const size_t room = steps->capacity ? 2 * steps->capacity : FIRST_ROOM;
        struct begun_step *grown = realloc(steps->items, room * sizeof *grown);
        if (!grown)
            return;
        steps->items = grown;
        steps->capacity = room;
    }
    steps->items[steps->count++] = (struct begun_step){*step, start_ns};
    if (steps->count == SHARED_STEPS_MOST)
        steps->last = last_shared(steps);
}

static int by_number(const void *a, const void *b)
{
    const struct shared_step *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

struct shared_step *shared_steps_since(const struct shared_steps *steps, int64_t from_ns,
                                       size_t *count)
{
    struct shared_step *found = steps->count ? calloc(steps->count, sizeof *found) : NULL;

    *count = 0;
    for (size_t i = 0; found && i < steps->count; i++)
        if (steps->items[i].start_ns >= from_ns)
            found[(*count)++] = steps->items[i].step;
    if (*count > 1)
        qsort(found, *count, sizeof *found, by_number);
    return found;
}
