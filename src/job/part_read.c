#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "job/part.h"

/* What is left of a part; once it is short of something, all that is read is 0. */
struct input {
    const uint8_t *at;
    size_t left;
    bool is_bad, is_short_of_memory;
};

static void fail(struct input *input)
{
    input->is_bad = true;
    input->left = 0;
}

static uint64_t get_uint(struct input *input)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (input->left == 0)
            break;
        const uint8_t byte = *input->at++;
        input->left--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    fail(input);
    return 0;
}

static int64_t get_int(struct input *input)
{
    const uint64_t value = get_uint(input);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* A number that cannot be larger. */
static uint64_t get_upto(struct input *input, uint64_t most)
{
    const uint64_t value = get_uint(input);

    if (value <= most)
        return value;
    fail(input);
    return 0;
}

/* A count or a time: never below 0. */
static int64_t get_count(struct input *input)
{
    const int64_t value = get_int(input);

    if (value >= 0)
        return value;
    fail(input);
    return 0;
}

static void get_bytes(struct input *input, void *out, size_t size)
{
    if (size > input->left) {
        fail(input);
        return;
    }
    memcpy(out, input->at, size);
    input->at += size;
    input->left -= size;
}

static void get_text(struct input *input, char *out, size_t size)
{
    const size_t bytes = (size_t)get_upto(input, size - 1);

    get_bytes(input, out, bytes);
    out[input->is_bad ? 0 : bytes] = '\0';
    if (strlen(out) != (input->is_bad ? 0 : bytes))
        fail(input);
}

static void get_ints(struct input *input, int64_t *out, size_t count)
{
    if (get_uint(input) != count)
        fail(input);
    for (size_t i = 0; i < count; i++)
        out[i] = get_int(input);
}

/* The same, none below 0. */
static void get_counts(struct input *input, int64_t *out, size_t count)
{
    if (get_uint(input) != count)
        fail(input);
    for (size_t i = 0; i < count; i++)
        out[i] = get_count(input);
}

static void get_bins(struct input *input, struct sketch *sketch, uint64_t bins)
{
    uint64_t bin = 0, sum = 0;

    for (uint64_t i = 0; i < bins && !input->is_bad; i++) {
        bin += get_upto(input, UINT16_MAX);
        const uint64_t times = get_upto(input, sketch->count - sum);
        sum += times;
        if (times == 0 || !sketch_restore_bin(sketch, bin, times)) {
            input->is_short_of_memory |= sketch->error != 0;
            fail(input);
        }
    }
    if (sum + sketch->below + sketch->above != sketch->count)
        fail(input);
}

static void get_sketch(struct input *input, struct part_rank *rank)
{
    struct sketch *sketch = &rank->times[get_upto(input, SERIES_SKETCHES - 1)];

    if (sketch->count > 0) { /* twice */
        fail(input);
        return;
    }
    sketch->count = get_upto(input, INT64_MAX);
    sketch->below = get_upto(input, sketch->count);
    sketch->above = get_upto(input, sketch->count - sketch->below);
    sketch->min_ns = get_count(input);
    sketch->max_ns = get_count(input);
    const uint64_t low = get_uint(input);
    sketch->sum_ns = (sketch_sum)get_uint(input) << 64 | low;
    get_bins(input, sketch, get_upto(input, UINT16_MAX));
}

static void get_slowest(struct input *input, struct part_rank *rank)
{
    rank->slow_count = (int)get_upto(input, SNAP_SLOWEST);
    for (int i = 0; i < rank->slow_count; i++) {
        rank->slowest[i].number = get_count(input);
        rank->slowest[i].time_ns = get_count(input);
    }
}

/* No number of a step and no time is larger than this: sums of them stay far from the end. */
static const int64_t value_most = INT64_C(1) << 56;

static int64_t next_value(struct input *input, int64_t before)
{
    const int64_t change = get_int(input);

    if (change < -value_most || change > value_most || before + change < -value_most ||
        before + change > value_most) {
        fail(input);
        return 0;
    }
    return before + change;
}

static void get_shared(struct input *input, struct part_rank *rank)
{
    const size_t count = (size_t)get_upto(input, SHARED_STEPS_MOST);
    int64_t number = 0, own_ns = 0, comm_ns = 0;

    rank->shared = count > 0 ? calloc(count, sizeof *rank->shared) : NULL;
    if (count > 0 && !rank->shared) {
        input->is_short_of_memory = true;
        fail(input);
    }
    for (size_t i = 0; i < count && !input->is_bad; i++) {
        const int64_t more = (int64_t)get_upto(input, (uint64_t)(value_most - number));
        own_ns = next_value(input, own_ns);
        comm_ns = next_value(input, comm_ns);
        if (i > 0 && more == 0)
            fail(input);
        number += more;
        rank->shared[i] = (struct shared_step){number, (double)own_ns, (double)comm_ns};
        rank->shared_count = i + 1;
    }
}

static void get_rank(struct input *input, struct part_rank *rank)
{
    int64_t counts[8] = {0};

    rank->rank = (uint32_t)get_upto(input, INT32_MAX);
    rank->world = (uint32_t)get_upto(input, INT32_MAX);
    rank->pid = (uint32_t)get_upto(input, UINT32_MAX);
    rank->framework = (uint32_t)get_upto(input, UINT8_MAX);
    rank->started_ns = get_int(input);
    get_text(input, rank->name, sizeof rank->name);
    get_counts(input, counts, 8);
    rank->steps = counts[0];
    rank->warmup_steps = counts[1];
    rank->steady_steps = counts[2];
    rank->flagged_steps = counts[3];
    rank->steady_ns = counts[4];
    rank->samples = counts[5];
    rank->updates = counts[6];
    rank->wall_ns = counts[7];
    get_ints(input, rank->segment_ns, MODEL_SEGMENT_COUNT);
    rank->measured = (uint32_t)get_upto(input, UINT32_MAX);
    get_ints(input, rank->stage_ns, SS_STAGE_COUNT);
    for (uint64_t left = get_upto(input, SERIES_SKETCHES); left > 0 && !input->is_bad; left--)
        get_sketch(input, rank);
    rank->windows = (int)get_upto(input, SNAP_OWN_WINDOWS);
    for (int i = 0; i < rank->windows; i++)
        rank->window_ns[i] = get_int(input);
    get_slowest(input, rank);
    get_shared(input, rank);
}

static void get_machine(struct input *input, struct job_part *part)
{
    part->counters = (size_t)get_upto(input, PART_MACHINE_MOST);
    for (size_t i = 0; i < part->counters; i++) {
        struct part_counter *row = &part->machine[i];
        row->counter = (uint32_t)get_upto(input, UINT16_MAX);
        row->mean = get_int(input);
        row->most = get_int(input);
        row->gained = get_int(input);
    }
    part->finding_count = (size_t)get_upto(input, PART_FINDINGS_MOST);
    for (size_t i = 0; i < part->finding_count; i++) {
        get_text(input, part->findings[i].name, sizeof part->findings[i].name);
        part->findings[i].severity = (uint8_t)get_upto(input, 2);
        part->findings[i].share_ppm = get_int(input);
    }
}

static void get_launch(struct input *input, struct job_part *part)
{
    int64_t clocks[5] = {0};

    get_text(input, part->job, sizeof part->job);
    get_text(input, part->launcher, sizeof part->launcher);
    get_text(input, part->host, sizeof part->host);
    get_text(input, part->directory, sizeof part->directory);
    get_text(input, part->path, sizeof part->path);
    get_bytes(input, part->boot_id, sizeof part->boot_id);
    part->has_ended = get_upto(input, 1);
    part->exit_code = (int)get_upto(input, 256) - 1;
    part->signal = (int)get_upto(input, 128);
    get_ints(input, clocks, 5);
    part->begin_raw_ns = clocks[0];
    part->begin_realtime_ns = clocks[1];
    part->last_raw_ns = clocks[2];
    part->last_realtime_ns = clocks[3];
    part->clock_error_ns = clocks[4];
    part->lost_records = get_uint(input);
    get_machine(input, part);
}

static void get_ranks(struct input *input, struct job_part *part)
{
    /* A rank has more than 40 bytes: more of them cannot be there. */
    const size_t count = (size_t)get_upto(input, input->left / 40);

    part->ranks = count > 0 ? calloc(count, sizeof *part->ranks) : NULL;
    if (count > 0 && !part->ranks) {
        input->is_short_of_memory = true;
        fail(input);
    }
    for (size_t i = 0; i < count && !input->is_bad; i++) {
        part->rank_count = i + 1;
        get_rank(input, &part->ranks[i]);
        if (i > 0 && part->ranks[i].rank <= part->ranks[i - 1].rank)
            fail(input);
    }
    if (input->left > 0)
        fail(input);
}

static uint64_t little(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

size_t part_head(const uint8_t *bytes, size_t size, uint64_t *launch, uint64_t *sequence,
                 struct ss_error *error)
{
    const uint64_t version = size >= PART_HEAD ? little(bytes + 8, 4) : 0;
    const uint64_t payload = size >= PART_HEAD ? little(bytes + 32, 8) : 0;

    if (size < PART_HEAD || memcmp(bytes, "SSJPART\n", 8) != 0)
        error_set(error, SS_E_DAMAGED, "it is not a part of a job, or it is damaged");
    else if (version != PART_VERSION)
        error_set(error, SS_E_VERSION, "it has version %u, and this stepscope reads version %d",
                  (unsigned)version, PART_VERSION);
    else if (payload > PART_PAYLOAD_MOST)
        error_set(error, SS_E_DAMAGED, "it is damaged: its length cannot be right");
    else {
        *launch = little(bytes + 16, 8);
        *sequence = little(bytes + 24, 8);
        return PART_HEAD + (size_t)payload;
    }
    return 0;
}

int part_read(struct job_part *part, const uint8_t *bytes, size_t size, struct ss_error *error)
{
    struct input input;

    *part = (struct job_part){0};
    const size_t whole = part_head(bytes, size, &part->launch, &part->sequence, error);
    if (whole == 0)
        return error ? error->code : SS_E_DAMAGED;
    if (whole != size)
        return error_set(error, SS_E_DAMAGED, "it is damaged: %zu of %zu bytes are there", size,
                         whole);
    if (crc32c(bytes + 16, size - 16) != little(bytes + 12, 4))
        return error_set(error, SS_E_DAMAGED, "it is damaged: its checksum is wrong");
    input = (struct input){.at = bytes + PART_HEAD, .left = size - PART_HEAD};
    get_launch(&input, part);
    get_ranks(&input, part);
    if (input.is_short_of_memory)
        return error_set(error, SS_E_NOMEM, "out of memory");
    return input.is_bad ? error_set(error, SS_E_DAMAGED, "it is damaged: its content is invalid")
                        : 0;
}

void part_release(struct job_part *part)
{
    for (size_t i = 0; i < part->rank_count; i++) {
        for (int k = 0; k < SERIES_SKETCHES; k++)
            sketch_release(&part->ranks[i].times[k]);
        free(part->ranks[i].shared);
    }
    free(part->ranks);
    *part = (struct job_part){0};
}
