/* The records of one lane with their times in nanoseconds, and after the last one, once
 * the process has ended, the spans that were still open (format 8.6 and 8.8).
 *
 * Peek tells the time of the next record, take gives the record. Plain spans, which
 * most records are, go the short way that is inline here. */
#ifndef READ_LANE_READER_H
#define READ_LANE_READER_H

#include "read/lane_walk.h"
#include "read/process_file.h"
#include "read/timeline.h"

enum lane_reader_next { NEXT_NOTHING, NEXT_RECORD, NEXT_UNFINISHED };

struct lane_reader {
    struct lane_walk walk;
    struct timeline_line line;
    enum lane_reader_next next;
    unsigned closed;          /* open spans that were given as unfinished */
    const uint8_t *unit;      /* NEXT_RECORD: its first unit */
    struct ss_open_span open; /* NEXT_UNFINISHED */
    uint64_t latest_open;     /* latest start among the open spans, in ticks */
    ss_ns start_ns;           /* if it has a start and an end */
    ss_ns own_ns;             /* its end, or its only time */
    ss_ns time_ns;            /* the same, or later if a record before it was later */
    uint64_t span_start;      /* of the last span record, in ticks */
    uint16_t span_depth;      /* the same, and 1; 0: there was none */
    uint32_t tid, owner;
};

/* `buffer`: see lane_walk_init(). */
void lane_reader_init(struct lane_reader *reader, struct run_lane *lane, uint8_t *buffer,
                      size_t buffer_bytes);

/* Call after a refresh of the run: the clock may have been recalibrated. */
void lane_reader_refreshed(struct lane_reader *reader);

/* Spans open on the lane, outermost first, as its block says now; the reader must have
 * read all records. Returns how many. */
size_t lane_reader_open_spans(struct lane_reader *reader, struct ss_open_span out[SS_STACK_DEPTH]);

/* Such a span as a record that ends with the process, or now if it lives. */
void lane_reader_close_span(struct lane_reader *reader, const struct ss_open_span *span,
                            struct ss_record *out);

/* Goes to the next record, without unfinished spans. False: no more for now. */
bool lane_reader_next_record(struct lane_reader *reader);

bool lane_reader_peek_slow(struct lane_reader *reader);
bool lane_reader_take_slow(struct lane_reader *reader, struct ss_record *out,
                           uint8_t scratch[LANE_WALK_SCRATCH]);
bool lane_reader_next_slow(struct lane_reader *reader, struct ss_record *out,
                           uint8_t scratch[LANE_WALK_SCRATCH]);

static inline ss_ns lane_reader_ns(struct lane_reader *reader, uint64_t ticks)
{
    return timeline_ns(&reader->walk.lane->file->timeline, ticks, &reader->line);
}

/* Time never goes back within a lane. */
static inline void lane_reader_advance(struct lane_reader *reader, ss_ns own_ns)
{
    if (reader->time_ns < own_ns)
        reader->time_ns = own_ns;
}

static inline void lane_reader_note_span(struct lane_reader *reader, const uint8_t *unit)
{
    reader->span_start = load_u64(unit + offsetof(struct ss_rec_span, start_ticks));
    reader->span_depth = (uint16_t)(unit[offsetof(struct ss_head, depth)] + 1);
}

/* What all kinds of records share; the rest becomes 0, but for `u`. */
static inline void lane_reader_fill(const struct lane_reader *reader, const struct ss_head *head,
                                    struct ss_record *out)
{
    const struct run_lane *const lane = reader->walk.lane;

    out->time_ns = reader->time_ns;
    out->start_ns = 0;
    out->end_ns = 0;
    out->lane = lane->index;
    out->tid = reader->tid;
    out->owner = reader->owner;
    out->name = head->name;
    out->flags = head->flags;
    out->kind = head->kind;
    out->stage = catalog_stage(&lane->file->catalog, head->name);
    out->depth = head->depth;
    out->nest = head->nest;
    out->gaps = reader->walk.gaps;
    out->subject = 0;
    out->role = 0;
    out->scope = 0;
}

static inline void lane_reader_fill_span(const struct lane_reader *reader, const uint8_t *unit,
                                         ss_ns start_ns, ss_ns end_ns, struct ss_record *out)
{
    struct ss_head head;

    memcpy(&head, unit, sizeof head);
    lane_reader_fill(reader, &head, out);
    out->start_ns = start_ns;
    out->end_ns = end_ns;
    out->u.arg = (int64_t)load_u64(unit + offsetof(struct ss_rec_span, arg));
}

/* The next record if it is a plain span and was not peeked at; NULL: go the long way. */
static inline const uint8_t *lane_reader_plain_span(struct lane_reader *reader)
{
    const uint8_t *const unit = reader->walk.at;

    if (reader->next != NEXT_NOTHING || unit == reader->walk.end ||
        !record_is_plain_span(unit, &reader->walk.range))
        return NULL;
    reader->walk.at = unit + SS_UNIT;
    lane_reader_note_span(reader, unit);
    return unit;
}

/* Makes time_ns that of the next record. False: no more for now. */
static inline bool lane_reader_peek(struct lane_reader *reader)
{
    const uint8_t *const unit = lane_reader_plain_span(reader);

    if (!unit)
        return lane_reader_peek_slow(reader);
    reader->unit = unit;
    reader->next = NEXT_RECORD;
    reader->start_ns = lane_reader_ns(reader, reader->span_start);
    reader->own_ns =
        lane_reader_ns(reader, load_u64(unit + offsetof(struct ss_rec_span, end_ticks)));
    lane_reader_advance(reader, reader->own_ns);
    return true;
}

/* Gives the record that was peeked. False: it is gone (see lane_walk_whole()), peek
 * again. */
static inline bool lane_reader_take(struct lane_reader *reader, struct ss_record *out,
                                    uint8_t scratch[LANE_WALK_SCRATCH])
{
    if (reader->next != NEXT_RECORD || record_kind(reader->unit) != SS_KIND_SPAN)
        return lane_reader_take_slow(reader, out, scratch);
    reader->next = NEXT_NOTHING;
    lane_reader_fill_span(reader, reader->unit, reader->start_ns, reader->own_ns, out);
    return true;
}

/* Peek and take in one. False: no more for now. */
static inline bool lane_reader_next(struct lane_reader *reader, struct ss_record *out,
                                    uint8_t scratch[LANE_WALK_SCRATCH])
{
    const uint8_t *const unit = lane_reader_plain_span(reader);

    if (!unit)
        return lane_reader_next_slow(reader, out, scratch);
    const ss_ns start_ns = lane_reader_ns(reader, reader->span_start);
    const ss_ns end_ns =
        lane_reader_ns(reader, load_u64(unit + offsetof(struct ss_rec_span, end_ticks)));
    lane_reader_advance(reader, end_ns);
    lane_reader_fill_span(reader, unit, start_ns, end_ns, out);
    return true;
}

#endif
