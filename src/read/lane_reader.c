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
    reader->closed = 0;
    if (record_kind(unit) == SS_KIND_SPAN) {
        lane_reader_set_span(reader, unit);
        return true;
    }
    reader->unit = unit;
    reader->next = NEXT_RECORD;
    if (record_is_window(record_kind(unit)))
        lane_reader_set_start(reader,
                              load_u64(unit + offsetof(struct ss_rec_span, start_ticks)));
    if (record_ticks(unit, &ticks))
        lane_reader_set_time(reader, ticks);
    if (record_kind(unit) == SS_KIND_THREAD_BEGIN) {
        reader->owner++;
        reader->tid = load_u32(unit + offsetof(struct ss_rec_text, id));
    }
    return true;
}

/* Is this the span of the lane's last span record? Then it was just being closed. */
static bool is_closed(const struct lane_reader *reader, const struct ss_open_span *span)
{
    return reader->any_span && span->start_ticks == reader->span_start &&
           span->head.depth == reader->span_depth;
}

/* Leaves what counts: spans that did not begin before the process did. */
static size_t keep_open(const struct lane_reader *reader, struct ss_open_span *stack,
                        size_t depth)
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

size_t lane_reader_open_spans(struct lane_reader *reader,
                              struct ss_open_span out[SS_STACK_DEPTH])
{
    const struct run_lane *const lane = reader->walk.lane;
    uint8_t head[offsetof(struct ss_lane_block, reserved4)];

    if (!lane->block ||
        source_read(&lane->file->source, lane->block, head, sizeof head) != sizeof head)
        return 0;
    const size_t depth = load_u32(head + offsetof(struct ss_lane_block, depth));
    if (depth >= SS_STACK_DEPTH)
        return 0;
    memcpy(out, head + offsetof(struct ss_lane_block, open) + sizeof *out,
           depth * sizeof *out);
    const size_t kept = keep_open(reader, out, depth);
    reader->latest_open = 0;
    for (size_t i = 0; i < kept; i++)
        if (reader->latest_open < out[i].start_ticks)
            reader->latest_open = out[i].start_ticks;
    return kept;
}

/* One end for all of them: a parent does not end before its child. */
static uint64_t end_of_open(const struct lane_reader *reader)
{
    uint64_t end = process_file_death(reader->walk.lane->file);

    if (end < reader->last_ticks)
        end = reader->last_ticks;
    return end < reader->latest_open ? reader->latest_open : end;
}

void lane_reader_close_span(struct lane_reader *reader, const struct ss_open_span *span,
                            struct ss_record *out)
{
    const struct process_file *const file = reader->walk.lane->file;
    const uint64_t end = end_of_open(reader);

    lane_reader_fill(reader, &span->head, out);
    if (file->info.end != SS_END_LIVE)
        out->flags |= SS_FLAG_UNFINISHED;
    out->start_ns = timeline_ns(&file->timeline, span->start_ticks, &reader->line);
    out->end_ns = timeline_ns(&file->timeline, end, &reader->line);
    if (out->time_ns < out->end_ns)
        out->time_ns = out->end_ns;
    out->u.arg = 0;
}

/* Innermost first, one at a time; their ticks are no records of the lane. */
static bool peek_unfinished(struct lane_reader *reader)
{
    const struct process_file *const file = reader->walk.lane->file;
    struct ss_open_span stack[SS_STACK_DEPTH];

    if (file->info.end == SS_END_LIVE)
        return false;
    const size_t count = lane_reader_open_spans(reader, stack);
    if (reader->closed >= count)
        return false;
    reader->open = stack[count - 1 - reader->closed];
    reader->closed++;
    reader->next = NEXT_UNFINISHED;
    const ss_ns end_ns =
        timeline_ns(&file->timeline, end_of_open(reader), &reader->line);
    if (end_ns > reader->time_ns)
        reader->time_ns = end_ns;
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
