#include "model/other_threads.h"

#include <stdlib.h>
#include <string.h>

static const int64_t BYTES_MOST = INT64_C(1) << 36; /* of a batch; more is nonsense */

/* Spans come in the order of their ends, so a new one can only reach back into the last ones. */
static bool add(struct overlays *overlays, struct overlay one)
{
    if (!overlays->window && !(overlays->window = calloc(OVERLAYS_KEPT, sizeof *overlays->window)))
        return false;
    overlays->seen++;
    if (overlays->count > 0 && one.end_ns < overlays->window[overlays->count - 1].start_ns)
        return true; /* told too late: its item has ended */
    while (overlays->count > 0 && overlays->window[overlays->count - 1].end_ns >= one.start_ns) {
        const struct overlay *last = &overlays->window[--overlays->count];
        one.start_ns = last->start_ns < one.start_ns ? last->start_ns : one.start_ns;
        one.end_ns = last->end_ns > one.end_ns ? last->end_ns : one.end_ns;
        one.bytes += last->bytes;
        one.batches += last->batches;
    }
    if (overlays->count == OVERLAYS_KEPT) {
        memmove(overlays->window, overlays->window + 1,
                (OVERLAYS_KEPT - 1) * sizeof overlays->window[0]);
        overlays->count--;
    }
    overlays->window[overlays->count++] = one;
    return true;
}

void overlays_release(struct overlays *overlays)
{
    free(overlays->window);
    *overlays = (struct overlays){0};
}

bool overlay_add(struct overlays *overlays, enum ss_stage stage, const struct ss_record *record)
{
    const int64_t arg = record->u.arg;
    const bool has_size = stage == SS_STAGE_DATA && arg > 0 && arg <= BYTES_MOST;
    return add(overlays,
               (struct overlay){record->start_ns, record->end_ns, has_size ? arg : 0, has_size});
}

int64_t overlay_take(struct overlays *overlays, int64_t start_ns, int64_t end_ns)
{
    int64_t total = 0;
    int kept = 0;
    for (int i = 0; i < overlays->count; i++) {
        struct overlay o = overlays->window[i];
        int64_t from = o.start_ns > start_ns ? o.start_ns : start_ns;
        int64_t to = o.end_ns < end_ns ? o.end_ns : end_ns;
        total += to > from ? to - from : 0;
        if (o.end_ns > end_ns)
            overlays->window[kept++] = o;
    }
    overlays->count = kept;
    return total;
}

void overlay_add_batches(struct overlays *waits, const struct item *item)
{
    for (int i = waits->count - 1; i >= 0 && waits->window[i].end_ns > item->start_ns; i--) {
        struct overlay *wait = &waits->window[i];
        if (wait->end_ns <= item->end_ns) {
            item->work->bytes += wait->bytes;
            item->work->batches_inside += wait->batches;
            wait->bytes = wait->batches = 0;
        }
    }
}

static struct batch_log *new_log(bool is_producer)
{
    const uint32_t most = is_producer ? BATCH_LOG_MADE : BATCH_LOG_WAITS;
    struct batch_log *log = malloc(sizeof *log + most * sizeof log->batch[0]);
    if (log) {
        log->is_producer = is_producer;
        log->count = 0;
        log->most = most;
    }
    return log;
}

void batch_log_add(struct batch_log **log, bool is_producer, const struct ss_record *record)
{
    struct batch_log *own = *log = *log ? *log : new_log(is_producer);
    if (own && own->is_producer == is_producer) {
        own->batch[own->count++ % own->most] =
            (struct batch_time){record->u.arg, record->start_ns, record->end_ns};
    }
}
