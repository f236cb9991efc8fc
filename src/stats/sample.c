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
    for (size_t i = 1; i < sample->count; i++) {
        if (sample->item[i].order > sample->item[last].order)
            last = i;
    }
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
    for (size_t i = 0; i < sample->count; i++) {
        if (sample->item[i].step >= first_step)
            item[count++] = sample->item[i];
    }
    if (count > 1)
        qsort(item, count, sizeof *item, compare_steps);
    for (size_t i = 0; i < count; i++)
        out[i] = item[i].value;
    return count;
}
