#include "read/lane_reader.h"

void lane_reader_init(struct lane_reader *reader, struct run_lane *lane, uint8_t *buffer,
                      size_t buffer_bytes)
{
    *reader = (struct lane_reader){.time_ns = lane->file->info.start_ns};
    lane_walk_init(&reader->walk, lane, buffer, buffer_bytes);
}

void lane_reader_refreshed(struct lane_reader *reader)
{
    reader->line = (struct timeline_line){0};
}

bool lane_reader_next_record(struct lane_reader *reader)
{
    const uint8_t *const unit = lane_walk_next(&reader->walk);
    uint64_t ticks;

    if (!unit)
        return false;
    const unsigned kind = record_kind(unit);
    reader->closed = 0;
    reader->unit = unit;
    reader->next = NEXT_RECORD;
    if (record_is_window(kind))
        reader->start_ns =
            lane_reader_ns(reader, load_u64(unit + offsetof(struct ss_rec_span, start_ticks)));
    if (record_ticks(unit, &ticks)) {
        reader->own_ns = lane_reader_ns(reader, ticks);
        lane_reader_advance(reader, reader->own_ns);
    }
    if (kind == SS_KIND_SPAN)
        lane_reader_note_span(reader, unit);
    if (kind == SS_KIND_THREAD_BEGIN) {
        reader->owner++;
        reader->tid = load_u32(unit + offsetof(struct ss_rec_text, id));
    }
    return true;
}

/* Is this the span of the lane's last span record? Then it was just being closed. */
static bool is_closed(const struct lane_reader *reader, const struct ss_open_span *span)
{
    return span->start_ticks == reader->span_start && span->head.depth + 1 == reader->span_depth;
}

/* Leaves what counts: spans that did not begin before the process did. */
static size_t keep_open(const struct lane_reader *reader, struct ss_open_span *stack, size_t depth)
{
    const uint64_t start = reader->walk.lane->file->header.start_ticks;
    size_t kept = 0;

    for (size_t i = 0; i < depth; i++)
        if (stack[i].head.kind == SS_KIND_SPAN && stack[i].start_ticks >= start)
            stack[kept++] = stack[i];
    if (kept > 0 && is_closed(reader, &stack[kept - 1]))
        kept--;
    return kept;
}

size_t lane_reader_open_spans(struct lane_reader *reader, struct ss_open_span out[SS_STACK_DEPTH])
{
    const struct run_lane *const lane = reader->walk.lane;
    uint8_t head[offsetof(struct ss_lane_block, reserved4)];

    if (!lane->block ||
        source_read(&lane->file->source, lane->block, head, sizeof head) != sizeof head)
        return 0;
    const size_t depth = load_u32(head + offsetof(struct ss_lane_block, depth));
    if (depth >= SS_STACK_DEPTH)
        return 0;
    memcpy(out, head + offsetof(struct ss_lane_block, open) + sizeof *out, depth * sizeof *out);
    const size_t kept = keep_open(reader, out, depth);
    reader->latest_open = 0;
    for (size_t i = 0; i < kept; i++)
        if (reader->latest_open < out[i].start_ticks)
            reader->latest_open = out[i].start_ticks;
    return kept;
}

/* One end for all of them: a parent does not end before its child. Not before the last
 * record either, whose time the reader has. */
static ss_ns end_of_open(struct lane_reader *reader)
{
    const uint64_t death = process_file_death(reader->walk.lane->file);
    const uint64_t end = death < reader->latest_open ? reader->latest_open : death;
    const ss_ns end_ns = lane_reader_ns(reader, end);

    return end_ns < reader->time_ns ? reader->time_ns : end_ns;
}

void lane_reader_close_span(struct lane_reader *reader, const struct ss_open_span *span,
                            struct ss_record *out)
{
    lane_reader_fill(reader, &span->head, out);
    if (reader->walk.lane->file->info.end != SS_END_LIVE)
        out->flags |= SS_FLAG_UNFINISHED;
    out->start_ns = lane_reader_ns(reader, span->start_ticks);
    out->end_ns = end_of_open(reader);
    out->time_ns = out->end_ns;
    out->u.arg = 0;
}

/* Innermost first, one at a time. */
static bool peek_unfinished(struct lane_reader *reader)
{
    struct ss_open_span stack[SS_STACK_DEPTH];

    if (reader->walk.lane->file->info.end == SS_END_LIVE)
        return false;
    const size_t count = lane_reader_open_spans(reader, stack);
    if (reader->closed >= count)
        return false;
    reader->open = stack[count - 1 - reader->closed];
    reader->closed++;
    reader->next = NEXT_UNFINISHED;
    lane_reader_advance(reader, end_of_open(reader));
    return true;
}

bool lane_reader_peek_slow(struct lane_reader *reader)
{
    return reader->next != NEXT_NOTHING || lane_reader_next_record(reader) ||
           peek_unfinished(reader);
}

/* Frames are given as numbers, in place if that is aligned for them. */
static const uint8_t *align(const uint8_t *whole, uint8_t scratch[LANE_WALK_SCRATCH])
{
    if ((uintptr_t)whole % _Alignof(uint32_t) == 0)
        return whole;
    memcpy(scratch, whole, record_bytes(whole));
    return scratch;
}

bool lane_reader_take_slow(struct lane_reader *reader, struct ss_record *out,
                           uint8_t scratch[LANE_WALK_SCRATCH])
{
    const enum lane_reader_next next = reader->next;
    const uint8_t *whole;
    struct ss_head head;

    reader->next = NEXT_NOTHING;
    if (next == NEXT_UNFINISHED) {
        lane_reader_close_span(reader, &reader->open, out);
        return true;
    }
    whole = lane_walk_whole(&reader->walk, reader->unit, scratch);
    if (!whole)
        return false;
    if (record_kind(whole) == SS_KIND_SAMPLE)
        whole = align(whole, scratch);
    memcpy(&head, whole, sizeof head);
    lane_reader_fill(reader, &head, out);
    record_decode(whole, out);
    if (record_is_window(record_kind(whole))) {
        out->start_ns = reader->start_ns;
        out->end_ns = reader->own_ns;
    }
    return true;
}

bool lane_reader_next_slow(struct lane_reader *reader, struct ss_record *out,
                           uint8_t scratch[LANE_WALK_SCRATCH])
{
    do {
        if (!lane_reader_peek_slow(reader))
            return false;
    } while (!lane_reader_take(reader, out, scratch));
    return true;
}
