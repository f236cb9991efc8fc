/* Which segment is what, and the lane blocks (format 8.2 to 8.4). */
#include <stdlib.h>

#include "read/array.h"
#include "read/process_file.h"

/* All of a lane block but its stack and its records. */
enum { BLOCK_HEAD_BYTES = offsetof(struct ss_lane_block, open) };

static uint64_t offset_of(uint64_t segment)
{
    return segment * SS_SEGMENT_BYTES;
}

struct segment_entry *segment_index_at(const struct process_file *file, uint64_t segment)
{
    const uint64_t chunk = segment / SEGMENTS_PER_CHUNK;

    if (chunk >= file->chunk_capacity || !file->chunks[chunk])
        return NULL;
    return &file->chunks[chunk]->entries[segment % SEGMENTS_PER_CHUNK];
}

static struct segment_entry *make_entry(struct process_file *file, uint64_t segment)
{
    const size_t chunk = (size_t)(segment / SEGMENTS_PER_CHUNK);
    struct segment_chunk **chunks =
        array_grow(file->chunks, &file->chunk_capacity, sizeof(struct segment_chunk *), chunk + 1);

    if (!chunks)
        return NULL;
    file->chunks = chunks;
    if (!chunks[chunk])
        chunks[chunk] = calloc(1, sizeof *chunks[chunk]);
    return segment_index_at(file, segment);
}

/* What looks damaged in a file that is being written may be half of a change: not yet
 * lost. */
static int lose_segment(struct process_file *file, uint64_t segment, enum ss_loss_kind kind)
{
    if (file->info.end == SS_END_LIVE)
        return 0;
    struct segment_entry *const entry = make_entry(file, segment);
    if (!entry)
        return SS_E_NOMEM;
    entry->use = SEGMENT_LOST;
    entry->told = true;
    process_file_lose(file, kind, offset_of(segment), SS_SEGMENT_BYTES);
    return 0;
}

static bool is_zero(const struct ss_segment_header *header)
{
    static const struct ss_segment_header zero;

    return memcmp(header, &zero, sizeof zero) == 0;
}

static int take_records(struct process_file *file, uint64_t segment,
                        const struct ss_segment_header *header)
{
    struct segment_entry *const entry = make_entry(file, segment);
    struct run_lane *const lane = entry ? lane_table_make(file, header->lane) : NULL;

    if (!lane)
        return SS_E_NOMEM;
    *entry = (struct segment_entry){.lease = header->lease,
                                    .lane = header->lane,
                                    .seq = header->seq,
                                    .use = SEGMENT_HAS_RECORDS};
    return lane_table_add_segment(lane, (uint32_t)segment, header->seq);
}

static bool seen_before(const struct process_file *file, uint32_t first_lane)
{
    const uint32_t number = first_lane / SS_BLOCKS_PER_SEGMENT;

    return number / 8 < file->seen_capacity &&
           (file->directories_seen[number / 8] >> (number % 8) & 1);
}

static int note_seen(struct process_file *file, uint32_t first_lane)
{
    const uint32_t number = first_lane / SS_BLOCKS_PER_SEGMENT;
    uint8_t *seen = array_grow(file->directories_seen, &file->seen_capacity, sizeof *seen,
                               (size_t)number / 8 + 1);

    if (!seen)
        return SS_E_NOMEM;
    file->directories_seen = seen;
    seen[number / 8] |= (uint8_t)(1 << (number % 8));
    return 0;
}

static int take_directory(struct process_file *file, uint64_t segment, uint32_t first_lane)
{
    if (source_is_damaged(&file->source, offset_of(segment), SS_SEGMENT_BYTES))
        return lose_segment(file, segment, SS_LOSS_HEADER);
    struct segment_entry *const entry = make_entry(file, segment);
    uint32_t *directories = array_grow(file->directories, &file->directory_capacity,
                                       sizeof *directories, file->directory_count + 1);

    if (directories)
        file->directories = directories;
    if (!entry || !directories || note_seen(file, first_lane) != 0)
        return SS_E_NOMEM;
    *entry = (struct segment_entry){.lane = first_lane, .use = SEGMENT_HAS_BLOCKS};
    directories[file->directory_count++] = (uint32_t)segment;
    return 0;
}

/* `catching_up`: takes only what comes before a segment that is known already (see
 * segment_index_refresh()). */
static int look_at_records(struct process_file *file, uint64_t segment,
                           const struct ss_segment_header *header, bool catching_up)
{
    if (header->lease == 0)
        return 0;
    if (header->lane >= LANE_LIMIT || header->seq == 0)
        return lose_segment(file, segment, SS_LOSS_HEADER);
    if (catching_up) {
        const struct run_lane *const lane = lane_table_find(file, header->lane);
        if (!lane || header->seq > lane->last_seq)
            return 0;
    }
    return take_records(file, segment, header);
}

static int look_at_directory(struct process_file *file, uint64_t segment,
                             const struct ss_segment_header *header)
{
    if (header->lane % SS_BLOCKS_PER_SEGMENT != 0 || header->lane >= LANE_LIMIT ||
        seen_before(file, header->lane))
        return lose_segment(file, segment, SS_LOSS_HEADER);
    return take_directory(file, segment, header->lane);
}

static int look_at_segment(struct process_file *file, uint64_t segment, bool catching_up)
{
    const struct segment_entry *const entry = segment_index_at(file, segment);
    struct ss_segment_header header;

    if (entry && entry->use != SEGMENT_IDLE)
        return 0;
    if (source_read(&file->source, offset_of(segment), &header, sizeof header) != sizeof header)
        return lose_segment(file, segment,
                            source_is_damaged(&file->source, offset_of(segment), sizeof header)
                                ? SS_LOSS_HEADER
                                : SS_LOSS_TRUNCATED);
    if (is_zero(&header))
        return 0;
    if (header.magic != SS_SEGMENT_MAGIC)
        return lose_segment(file, segment, SS_LOSS_HEADER);
    switch (header.kind) {
    case SS_SEGMENT_FREE:
        return 0;
    case SS_SEGMENT_RECORDS:
        return look_at_records(file, segment, &header, catching_up);
    case SS_SEGMENT_DIRECTORY:
        return look_at_directory(file, segment, &header);
    default:
        return lose_segment(file, segment, SS_LOSS_HEADER);
    }
}

static int look_at_segments(struct process_file *file, bool catching_up)
{
    const uint64_t size = file->source.size;
    const uint64_t rest = size % SS_SEGMENT_BYTES;
    uint64_t offset = SS_SEGMENT_BYTES;
    int code = 0;

    while (code == 0) {
        offset = source_next_data(&file->source, offset, SS_SEGMENT_BYTES);
        if (offset >= size)
            break;
        code = look_at_segment(file, offset / SS_SEGMENT_BYTES, catching_up);
        offset += SS_SEGMENT_BYTES;
    }
    /* A last segment too short for its header is lost even if it is a hole. */
    if (code == 0 && size > SS_SEGMENT_BYTES && rest > 0 && rest < SS_SEGMENT_HEADER_BYTES)
        code = look_at_segment(file, size / SS_SEGMENT_BYTES, catching_up);
    return code;
}

uint64_t segment_lease(struct process_file *file, uint64_t segment)
{
    const uint64_t offset = offset_of(segment) + offsetof(struct ss_segment_header, lease);
    uint64_t lease;

    if (source_read(&file->source, offset, &lease, sizeof lease) != sizeof lease)
        return 0;
    return lease;
}

/* Forgets record segments that have been given away, and lists the others again. */
static int check_all_again(struct process_file *file)
{
    int code = 0;

    lane_table_clear_segments(file);
    for (size_t c = 0; c < file->chunk_capacity; c++) {
        for (size_t i = 0; file->chunks[c] && i < SEGMENTS_PER_CHUNK && code == 0; i++) {
            struct segment_entry *const entry = &file->chunks[c]->entries[i];
            const uint64_t segment = c * SEGMENTS_PER_CHUNK + i;
            if (entry->use != SEGMENT_HAS_RECORDS)
                continue;
            if (segment_lease(file, segment) == entry->lease)
                code = lane_table_add_segment(lane_table_find(file, entry->lane), (uint32_t)segment,
                                              entry->seq);
            else
                *entry = (struct segment_entry){0};
        }
    }
    return code;
}

static void lose_in_block(struct process_file *file, struct segment_entry *directory,
                          unsigned place, enum ss_loss_kind kind, uint64_t offset, uint64_t bytes)
{
    if (file->info.end == SS_END_LIVE || directory->blocks_told >> place & 1)
        return;
    directory->blocks_told |= (uint8_t)(1 << place);
    process_file_lose(file, kind, offset, bytes);
}

static void take_block(struct run_lane *lane, const struct ss_lane_block *block, uint64_t offset)
{
    struct ss_lane *const info = &lane->info;

    lane->block = offset;
    info->tid = block->tid;
    info->owners = block->owners;
    info->lost_records = block->lost_records;
    info->unbalanced = block->unbalanced;
    info->too_deep = block->too_deep;
    memcpy(info->lost_by_stage, block->lost_by_stage, sizeof info->lost_by_stage);
}

static int look_at_block(struct process_file *file, uint64_t segment, unsigned place)
{
    struct segment_entry *const directory = segment_index_at(file, segment);
    const uint32_t number = directory->lane + place;
    const uint64_t offset = offset_of(segment) + (place + 1) * (uint64_t)SS_BLOCK_BYTES;
    struct ss_lane_block block; /* only its first BLOCK_HEAD_BYTES are read */
    struct run_lane *lane;

    if (offset >= file->source.size)
        return 0;
    if (file->source.size - offset < SS_BLOCK_BYTES ||
        source_read(&file->source, offset, &block, BLOCK_HEAD_BYTES) != BLOCK_HEAD_BYTES) {
        lose_in_block(file, directory, place, SS_LOSS_TRUNCATED, offset, SS_BLOCK_BYTES);
        return 0;
    }
    if (block.magic == 0)
        return 0;
    if (block.magic != SS_LANE_MAGIC || block.lane != number) {
        lose_in_block(file, directory, place, SS_LOSS_HEADER, offset, SS_BLOCK_BYTES);
        return 0;
    }
    lane = lane_table_make(file, number);
    if (!lane)
        return SS_E_NOMEM;
    take_block(lane, &block, offset);
    if (block.depth >= SS_STACK_DEPTH)
        lose_in_block(file, directory, place, SS_LOSS_HEADER, offset + BLOCK_HEAD_BYTES,
                      sizeof block.open);
    return 0;
}

static int look_at_blocks(struct process_file *file)
{
    int code = 0;

    for (size_t i = 0; i < file->directory_count && code == 0; i++)
        for (unsigned place = 0; place < SS_BLOCKS_PER_SEGMENT && code == 0; place++)
            code = look_at_block(file, file->directories[i], place);
    return code;
}

/* In a file that is being written, a first look may find a segment of a lane and have
 * missed the one before it, which was taken after we passed its place. A second look
 * finds it: it was taken before the one that we know. Later ones wait for the next
 * refresh. Blocks come last, since a lane has its block before its first segment. */
int segment_index_refresh(struct process_file *file, bool all_again)
{
    int code = 0;

    if (file->directory_count == 0)
        code = take_directory(file, 0, 0);
    if (code == 0 && all_again)
        code = check_all_again(file);
    if (code == 0)
        code = look_at_segments(file, false);
    if (code == 0 && file->may_change)
        code = look_at_segments(file, true);
    if (code == 0)
        code = look_at_blocks(file);
    lane_table_sort(file);
    return code;
}

void segment_index_release(struct process_file *file)
{
    for (size_t i = 0; i < file->chunk_capacity; i++)
        free(file->chunks[i]);
    free(file->chunks);
    free(file->directories);
    free(file->directories_seen);
    file->chunks = NULL;
    file->directories = NULL;
    file->directories_seen = NULL;
    file->chunk_capacity = file->directory_capacity = file->directory_count = 0;
    file->seen_capacity = 0;
}
