/* Sets of instants: intervals in order, none of which touches another. */
#ifndef IMPORT_INTERVALS_H
#define IMPORT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stretch {
    int64_t start_ns, end_ns;
};

struct intervals {
    struct stretch *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

void intervals_release(struct intervals *set);

/* In any order, overlapping or not; after the last one intervals_settle(). Nothing of no length. */
void intervals_add(struct intervals *set, int64_t start_ns, int64_t end_ns);
void intervals_settle(struct intervals *set);

/* `out` is empty, and another one than both. */
void intervals_unite(struct intervals *out, const struct intervals *a, const struct intervals *b);
void intervals_subtract(struct intervals *out, const struct intervals *a,
                        const struct intervals *b);

/* How much of the time from `start_ns` to `end_ns` is in the set. */
int64_t intervals_within(const struct intervals *set, int64_t start_ns, int64_t end_ns);

/* The same of all stretches of another set. */
int64_t intervals_common(const struct intervals *set, const struct intervals *windows);

#endif
