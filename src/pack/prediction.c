#include "pack/prediction.h"

#include <stdlib.h>
#include <string.h>

#include "stepscope/format.h"

_Static_assert(PREDICTION_SLOTS >= 2 * (SS_SEGMENT_BYTES / SS_UNIT), "always a free slot");

void prediction_clear(struct prediction *prediction)
{
    memset(prediction, 0, offsetof(struct prediction, slot));
    if (prediction->slots_used)
        memset(prediction->slot, 0, sizeof prediction->slot);
    prediction->slots_used = false;
}

void prediction_begin(struct prediction *prediction, uint64_t base)
{
    prediction->ticks = base;
    memset(prediction->has_first, 0, sizeof prediction->has_first);
    prediction->deepest = 0;
}

static unsigned depth_of(const uint8_t *record)
{
    return record[offsetof(struct ss_head, depth)];
}

struct window_origin prediction_window(const struct prediction *prediction, const uint8_t *record)
{
    const unsigned inner = depth_of(record) + 1;

    if (prediction->has_first[inner])
        return (struct window_origin){true, prediction->first[inner], prediction->ticks};
    return (struct window_origin){false, prediction->ticks, 0};
}

void prediction_note_window(struct prediction *prediction, const uint8_t *record, uint64_t start,
                            uint64_t end)
{
    const unsigned depth = depth_of(record);

    for (; prediction->deepest > depth; prediction->deepest--)
        prediction->has_first[prediction->deepest] = false;
    prediction->deepest = depth;
    if (!prediction->has_first[depth]) {
        prediction->has_first[depth] = true;
        prediction->first[depth] = start;
    }
    prediction->ticks = end;
}

uint64_t *prediction_value(struct prediction *prediction, uint64_t head, uint64_t subject)
{
    const uint64_t mixed = (head ^ (subject + 1) * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    size_t i = (size_t)(mixed >> 52);

    prediction->slots_used = true;
    while (prediction->slot[i].head != 0 &&
           (prediction->slot[i].head != head || prediction->slot[i].subject != subject))
        i = (i + 1) % PREDICTION_SLOTS;
    prediction->slot[i].head = head;
    prediction->slot[i].subject = subject;
    return &prediction->slot[i].value;
}

enum { TRIES = 16, TOGETHER = 5 };

static uint64_t size_of(uint64_t difference)
{
    return (int64_t)difference < 0 ? 0 - difference : difference;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int compare(const void *a, const void *b)
{
    const uint64_t na = *(const uint64_t *)a, nb = *(const uint64_t *)b;

    return (na > nb) - (na < nb);
}

/* What most of some small groups have in common: one that is out of line spoils only its group. */
static uint64_t guess(const uint64_t *gaps, const uint64_t *lengths, size_t count)
{
    uint64_t unit[TRIES];

    for (size_t i = 0; i < TRIES; i++) {
        const size_t from = (count - TOGETHER) * i / TRIES;
        unit[i] = 0;
        for (size_t k = from; k < from + TOGETHER; k++)
            unit[i] =
                common_divisor(common_divisor(unit[i], size_of(gaps[k])), size_of(lengths[k]));
    }
    qsort(unit, TRIES, sizeof *unit, compare);
    return unit[TRIES / 2];
}

uint32_t tick_unit_find(const uint64_t *gaps, const uint64_t *lengths, size_t count)
{
    size_t fitting = 0;

    if (count < TOGETHER)
        return 1;
    const uint64_t unit = guess(gaps, lengths, count);
    if (unit < 2 || unit > UINT32_MAX)
        return 1;
    for (size_t i = 0; i < count; i++)
        fitting += size_of(gaps[i]) % unit == 0 && size_of(lengths[i]) % unit == 0;
    return fitting > count - count / 8 ? (uint32_t)unit : 1;
}
