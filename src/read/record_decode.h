/* What the bytes of a record mean (format 3, 5 and 8.5).
 *
 * Every length that a record contains is checked here, in record_judge(), from its
 * first unit alone; what it calls good may be decoded without further checks. */
#ifndef READ_RECORD_DECODE_H
#define READ_RECORD_DECODE_H

#include <string.h>

#include "stepscope/reader.h"

/* Ticks that a record may have. */
struct tick_range {
    uint64_t earliest, latest;
};

enum record_verdict {
    RECORD_GOOD,
    RECORD_NONE,    /* no more records here */
    RECORD_BAD,     /* is invalid */
    RECORD_LATE,    /* invalid only because it is later than tick_range.latest */
    RECORD_UNKNOWN, /* of a kind that this reader does not know: skip it */
};

static inline uint16_t load_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t load_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline unsigned record_kind(const uint8_t *unit)
{
    return unit[0];
}

static inline size_t record_bytes(const uint8_t *unit)
{
    return (size_t)unit[1] * SS_UNIT;
}

/* True for most records of most runs, which are then good: a span of one unit. */
static inline bool record_is_plain_span(const uint8_t *unit, const struct tick_range *range)
{
    const uint64_t start = load_u64(unit + 8), end = load_u64(unit + 16);

    return load_u16(unit) == (SS_KIND_SPAN | 1 << 8) && start >= range->earliest && end >= start &&
           end <= range->latest;
}

/* Judges a record by its first unit; `room`: bytes up to the end of its segment or
 * block. */
enum record_verdict record_judge(const uint8_t *unit, uint64_t room,
                                 const struct tick_range *range);

/* Its time in ticks: the end of a span, perturbed or lost. False: it has none. */
bool record_ticks(const uint8_t *unit, uint64_t *ticks);

/* True if it has a start and an end. */
bool record_is_window(unsigned kind);

/* Fills what only its kind knows: u, subject, stage, role and scope of a name, tid of
 * a sample. `whole`: all units of a good record, aligned to 4 bytes if it is a sample. */
void record_decode(const uint8_t *whole, struct ss_record *out);

/* A number that this reader does not know reads as 0: other, none. */
uint8_t known_stage(uint8_t stage);

#endif
