#include "import/intervals.h"

#include <stdlib.h>

#include "read/array.h"

void intervals_release(struct intervals *set)
{
    free(set->items);
    *set = (struct intervals){0};
}

void intervals_add(struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns || set->failed)
        return;
    /* What comes in order grows the last one, so that memory does not grow. */
    if (set->count > 0) {
        struct stretch *last = &set->items[set->count - 1];
        if (start_ns >= last->start_ns && start_ns <= last->end_ns) {
            last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
            return;
        }
    }
    struct stretch *grown =
        array_grow(set->items, &set->capacity, sizeof *set->items, set->count + 1);
    if (!grown) {
        set->failed = true;
        return;
    }
    set->items = grown;
    grown[set->count++] = (struct stretch){start_ns, end_ns};
}

static int by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void intervals_settle(struct intervals *set)
{
    size_t kept = 0;

    if (set->count < 2)
        return;
    qsort(set->items, set->count, sizeof *set->items, by_start);
    for (size_t i = 1; i < set->count; i++) {
        struct stretch *last = &set->items[kept];
        const struct stretch *next = &set->items[i];
        if (next->start_ns > last->end_ns)
            set->items[++kept] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    set->count = kept + 1;
}

void intervals_unite(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
    size_t i = 0, j = 0;

    while (i < a->count || j < b->count) {
        const bool first =
            j == b->count || (i < a->count && a->items[i].start_ns <= b->items[j].start_ns);
        const struct stretch *next = first ? &a->items[i++] : &b->items[j++];
        intervals_add(out, next->start_ns, next->end_ns);
    }
    out->failed |= a->failed || b->failed;
}

void intervals_subtract(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
    size_t j = 0;

    for (size_t i = 0; i < a->count; i++) {
        int64_t at = a->items[i].start_ns;
        const int64_t end = a->items[i].end_ns;
        while (j < b->count && b->items[j].end_ns <= at)
            j++;
        for (size_t k = j; k < b->count && b->items[k].start_ns < end; k++) {
            intervals_add(out, at, b->items[k].start_ns);
            at = b->items[k].end_ns > at ? b->items[k].end_ns : at;
        }
        intervals_add(out, at, end);
    }
    out->failed |= a->failed || b->failed;
}

int64_t intervals_within(const struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = set->count;
    int64_t sum = 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->items[middle].end_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < set->count && set->items[low].start_ns < end_ns; low++) {
        const struct stretch *one = &set->items[low];
        const int64_t from = one->start_ns > start_ns ? one->start_ns : start_ns;
        sum += (one->end_ns < end_ns ? one->end_ns : end_ns) - from;
    }
    return sum;
}

int64_t intervals_common(const struct intervals *set, const struct intervals *windows)
{
    int64_t sum = 0;

    for (size_t i = 0; i < windows->count; i++)
        sum += intervals_within(set, windows->items[i].start_ns, windows->items[i].end_ns);
    return sum;
}
