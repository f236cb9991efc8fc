#include "read/fold.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/run_text.h"
#include "read/manifest.h"
#include "read/run.h"

enum { FILE_MOST = 4096 };

static const char *const keys[] = {"processes", "records", "bytes"};
enum { KEYS = sizeof keys / sizeof keys[0] };

const struct run_folded *fold_counts(const struct ss_run *run)
{
    return &run->folded;
}

/* 0 if it is no number. */
static uint64_t number_of(struct ss_text text)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9' ||
            __builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[i] - '0'), &number))
            return 0;
    return number;
}

void fold_load(struct ss_run *run)
{
    uint64_t *const counts[KEYS] = {&run->folded.processes, &run->folded.records,
                                    &run->folded.bytes};
    struct manifest found = {0};
    struct text_store store = {0};
    struct source source;
    char text[FILE_MOST];

    if (source_open(&source, &run->pool, RUN_FOLDED_FILE) == 0) {
        const struct ss_text all = {text, source_read(&source, 0, text, sizeof text)};
        if (manifest_add_lines(&found, &store, all) == 0)
            for (size_t i = 0; i < KEYS; i++)
                *counts[i] = number_of(manifest_find(&found, keys[i]));
    }
    source_close(&source);
    manifest_release(&found);
    text_store_release(&store);
}

bool fold_is_possible(const struct ss_run *run, size_t process)
{
    const struct process_file *const file = run->files[process];

    if (file->info.end == SS_END_LIVE || file->lanes_published < file->lane_count)
        return false;
    for (size_t i = 0; i < file->lane_count; i++)
        if (!file->lanes[i]->is_read)
            return false;
    return true;
}

static uint64_t records_of(struct ss_run *run, const struct run_lane *lane)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, lane->index);
    struct ss_record record;
    uint64_t records = 0;

    while (cursor && ss_cursor_next(cursor, &record))
        records++;
    ss_cursor_free(cursor);
    return records;
}

void fold_process(struct ss_run *run, size_t process, uint64_t bytes)
{
    struct process_file *const file = run->files[process];

    for (size_t i = 0; i < file->lane_count; i++) {
        struct run_lane *const lane = file->lanes[i];
        run->folded.records += records_of(run, lane);
        free(lane->segments);
        lane->segments = NULL;
        lane->count = lane->capacity = 0;
        lane->block = 0;
    }
    run->folded.processes++;
    run->folded.bytes += bytes;
    segment_index_release(file);
    file->complete = true;
    file->may_change = false;
    file->source.size = 0;
    source_close(&file->source);
}

void fold_write(struct buf *out, const struct ss_run *run)
{
    const uint64_t counts[KEYS] = {run->folded.processes, run->folded.records, run->folded.bytes};

    for (size_t i = 0; i < KEYS; i++)
        fact_line_number(out, keys[i], (int64_t)counts[i]);
}
