#include <stdlib.h>

#include "base/compiler.h"
#include "read/array.h"
#include "read/lane_reader.h"
#include "read/run.h"

enum {
    BUFFER_MOST = 65536, /* what a lane may have in view */
    BUFFER_LEAST = 2048,
    BUFFER_BUDGET = 2 << 20 /* of all lanes of a cursor: they stay in a CPU's cache */
};

/* A lane with a record to come, in a heap. The key is the time of that record, then
 * the file, then the lane, in one number: comparing it takes no branch, and which of
 * two lanes comes first cannot be predicted. */
struct contender {
    unsigned __int128 key;
    struct lane_reader *reader;
};

/* Children of a contender: a heap with few levels, since each has to wait for the one
 * above. */
enum { HEAP_WIDTH = 4 };

struct ss_cursor {
    struct lane_reader *lane; /* of a cursor over one lane, unless it is stale */
    struct ss_run *run;       /* NULL: it was closed */
    struct ss_cursor *next, *previous;
    bool merged;
    bool stale; /* the run was refreshed since */
    bool taken; /* the record of heap[0] was given: peek for its next one */
    struct lane_reader **readers;
    size_t count, capacity;
    struct contender *heap;
    size_t heap_count, heap_capacity;
    ss_ns last_ns;
    _Alignas(uint64_t) uint8_t scratch[LANE_WALK_SCRATCH];
};

/* More than a lane has is of no use to it; few bytes each if there are many lanes. */
static size_t buffer_size(const struct run_lane *lane, size_t lanes)
{
    size_t size = BUFFER_BUDGET / lanes;
    const size_t content = SS_BLOCK_BYTES + lane->count * SS_SEGMENT_BYTES;

    if (lane->file->source.data)
        return 0;
    if (size > content)
        size = content;
    if (size > BUFFER_MOST)
        size = BUFFER_MOST;
    if (size < BUFFER_LEAST)
        size = BUFFER_LEAST;
    return size / SS_UNIT * SS_UNIT;
}

static struct lane_reader *new_reader(struct run_lane *lane, size_t lanes)
{
    const size_t size = buffer_size(lane, lanes);
    struct lane_reader *const reader = malloc(sizeof *reader + size);

    if (reader)
        lane_reader_init(reader, lane, size ? (uint8_t *)(reader + 1) : NULL, size);
    return reader;
}

static int add_reader(struct ss_cursor *cursor, struct run_lane *lane, size_t lanes)
{
    struct lane_reader **readers =
        array_grow(cursor->readers, &cursor->capacity, sizeof *readers, cursor->count + 1);
    struct contender *heap;

    if (!readers)
        return SS_E_NOMEM;
    cursor->readers = readers;
    heap = array_grow(cursor->heap, &cursor->heap_capacity, sizeof *heap, cursor->count + 1);
    if (!heap)
        return SS_E_NOMEM;
    cursor->heap = heap;
    readers[cursor->count] = new_reader(lane, lanes);
    if (!readers[cursor->count])
        return SS_E_NOMEM;
    cursor->count++;
    return 0;
}

static int add_new_lanes(struct ss_cursor *cursor)
{
    const struct ss_run *const run = cursor->run;
    int code = 0;

    while (cursor->count < run->lane_count && code == 0)
        code = add_reader(cursor, run->lanes[cursor->count], run->lane_count);
    return code;
}

struct ss_cursor *ss_cursor_new(struct ss_run *run, size_t lane)
{
    struct ss_cursor *cursor;
    int code;

    if (lane != SS_ALL_LANES && lane >= run->lane_count)
        return NULL;
    cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    cursor->run = run;
    cursor->merged = lane == SS_ALL_LANES;
    cursor->stale = true;
    cursor->last_ns = INT64_MIN;
    cursor->next = run->cursors;
    if (cursor->next)
        cursor->next->previous = cursor;
    run->cursors = cursor;
    code = cursor->merged ? add_new_lanes(cursor) : add_reader(cursor, run->lanes[lane], 1);
    if (code != 0) {
        ss_cursor_free(cursor);
        return NULL;
    }
    return cursor;
}

void ss_cursor_free(struct ss_cursor *cursor)
{
    if (!cursor)
        return;
    if (cursor->next)
        cursor->next->previous = cursor->previous;
    if (cursor->previous)
        cursor->previous->next = cursor->next;
    else if (cursor->run)
        cursor->run->cursors = cursor->next;
    for (size_t i = 0; i < cursor->count; i++)
        free(cursor->readers[i]);
    free(cursor->readers);
    free(cursor->heap);
    free(cursor);
}

int cursors_refresh(struct ss_run *run)
{
    int code = 0;

    for (struct ss_cursor *cursor = run->cursors; cursor; cursor = cursor->next) {
        cursor->stale = true;
        cursor->lane = NULL;
        if (cursor->merged && add_new_lanes(cursor) != 0)
            code = SS_E_NOMEM;
    }
    return code;
}

void cursors_orphan(struct ss_run *run)
{
    for (struct ss_cursor *cursor = run->cursors; cursor; cursor = cursor->next) {
        cursor->run = NULL;
        cursor->lane = NULL;
    }
}

static inline unsigned __int128 key_of(const struct lane_reader *reader)
{
    const struct run_lane *const lane = reader->walk.lane;
    const uint64_t time = (uint64_t)reader->time_ns ^ (uint64_t)1 << 63; /* sign first */

    return (unsigned __int128)time << 64 | (uint64_t)lane->file->order << 32 | lane->info.number;
}

static inline size_t earliest_child(const struct contender *heap, size_t first, size_t count)
{
    const size_t end = first + HEAP_WIDTH < count ? first + HEAP_WIDTH : count;
    unsigned __int128 key = heap[first].key;
    size_t earliest = first;

    for (size_t child = first + 1; child < end; child++) {
        earliest = heap[child].key < key ? child : earliest;
        key = heap[child].key < key ? heap[child].key : key;
    }
    return earliest;
}

/* Lets the contender at `place` sink to where it belongs. Mostly it is there already:
 * a lane has some records before another lane has one. */
static inline void sift_down(struct contender *heap, size_t count, size_t place)
{
    const unsigned __int128 key = heap[place].key;
    struct lane_reader *const reader = heap[place].reader;

    for (size_t child = HEAP_WIDTH * place + 1; child < count; child = HEAP_WIDTH * place + 1) {
        child = earliest_child(heap, child, count);
        if (heap[child].key >= key)
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place].key = key;
    heap[place].reader = reader;
}

/* Looks at all lanes again, since any of them may have more records now. Lanes that cannot are
 * done with: a run may have thousands of processes that ended long ago. */
static void rebuild_heap(struct ss_cursor *cursor)
{
    cursor->heap_count = 0;
    cursor->taken = false;
    for (size_t i = 0; i < cursor->count; i++) {
        struct lane_reader *const reader = cursor->readers[i];
        if (!reader)
            continue;
        lane_reader_refreshed(reader);
        if (lane_reader_peek(reader)) {
            cursor->heap[cursor->heap_count++] = (struct contender){key_of(reader), reader};
        } else if (reader->walk.lane->file->complete) {
            reader->walk.lane->is_read = true;
            free(reader);
            cursor->readers[i] = NULL;
        }
    }
    for (size_t i = cursor->heap_count; i-- > 0;)
        sift_down(cursor->heap, cursor->heap_count, i);
}

static void advance(struct ss_cursor *cursor)
{
    struct contender *const first = &cursor->heap[0];

    cursor->taken = false;
    if (lane_reader_peek(first->reader))
        first->key = key_of(first->reader);
    else
        *first = cursor->heap[--cursor->heap_count];
    sift_down(cursor->heap, cursor->heap_count, 0);
}

/* What comes late although it waited (its thread stood still for longer) counts as of
 * now. */
static bool next_merged(struct ss_cursor *cursor, struct ss_record *out)
{
    do {
        if (cursor->taken)
            advance(cursor);
        if (cursor->heap_count == 0 || cursor->heap[0].reader->time_ns > cursor->run->barrier_ns)
            return false;
        cursor->taken = true;
    } while (!lane_reader_take(cursor->heap[0].reader, out, cursor->scratch));
    if (out->time_ns < cursor->last_ns)
        out->time_ns = cursor->last_ns;
    cursor->last_ns = out->time_ns;
    return true;
}

static void take_note_of_refresh(struct ss_cursor *cursor)
{
    cursor->stale = false;
    if (cursor->merged) {
        rebuild_heap(cursor);
    } else {
        cursor->lane = cursor->readers[0];
        lane_reader_refreshed(cursor->lane);
    }
}

static ATTR_NOINLINE bool next_slow(struct ss_cursor *cursor, struct ss_record *out)
{
    if (!cursor->run)
        return false;
    if (cursor->stale)
        take_note_of_refresh(cursor);
    return cursor->merged ? next_merged(cursor, out)
                          : lane_reader_next_slow(cursor->lane, out, cursor->scratch);
}

bool ss_cursor_next(struct ss_cursor *cursor, struct ss_record *out)
{
    return cursor->lane ? lane_reader_next(cursor->lane, out, cursor->scratch)
                        : next_slow(cursor, out);
}
