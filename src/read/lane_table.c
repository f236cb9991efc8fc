/* The lanes of a process by number, and which segments hold the records of each. */
#include <stdlib.h>

#include "read/array.h"
#include "read/process_file.h"

/* Numbers are sparse in damaged files, hence pages: what is allocated for a lane stays
 * below the 64 KB that its segment has in the file. */
enum { LANES_PER_PAGE = 64 };

struct lane_page {
    struct run_lane *lanes[LANES_PER_PAGE];
};

struct run_lane *lane_table_find(const struct process_file *file, uint32_t number)
{
    const size_t page = number / LANES_PER_PAGE;

    if (page >= file->page_capacity || !file->lane_pages[page])
        return NULL;
    return file->lane_pages[page]->lanes[number % LANES_PER_PAGE];
}

static struct lane_page *make_page(struct process_file *file, size_t page)
{
    struct lane_page **pages =
        array_grow(file->lane_pages, &file->page_capacity, sizeof(struct lane_page *), page + 1);

    if (!pages)
        return NULL;
    file->lane_pages = pages;
    if (!pages[page])
        pages[page] = calloc(1, sizeof *pages[page]);
    return pages[page];
}

struct run_lane *lane_table_make(struct process_file *file, uint32_t number)
{
    struct run_lane *lane = lane_table_find(file, number);
    struct run_lane **lanes;

    if (lane)
        return lane;
    struct lane_page *const page = make_page(file, number / LANES_PER_PAGE);
    if (!page)
        return NULL;
    lanes = array_grow(file->lanes, &file->lane_capacity, sizeof *lanes, file->lane_count + 1);
    if (!lanes)
        return NULL;
    file->lanes = lanes;
    lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->file = file;
    lane->index = UINT32_MAX;
    lane->info.process = file->index;
    lane->info.number = number;
    lanes[file->lane_count++] = lane;
    page->lanes[number % LANES_PER_PAGE] = lane;
    return lane;
}

int lane_table_add_segment(struct run_lane *lane, uint32_t segment, uint32_t seq)
{
    uint32_t *segments =
        array_grow(lane->segments, &lane->capacity, sizeof *segments, lane->count + 1);

    if (!segments)
        return SS_E_NOMEM;
    lane->segments = segments;
    segments[lane->count++] = segment;
    if (seq <= lane->last_seq)
        lane->unsorted = true;
    else
        lane->last_seq = seq;
    return 0;
}

/* By seq; of two with the same seq the one that counts comes last. */
static int compare_places(const void *a, const void *b, void *file)
{
    const uint32_t ka = *(const uint32_t *)a, kb = *(const uint32_t *)b;
    const struct segment_entry *const ea = segment_index_at(file, ka);
    const struct segment_entry *const eb = segment_index_at(file, kb);

    if (ea->seq != eb->seq)
        return ea->seq < eb->seq ? -1 : 1;
    if (ea->lease != eb->lease)
        return ea->lease < eb->lease ? -1 : 1;
    return (ka > kb) - (ka < kb);
}

/* While the process lives, two segments of one place may be a moment between two
 * states. */
static void lose_repeated(struct process_file *file, uint32_t segment)
{
    struct segment_entry *const entry = segment_index_at(file, segment);

    if (entry->told || file->info.end == SS_END_LIVE)
        return;
    entry->told = true;
    process_file_lose(file, SS_LOSS_ORDER, (uint64_t)segment * SS_SEGMENT_BYTES, SS_SEGMENT_BYTES);
}

static void sort_lane(struct run_lane *lane)
{
    struct process_file *const file = lane->file;
    size_t kept = 0;

    qsort_r(lane->segments, lane->count, sizeof *lane->segments, compare_places, file);
    for (size_t i = 0; i < lane->count; i++) {
        const uint32_t segment = lane->segments[i];
        const uint32_t seq = segment_index_at(file, segment)->seq;
        if (i + 1 < lane->count && segment_index_at(file, lane->segments[i + 1])->seq == seq)
            lose_repeated(file, segment);
        else
            lane->segments[kept++] = segment;
    }
    lane->count = kept;
    lane->unsorted = false;
}

void lane_table_sort(struct process_file *file)
{
    for (size_t i = 0; i < file->lane_count; i++)
        if (file->lanes[i]->unsorted)
            sort_lane(file->lanes[i]);
}

void lane_table_clear_segments(struct process_file *file)
{
    for (size_t i = 0; i < file->lane_count; i++) {
        file->lanes[i]->count = 0;
        file->lanes[i]->last_seq = 0;
    }
}

void lane_table_release(struct process_file *file)
{
    for (size_t i = 0; i < file->lane_count; i++) {
        free(file->lanes[i]->segments);
        free(file->lanes[i]->tail);
        free(file->lanes[i]);
    }
    for (size_t i = 0; i < file->page_capacity; i++)
        free(file->lane_pages[i]);
    free(file->lanes);
    free(file->lane_pages);
}
