/* What the numbers of the next record will be near to, from the records before it (format 11.3).
 * The way to columns and the way back go through the same states. */
#ifndef PACK_PREDICTION_H
#define PACK_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PREDICTION_DEPTHS = 257, PREDICTION_SLOTS = 4096 };

struct prediction {
    uint64_t ticks; /* of the record before this one: its end, or its only time */

    /* Where the first of the spans at a depth began that the next one around them holds. */
    uint64_t first[PREDICTION_DEPTHS];
    bool has_first[PREDICTION_DEPTHS];
    unsigned deepest;

    /* The last value by head and subject, as long as there are points. */
    struct {
        uint64_t head, subject, value;
    } slot[PREDICTION_SLOTS];
    bool slots_used;
};

/* Before a segment, and before each region of it. */
void prediction_clear(struct prediction *prediction);
void prediction_begin(struct prediction *prediction, uint64_t base);

struct window_origin {
    bool of_child; /* it holds spans: it began a little before the first, ends after the last */
    uint64_t start, end;
};

/* `record` needs only its head. */
struct window_origin prediction_window(const struct prediction *prediction, const uint8_t *record);
void prediction_note_window(struct prediction *prediction, const uint8_t *record, uint64_t start,
                            uint64_t end);

/* Where the last value of such a point is, and where the next shall be; at most
 * SS_SEGMENT_BYTES / SS_UNIT different ones after prediction_clear(). */
uint64_t *prediction_value(struct prediction *prediction, uint64_t head, uint64_t subject);

/* The steps in which a clock counts: many processors read theirs only in multiples of some ticks,
 * and what is divided by that packs better. */

/* The number that nearly all of these differences are multiples of; 1: there is none. */
uint32_t tick_unit_find(const uint64_t *gaps, const uint64_t *lengths, size_t count);

#endif
