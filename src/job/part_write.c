#include <math.h>
#include <string.h>

#include "base/crc32c.h"
#include "job/part.h"

static const char magic[] = {'S', 'S', 'J', 'P', 'A', 'R', 'T', '\n'};

static void put_uint(struct buf *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    buf_add(out, bytes, size);
}

static void put_int(struct buf *out, int64_t value)
{
    put_uint(out, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_text(struct buf *out, const char *text)
{
    const size_t size = strlen(text);

    put_uint(out, size);
    buf_add(out, text, size);
}

static void put_little(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

/* Only bins that hold something: the distance to the one before, and the count. */
static void put_sketch(struct buf *out, unsigned column, const struct sketch *sketch)
{
    uint64_t bins = 0, at = 0;

    for (int32_t i = 0; i < sketch->bin_count; i++)
        bins += sketch->bins[i] > 0;
    put_uint(out, column);
    put_uint(out, sketch->count);
    put_uint(out, sketch->below);
    put_uint(out, sketch->above);
    put_int(out, sketch->min_ns);
    put_int(out, sketch->max_ns);
    put_uint(out, (uint64_t)sketch->sum_ns);
    put_uint(out, (uint64_t)(sketch->sum_ns >> 64));
    put_uint(out, bins);
    for (int32_t i = 0; i < sketch->bin_count; i++) {
        if (sketch->bins[i] == 0)
            continue;
        put_uint(out, (uint64_t)sketch->first + (uint64_t)i - at);
        put_uint(out, sketch->bins[i]);
        at = (uint64_t)sketch->first + (uint64_t)i;
    }
}

static void put_sketches(struct buf *out, const struct part_rank *rank)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < SERIES_SKETCHES; i++)
        count += rank->times[i].count > 0 && rank->times[i].error == 0;
    put_uint(out, count);
    for (unsigned i = 0; i < SERIES_SKETCHES; i++)
        if (rank->times[i].count > 0 && rank->times[i].error == 0)
            put_sketch(out, i, &rank->times[i]);
}

static void put_shared(struct buf *out, const struct part_rank *rank)
{
    int64_t number = 0, own_ns = 0, comm_ns = 0;

    put_uint(out, rank->shared_count);
    for (size_t i = 0; i < rank->shared_count; i++) {
        const struct shared_step *step = &rank->shared[i];
        const int64_t own = llround(step->own_ns), comm = llround(step->comm_ns);
        put_uint(out, (uint64_t)(step->number - number));
        put_int(out, own - own_ns);
        put_int(out, comm - comm_ns);
        number = step->number;
        own_ns = own;
        comm_ns = comm;
    }
}

static void put_ints(struct buf *out, const int64_t *values, size_t count)
{
    put_uint(out, count);
    for (size_t i = 0; i < count; i++)
        put_int(out, values[i]);
}

static void put_rank(struct buf *out, const struct part_rank *rank)
{
    const int64_t counts[] = {rank->steps,         rank->warmup_steps, rank->steady_steps,
                              rank->flagged_steps, rank->steady_ns,    rank->samples,
                              rank->updates,       rank->wall_ns};

    put_uint(out, rank->rank);
    put_uint(out, rank->world);
    put_uint(out, rank->pid);
    put_uint(out, rank->framework);
    put_int(out, rank->started_ns);
    put_text(out, rank->name);
    put_ints(out, counts, sizeof counts / sizeof counts[0]);
    put_ints(out, rank->segment_ns, MODEL_SEGMENT_COUNT);
    put_uint(out, rank->measured);
    put_ints(out, rank->stage_ns, SS_STAGE_COUNT);
    put_sketches(out, rank);
    put_ints(out, rank->window_ns, (size_t)rank->windows);
    put_uint(out, (uint64_t)rank->slow_count);
    for (int i = 0; i < rank->slow_count; i++) {
        put_int(out, rank->slowest[i].number);
        put_int(out, rank->slowest[i].time_ns);
    }
    put_shared(out, rank);
}

static void put_launch(struct buf *out, const struct job_part *part)
{
    const int64_t clocks[] = {part->begin_raw_ns, part->begin_realtime_ns, part->last_raw_ns,
                              part->last_realtime_ns, part->clock_error_ns};

    put_text(out, part->job);
    put_text(out, part->launcher);
    put_text(out, part->host);
    put_text(out, part->directory);
    put_text(out, part->path);
    buf_add(out, part->boot_id, sizeof part->boot_id);
    put_uint(out, part->has_ended);
    put_uint(out, (uint64_t)part->exit_code + 1); /* -1 to 255 */
    put_uint(out, (uint64_t)part->signal);
    put_ints(out, clocks, sizeof clocks / sizeof clocks[0]);
    put_uint(out, part->lost_records);
    put_uint(out, part->counters);
    for (size_t i = 0; i < part->counters; i++) {
        const struct part_counter *row = &part->machine[i];
        put_uint(out, row->counter);
        put_int(out, row->mean);
        put_int(out, row->most);
        put_int(out, row->gained);
    }
    put_uint(out, part->finding_count);
    for (size_t i = 0; i < part->finding_count; i++) {
        put_text(out, part->findings[i].name);
        put_uint(out, part->findings[i].severity);
        put_int(out, part->findings[i].share_ppm);
    }
}

void part_write(struct buf *out, const struct job_part *part)
{
    const size_t start = out->size;
    uint8_t head[PART_HEAD] = {0};

    buf_add(out, head, sizeof head);
    put_launch(out, part);
    put_uint(out, part->rank_count);
    for (size_t i = 0; i < part->rank_count; i++)
        put_rank(out, &part->ranks[i]);
    if (out->failed)
        return;
    memcpy(head, magic, sizeof magic);
    put_little(head + 8, PART_VERSION, 4);
    put_little(head + 16, part->launch, 8);
    put_little(head + 24, part->sequence, 8);
    put_little(head + 32, out->size - start - sizeof head, 8);
    memcpy(out->data + start, head, sizeof head);
    put_little((uint8_t *)out->data + start + 12,
               crc32c(out->data + start + 16, out->size - start - 16), 4);
}
