#include "read/lane_walk.h"

#include <stdatomic.h>

#include "read/process_file.h"

static const uint64_t no_segment = UINT64_MAX;

void lane_walk_init(struct lane_walk *walk, struct run_lane *lane, uint8_t *buffer,
                    size_t buffer_bytes)
{
    *walk = (struct lane_walk){.lane = lane,
                               .place = -1,
                               .segment = no_segment,
                               .buffer = buffer,
                               .buffer_bytes = buffer_bytes};
}

static uint64_t offset_of(const struct lane_walk *walk, const uint8_t *unit)
{
    return walk->view_offset + (uint64_t)(unit - walk->view);
}

/* Leaves what is in view and goes on at `offset`. */
static void go_to(struct lane_walk *walk, uint64_t offset)
{
    walk->at = walk->end;
    walk->next_offset = offset;
}

void lane_walk_forget_view(struct lane_walk *walk)
{
    if (walk->at != walk->end)
        go_to(walk, offset_of(walk, walk->at));
    walk->at = walk->end = walk->view = NULL;
}

/* Index of the lane's first segment after the present place. */
static size_t index_of_next(const struct lane_walk *walk)
{
    const struct run_lane *const lane = walk->lane;
    size_t low = 0, high = lane->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (segment_index_at(lane->file, lane->segments[middle])->seq > walk->place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool has_next_region(const struct lane_walk *walk)
{
    return index_of_next(walk) < walk->lane->count;
}

static bool enter_next_region(struct lane_walk *walk)
{
    const struct run_lane *const lane = walk->lane;

    if (walk->place < 0) {
        walk->place = 0;
        if (lane->block) {
            walk->next_offset = lane->block + SS_INLINE_OFFSET;
            walk->region_end = lane->block + SS_BLOCK_BYTES;
            return true;
        }
    }
    const size_t next = index_of_next(walk);
    if (next == lane->count)
        return false;
    const struct segment_entry *const entry = segment_index_at(lane->file, lane->segments[next]);
    const uint64_t start = (uint64_t)lane->segments[next] * SS_SEGMENT_BYTES;
    walk->gaps += entry->seq != walk->place + 1;
    walk->place = entry->seq;
    walk->segment = lane->segments[next];
    walk->lease = entry->lease;
    walk->next_offset = start + SS_SEGMENT_HEADER_BYTES;
    walk->region_end = start + SS_SEGMENT_BYTES;
    return true;
}

/* Notes that a loss in the present region is counted; false if it was before, perhaps
 * by another walk over the same lane. */
static bool tell_once(struct lane_walk *walk, enum ss_loss_kind kind)
{
    struct run_lane *const lane = walk->lane;
    bool *told = &lane->block_told;

    if (kind == SS_LOSS_CHANGED) {
        const bool first = walk->place > lane->changed_seq;
        if (first)
            lane->changed_seq = (uint32_t)walk->place;
        return first;
    }
    if (walk->segment != no_segment)
        told = &segment_index_at(lane->file, walk->segment)->told;
    const bool first = !*told;
    *told = true;
    return first;
}

static void lose_rest(struct lane_walk *walk, enum ss_loss_kind kind, uint64_t offset)
{
    if (tell_once(walk, kind))
        process_file_lose(walk->lane->file, kind, offset, walk->region_end - offset);
    walk->gaps++;
    go_to(walk, walk->region_end);
}

/* A file that is being written may have its end inside a segment for a moment: false
 * then. Of a packed one a block is damaged. */
static bool lose_truncated(struct lane_walk *walk, uint64_t offset)
{
    struct process_file *const file = walk->lane->file;

    if (file->info.end == SS_END_LIVE)
        return false;
    lose_rest(walk,
              source_is_damaged(&file->source, offset, walk->region_end - offset)
                  ? SS_LOSS_RECORDS
                  : SS_LOSS_TRUNCATED,
              offset);
    return true;
}

static bool was_given_away(const struct lane_walk *walk)
{
    struct process_file *const file = walk->lane->file;

    return file->may_change && walk->segment != no_segment &&
           segment_lease(file, walk->segment) != walk->lease;
}

/* A record that is stored while it is copied may come out torn: its head new, its body
 * old. A second copy, made after the first, has the bodies of all heads in the first
 * one. Returns how much of the copy counts: the records, and the unit after them as it
 * was in the first copy. */
static size_t copy_again(struct lane_walk *walk, uint64_t offset, size_t size)
{
    size_t records = 0;

    while (records < size && load_u64(walk->buffer + records) != 0 &&
           record_bytes(walk->buffer + records) != 0)
        records += record_bytes(walk->buffer + records);
    if (records >= size)
        records = size;
    else
        size = records + SS_UNIT;
    atomic_signal_fence(memory_order_acquire); /* the call below orders the rest */
    if (source_read(&walk->lane->file->source, offset, walk->buffer, records) != records)
        return 0;
    return size;
}

/* Brings up to `size` bytes from next_offset on into view; 0: they cannot be read. */
static size_t look(struct lane_walk *walk, size_t size)
{
    struct process_file *const file = walk->lane->file;
    const uint64_t offset = walk->next_offset;

    if (file->source.data) {
        walk->view = file->source.data + offset;
    } else {
        if (size > walk->buffer_bytes)
            size = walk->buffer_bytes;
        size = source_read(&file->source, offset, walk->buffer, size) / SS_UNIT * SS_UNIT;
        if (file->may_change && !has_next_region(walk))
            size = copy_again(walk, offset, size);
        walk->view = walk->buffer;
    }
    walk->view_offset = offset;
    walk->at = walk->view;
    walk->end = walk->view + size;
    walk->next_offset = offset + size;
    walk->generation = file->generation;
    walk->range = file->range;
    return size;
}

/* Nothing is in view: brings the next units into view. False: there are none for now. */
static bool fill(struct lane_walk *walk)
{
    for (;;) {
        if (walk->next_offset >= walk->region_end && !enter_next_region(walk))
            return false;
        const uint64_t offset = walk->next_offset;
        const uint64_t end = walk->lane->file->source.size < walk->region_end
                                 ? walk->lane->file->source.size
                                 : walk->region_end;
        const size_t size = end > offset ? (size_t)(end - offset) / SS_UNIT * SS_UNIT : 0;

        if (size > 0 && look(walk, size) > 0) {
            if (!was_given_away(walk))
                return true;
            lose_rest(walk, SS_LOSS_CHANGED, offset);
        } else if (!lose_truncated(walk, offset)) {
            return false;
        }
    }
}

/* No more records where we are. False: and none elsewhere, so stay, more may come
 * here. */
static bool leave_region(struct lane_walk *walk)
{
    const struct process_file *const file = walk->lane->file;

    if (walk->generation != file->generation) {
        go_to(walk, offset_of(walk, walk->at)); /* look again: this view is old */
        return true;
    }
    if (!has_next_region(walk))
        return false;
    go_to(walk, walk->region_end);
    return true;
}

static enum record_verdict judge(struct lane_walk *walk)
{
    struct process_file *const file = walk->lane->file;
    const uint64_t room = walk->region_end - offset_of(walk, walk->at);
    enum record_verdict verdict = record_judge(walk->at, room, &walk->range);

    if (verdict == RECORD_LATE && process_file_look_again(file)) {
        walk->range = file->range;
        verdict = record_judge(walk->at, room, &walk->range);
    }
    return verdict;
}

static void step_over(struct lane_walk *walk)
{
    const size_t bytes = record_bytes(walk->at);

    if (bytes <= (size_t)(walk->end - walk->at))
        walk->at += bytes;
    else
        go_to(walk, offset_of(walk, walk->at) + bytes);
}

const uint8_t *lane_walk_next_slow(struct lane_walk *walk)
{
    for (;;) {
        if (walk->at == walk->end && !fill(walk))
            return NULL;
        const uint8_t *const unit = walk->at;
        const uint64_t offset = offset_of(walk, unit);
        const enum record_verdict verdict = judge(walk);

        if (verdict == RECORD_NONE) {
            if (!leave_region(walk))
                return NULL;
        } else if (verdict == RECORD_BAD || verdict == RECORD_LATE) {
            lose_rest(walk, SS_LOSS_RECORDS, offset);
        } else if (record_bytes(unit) > walk->lane->file->source.size - offset) {
            if (!lose_truncated(walk, offset))
                return NULL;
        } else {
            step_over(walk);
            if (verdict == RECORD_GOOD)
                return unit;
        }
    }
}

void lane_walk_back(struct lane_walk *walk, const uint8_t *unit)
{
    walk->at = unit;
    walk->next_offset = walk->view_offset + (uint64_t)(walk->end - walk->view);
}

const uint8_t *lane_walk_whole(struct lane_walk *walk, const uint8_t *unit,
                               uint8_t scratch[LANE_WALK_SCRATCH])
{
    const size_t bytes = record_bytes(unit);
    const uint64_t offset = offset_of(walk, unit);
    const uint8_t *whole;

    if (bytes <= (size_t)(walk->end - unit))
        return unit;
    whole = source_view(&walk->lane->file->source, offset, bytes, scratch);
    if (whole && !was_given_away(walk))
        return whole;
    lose_rest(walk, whole ? SS_LOSS_CHANGED : SS_LOSS_TRUNCATED, offset);
    return NULL;
}
