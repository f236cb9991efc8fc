#include "support/damage.h"

#include <stdlib.h>
#include <string.h>

#include "support/exercise.h"

static void add_every_kind(struct synth *synth, uint32_t lane, uint64_t ticks)
{
    static const uint64_t plan[4] = {100, 2, 50, 32};
    static const uint32_t frames[5] = {1, 2, 3, 4, 5};

    synth_text(synth, lane, SS_KIND_THREAD_BEGIN, 0, ticks, 500 + lane, "worker", "");
    synth_point(synth, lane, SS_KIND_LOOP_BEGIN, 1, ticks + 1, 0);
    synth_point(synth, lane, SS_KIND_EPOCH_BEGIN, 0, ticks + 2, 3);
    synth_point(synth, lane, SS_KIND_STEP, 0, ticks + 3, 64);
    synth_span(synth, lane, 2, ticks + 3, ticks + 10);
    synth_counter(synth, lane, 3, ticks + 11, 0.125);
    synth_text(synth, lane, SS_KIND_MARK, 4, ticks + 12, 0, "a mark of some length", "");
    synth_plan(synth, lane, ticks + 13, plan);
    synth_sample(synth, lane, ticks + 14, 600, frames, 5);
    synth_frame(synth, lane, 2, 77, "forward", "model.py");
    synth_text(synth, lane, SS_KIND_HOOK, 0, ticks + 15, 0, "torch.load", "too old");
    synth_window(synth, lane, SS_KIND_PERTURBED, ticks, ticks + 16, 2);
    synth_system(synth, lane, 5, ticks + 17, 1e9, 3, SS_SYSTEM_VALUE);
    synth_window(synth, lane, SS_KIND_LOST, ticks + 2, ticks + 18, 40);
    synth_point(synth, lane, SS_KIND_EPOCH_END, 0, ticks + 19, 0);
    synth_point(synth, lane, SS_KIND_LOOP_END, 0, ticks + 20, 0);
    synth_point(synth, lane, SS_KIND_THREAD_END, 0, ticks + 21, 0);
}

static void add_names(struct synth *synth)
{
    static const char *const texts[] = {"fit", "forward", "loss", "note", "cpu"};

    for (uint16_t id = 1; id <= 5; id++)
        synth_name(synth, id, texts[id - 1], id, id, id, id % 2 ? "Object#1" : "");
    synth_info(synth, "command", "python train.py");
    synth_info(synth, "host", "example");
}

static struct synth *many_kinds(void)
{
    struct synth *const synth = synth_new();

    add_names(synth);
    add_every_kind(synth, 1, 2000);
    synth_next_segment(synth, 1);
    add_every_kind(synth, 1, 3000);
    add_every_kind(synth, 2, 2500);
    synth_free_segment(synth);
    synth_skip_segments(synth, 1, 2);
    add_every_kind(synth, 1, 4000);
    synth_trim(synth);
    return synth;
}

static struct synth *killed(void)
{
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);

    header->clock = SS_CLOCK_TSC;
    header->ticks_per_s = 2000000000;
    header->state = SS_FILE_OPEN;
    header->end_ticks = 0;
    add_names(synth);
    for (uint64_t i = 1; i < 20; i++)
        synth_calibration(synth, 1000 + i * 1000, (int64_t)(1000 + i * 500), 0);
    synth_beat(synth, 25000, 13000);
    for (uint32_t lane = 1; lane < 5; lane++) {
        add_every_kind(synth, lane, 2000 * lane);
        synth_open(synth, lane, 1, 2000 * lane);
        synth_open(synth, lane, 2, 2000 * lane + 10);
    }
    synth_next_segment(synth, 3);
    add_every_kind(synth, 3, 9000);
    synth_trim(synth);
    return synth;
}

static struct synth *many_lanes(void)
{
    struct synth *const synth = synth_new();

    add_names(synth);
    for (uint32_t lane = 1; lane < 16; lane++)
        add_every_kind(synth, lane, 2000 + lane % 4);
    synth_next_segment(synth, 0);
    add_names(synth);
    synth_trim(synth);
    return synth;
}

struct synth *damage_run(unsigned which)
{
    return which == 0 ? many_kinds() : which == 1 ? killed() : many_lanes();
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;

    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/* Somewhere in the file; mostly where something is: headers, blocks, first records. */
static size_t draw_place(uint64_t *random, size_t size)
{
    const size_t segment = draw(random) % (size / SS_SEGMENT_BYTES + 1) * SS_SEGMENT_BYTES;
    const size_t block = segment + draw(random) % 8 * SS_BLOCK_BYTES;
    size_t place;

    switch (draw(random) % 5) {
    case 0:
        place = draw(random) % 512;
        break;
    case 1:
        place = segment + draw(random) % 2048;
        break;
    case 2:
        place = block + draw(random) % 1536;
        break;
    case 3:
        place = block + SS_INLINE_OFFSET + draw(random) % 1024;
        break;
    default:
        place = draw(random) % size;
        break;
    }
    return place < size ? place : place % size;
}

static uint64_t draw_value(uint64_t *random)
{
    static const uint64_t odd[] = {0,     1,          2,          7,          63,
                                   64,    255,        256,        65535,      65536,
                                   1000,  UINT32_MAX, INT64_MAX,  UINT64_MAX, 458752,
                                   20000, 0x80000000, 1ull << 63, 1999,       32};

    return draw(random) % 3 ? odd[draw(random) % (sizeof odd / sizeof *odd)] : draw(random);
}

static void change_once(uint8_t *bytes, size_t size, uint64_t *random)
{
    const size_t place = draw_place(random, size);
    const size_t aligned = place / 8 * 8;
    const uint64_t value = draw_value(random);
    const size_t widths[] = {1, 2, 4, 8};
    const size_t width = widths[draw(random) % 4];

    switch (draw(random) % 4) {
    case 0:
        bytes[place] ^= (uint8_t)(1 << draw(random) % 8);
        break;
    case 1:
        if (aligned + width <= size)
            memcpy(bytes + aligned, &value, width);
        break;
    case 2: { /* a piece of the file at another place */
        const size_t from = draw_place(random, size) / 32 * 32, to = place / 32 * 32;
        const size_t length = 32 * (1 + draw(random) % 8);
        if (from + length <= size && to + length <= size)
            memmove(bytes + to, bytes + from, length);
        break;
    }
    default:
        bytes[place] = (uint8_t)value;
        break;
    }
}

/* In a buffer of exactly the size of the file, so that a sanitizer sees a read behind
 * it. */
static void read_damaged(struct synth *whole, uint64_t number)
{
    uint64_t random = number;
    size_t size = synth_size(whole);

    if (draw(&random) % 4 == 0)
        size = 1024 + draw(&random) % (size - 1024);
    uint8_t *const bytes = malloc(size);
    if (!bytes)
        abort();
    memcpy(bytes, synth_bytes(whole), size);
    for (uint64_t changes = 1 + draw(&random) % 8; changes > 0; changes--)
        change_once(bytes, size, &random);
    const struct ss_blob blob = {"p-1.ssp", bytes, size};
    exercise_files(&blob, 1);
    free(bytes);
}

void damage_and_read(uint64_t first, uint64_t count)
{
    struct synth *runs[DAMAGE_RUNS];

    for (unsigned i = 0; i < DAMAGE_RUNS; i++)
        runs[i] = damage_run(i);
    for (uint64_t number = first; number < first + count; number++)
        read_damaged(runs[number % DAMAGE_RUNS], number);
    for (unsigned i = 0; i < DAMAGE_RUNS; i++)
        synth_free(runs[i]);
}
