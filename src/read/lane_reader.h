/* The records of one lane with their times in nanoseconds, and after the last one, once the
 * process has ended, the spans that were still open (docs/format.md 8.6 and 8.8).
 *
 * Peek tells the time of the next record, take gives the record. Plain spans, which most records
 * are, go the short way that is inline here. */
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
    uint64_t last_ticks;      /* latest of all records so far */
    uint64_t span_start;      /* of the last span record */
    uint8_t span_depth;
    bool any_span;
    uint32_t tid, owner;
};

/* `buffer`: see lane_walk_init(). */
void lane_reader_init(struct lane_reader *reader, struct run_lane *lane, uint8_t *buffer,
                      size_t buffer_bytes);

/* Call after a refresh of the run: the clock may have been calibrated anew. */
void lane_reader_refreshed(struct lane_reader *reader);

/* Spans open on the lane, outermost first, as its block says now; the reader must have read all
 * records. Returns how many. */
size_t lane_reader_open_spans(struct lane_reader *reader,
                              struct ss_open_span out[SS_STACK_DEPTH]);

/* Such a span as a record that ends with the process, or now if it lives. */
void lane_reader_close_span(struct lane_reader *reader, const struct ss_open_span *span,
                            struct ss_record *out);

/* Goes to the next record, without unfinished spans. False: no more for now. */
bool lane_reader_next_record(struct lane_reader *reader);

bool lane_reader_peek_slow(struct lane_reader *reader);
bool lane_reader_take_slow(struct lane_reader *reader, struct ss_record *out,
                           uint8_t scratch[LANE_WALK_SCRATCH]);

static inline void lane_reader_set_time(struct lane_reader *reader, uint64_t ticks)
{
    reader->own_ns =
        timeline_ns(&reader->walk.lane->file->timeline, ticks, &reader->line);
    if (reader->own_ns > reader->time_ns)
        reader->time_ns = reader->own_ns;
    if (ticks > reader->last_ticks)
        reader->last_ticks = ticks;
}

static inline void lane_reader_set_start(struct lane_reader *reader, uint64_t ticks)
{
    reader->start_ns =
        timeline_ns(&reader->walk.lane->file->timeline, ticks, &reader->line);
}

static inline void lane_reader_set_span(struct lane_reader *reader, const uint8_t *unit)
{
    reader->unit = unit;
    reader->next = NEXT_RECORD;
    reader->span_start = load_u64(unit + offsetof(struct ss_rec_span, start_ticks));
    reader->span_depth = unit[offsetof(struct ss_head, depth)];
    reader->any_span = true;
    lane_reader_set_start(reader, reader->span_start);
    lane_reader_set_time(reader,
                         load_u64(unit + offsetof(struct ss_rec_span, end_ticks)));
}

/* Makes time_ns that of the next record. False: no more for now. */
static inline bool lane_reader_peek(struct lane_reader *reader)
{
    const uint8_t *const unit = reader->walk.at;

    if (reader->next != NEXT_NOTHING || unit == reader->walk.end ||
        !record_is_plain_span(unit, &reader->walk.range))
        return lane_reader_peek_slow(reader);
    reader->walk.at = unit + SS_UNIT;
    lane_reader_set_span(reader, unit);
    return true;
}

/* What all kinds of records share; the rest becomes 0, but for `u`. */
static inline void lane_reader_fill(const struct lane_reader *reader,
                                    const struct ss_head *head, struct ss_record *out)
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
    out->subject = 0;
    out->role = 0;
    out->scope = 0;
}

/* Gives the record that was peeked. False: it is gone (see lane_walk_whole()), peek again. */
static inline bool lane_reader_take(struct lane_reader *reader, struct ss_record *out,
                                    uint8_t scratch[LANE_WALK_SCRATCH])
{
    struct ss_head head;

    if (reader->next != NEXT_RECORD || record_kind(reader->unit) != SS_KIND_SPAN)
        return lane_reader_take_slow(reader, out, scratch);
    memcpy(&head, reader->unit, sizeof head);
    reader->next = NEXT_NOTHING;
    lane_reader_fill(reader, &head, out);
    out->start_ns = reader->start_ns;
    out->end_ns = reader->own_ns;
    out->u.arg = (int64_t)load_u64(reader->unit + offsetof(struct ss_rec_span, arg));
    return true;
}

#endif
