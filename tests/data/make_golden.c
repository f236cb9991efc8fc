/* Writes the golden runs and the first inputs of the reader's fuzz target:
 *
 *   make_golden tests/data/golden fuzz/corpus/fuzz_reader
 *
 * Both are in the repository as this program wrote them once. They change only with
 * the format: what an older version wrote must stay readable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/damage.h"
#include "support/synth.h"

static const char file_name[] = "p-4711-5000-0123456789abcdef.ssp";
static const uint64_t start_ticks = 7000000000; /* of a counter of 2.5 GHz */
static const int64_t start_ns = 3000000000;

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

/* Ticks so many microseconds after the start. */
static uint64_t at_us(uint64_t us)
{
    return start_ticks + us * 2500;
}

static struct synth *new_process(void)
{
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);

    header->clock = SS_CLOCK_TSC;
    header->start_ticks = start_ticks;
    header->start_raw_ns = start_ns;
    header->start_realtime_ns = 1700000000000000000;
    header->ticks_per_s = 2500000000;
    header->process_start = 5000;
    header->span_cost_ps = 31000;
    header->rank = 0;
    header->world = 2;
    header->cap_bytes = 1 << 30;
    memcpy(header->file_id, "0123456789abcdef", sizeof header->file_id);
    synth_name(synth, 1, "fit", SS_STAGE_OTHER, SS_ROLE_LOOP, SS_SCOPE_NONE, "");
    synth_name(synth, 2, "forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, "Net");
    synth_name(synth, 3, "on_epoch_end", SS_STAGE_CALLBACK, SS_ROLE_NONE, SS_SCOPE_EPOCH_END,
               "Checkpoint#2");
    synth_name(synth, 4, "loss", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, "");
    synth_info(synth, "command", "python train.py --name \xc3\xa9 \xff");
    synth_info(synth, "host", "example");
    synth_calibration(synth, at_us(1000), start_ns + 1000007, 1700000000001000000);
    synth_calibration(synth, at_us(10000), start_ns + 10000011, 1700000000010000000);
    return synth;
}

/* What a thread records that trains for two steps, from `us` on. */
static void add_training(struct synth *synth, uint32_t lane, uint64_t us)
{
    static const uint64_t plan[4] = {200, 2, 100, 32};
    static const uint32_t frames[3] = {1, 2, 1};

    synth_text(synth, lane, SS_KIND_THREAD_BEGIN, 0, at_us(us), 4711 + lane, "MainThread", "");
    synth_text(synth, lane, SS_KIND_HOOK, 0, at_us(us), 0, "Model.fit", "");
    synth_plan(synth, lane, at_us(us + 1), plan);
    synth_point(synth, lane, SS_KIND_LOOP_BEGIN, 1, at_us(us + 2), 0);
    synth_point(synth, lane, SS_KIND_EPOCH_BEGIN, 0, at_us(us + 3), 0);
    for (uint64_t step = 0; step < 2; step++) {
        const uint64_t from = us + 10 + step * 1000;
        const struct ss_rec_span span = {
            {SS_KIND_SPAN, 1, 2, SS_FLAG_TRAIN, 1, SS_NEST_OPEN | SS_NEST_OPAQUE},
            at_us(from + 1),
            at_us(from + 900),
            (int64_t)step - 1};
        const struct ss_rec_point clock = {
            {SS_KIND_CLOCK, 1, 0, 0, 0, 0}, at_us(from), 1000 * step, 70000 * step};
        synth_record(synth, lane, &clock.head, &clock.ticks, sizeof clock - sizeof clock.head);
        synth_point(synth, lane, SS_KIND_ARM, 4, at_us(from), step);
        synth_point(synth, lane, SS_KIND_STEP, 0, at_us(from), 32);
        const struct ss_rec_span layer = {
            {SS_KIND_SPAN, 1, 3, SS_FLAG_SAMPLED, 2, SS_NEST_OPEN | SS_NEST_OPAQUE},
            at_us(from + 2),
            at_us(from + 500),
            (int64_t)step};
        synth_full_span(synth, lane, &layer);
        synth_full_span(synth, lane, &span);
        synth_counter(synth, lane, 4, at_us(from + 950), 2.5 / (double)(step + 1));
    }
    synth_frame(synth, lane, 1, 77, "train_step", "train.py");
    synth_sample(synth, lane, at_us(us + 2100), 4712, frames, 3);
    synth_text(synth, lane, SS_KIND_MARK, 4, at_us(us + 2200), 0, "lr \t dropped", "");
    synth_system(synth, lane, 4, at_us(us + 2300), 1e9, 3, SS_SYSTEM_VALUE);
    synth_system(synth, lane, 4, at_us(us + 2300), 0, 4, SS_SYSTEM_DENIED);
    synth_window(synth, lane, SS_KIND_PERTURBED, at_us(us + 2000), at_us(us + 2400),
                 SS_PERTURBED_PROFILER);
    synth_window(synth, lane, SS_KIND_LOST, at_us(us + 2400), at_us(us + 2500), 12);
    synth_span(synth, lane, 3, at_us(us + 2450), at_us(us + 2490)); /* appended */
}

static void end_training(struct synth *synth, uint32_t lane, uint64_t us)
{
    synth_point(synth, lane, SS_KIND_EPOCH_END, 0, at_us(us), 0);
    synth_point(synth, lane, SS_KIND_LOOP_END, 0, at_us(us + 1), 0);
    synth_point(synth, lane, SS_KIND_THREAD_END, 0, at_us(us + 2), 0);
}

/* Every kind of record; exited. */
static struct synth *make_whole(void)
{
    struct synth *const synth = new_process();

    add_training(synth, 1, 500);
    end_training(synth, 1, 4000);
    synth_beat(synth, at_us(9000), start_ns + 9000004);
    synth_header(synth)->end_ticks = at_us(12000);
    return synth;
}

/* Killed inside spans of two lanes, one of which was just being closed. */
static struct synth *make_killed(void)
{
    struct synth *const synth = new_process();
    const struct ss_rec_span closing = {
        {SS_KIND_SPAN, 1, 3, 0, 1, SS_NEST_OPEN | SS_NEST_OPAQUE | SS_STAGE_FORWARD},
        at_us(13000),
        at_us(13500),
        7};

    synth_header(synth)->state = SS_FILE_OPEN;
    synth_header(synth)->end_ticks = 0;
    add_training(synth, 1, 500);
    synth_open(synth, 1, 1, at_us(502));
    synth_open(synth, 1, 2, at_us(3100));
    synth_span(synth, 2, 4, at_us(600), at_us(700));
    synth_open(synth, 2, 2, at_us(12000));
    synth_open(synth, 2, 3, at_us(13000));
    synth_full_span(synth, 2, &closing);
    synth_beat(synth, at_us(13000), start_ns + 13000020);
    synth_beat(synth, at_us(13010), start_ns + 13010021);
    return synth;
}

/* Something of each loss: two segments at one place, the second with a bad record in
 * it, a strange segment header, a strange lane block, a gap, and an end in the middle
 * of a record. */
static struct synth *make_damaged(void)
{
    struct synth *const synth = new_process();

    synth_header(synth)->end_ticks = at_us(9000);
    add_training(synth, 1, 500);
    for (uint32_t i = 0; i < 2; i++) {
        synth_skip_segments(synth, 1, 3);
        synth_span(synth, 1, 2, at_us(4000), at_us(4001 + i));
        synth_segment(synth, 1)->seq = 4;
    }
    synth_span(synth, 1, 2, at_us(5002), 1);
    synth_span(synth, 1, 2, at_us(5004), at_us(5005));
    synth_block(synth, 3)->lane = 9;
    synth_next_segment(synth, 2);
    synth_span(synth, 2, 2, at_us(6000), at_us(6001));
    synth_segment(synth, 2)->magic = 0;
    synth_next_segment(synth, 2);
    synth_span(synth, 2, 2, at_us(7000), at_us(7001));
    synth_text(synth, 2, SS_KIND_MARK, 4, at_us(8000), 0, "a text that is cut off", "");
    synth_cut(synth, 4 * SS_SEGMENT_BYTES + SS_SEGMENT_HEADER_BYTES + SS_UNIT + 40);
    return synth;
}

static void write_run(const char *golden, const char *name, struct synth *synth, bool trim)
{
    char dir[4096];

    snprintf(dir, sizeof dir, "%s/%s", golden, name);
    if (trim)
        synth_trim(synth);
    if ((mkdir(dir, 0777) != 0 && access(dir, W_OK) != 0) ||
        synth_write(synth, dir, file_name) != 0)
        fail(dir);
    synth_free(synth);
}

enum { PLACE_UNIT = 32, LENGTH_UNIT = 8, PIECE_BYTES = 255 / 4 * PLACE_UNIT };

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* The description that fuzz/fuzz_reader.c takes: a piece for each row of bytes that
 * are not 0. */
static void describe(FILE *out, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0, end; at<size; at = end> at ? end : at + PLACE_UNIT) {
        const size_t place = at / PLACE_UNIT;
        for (end = at; end + PLACE_UNIT <= size && end - at < PIECE_BYTES &&
                       !is_zero(bytes + end, PLACE_UNIT);)
            end += PLACE_UNIT;
        if (end == at)
            continue;
        fputc((int)(place & 255), out);
        fputc((int)(place >> 8), out);
        fputc((int)((end - at) / LENGTH_UNIT), out);
        fwrite(bytes + at, end - at, 1, out);
    }
}

static void write_seed(const char *corpus, const char *name, struct synth *synth)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", corpus, name);
    FILE *const out = fopen(path, "wb");
    if (!out)
        fail(path);
    fputc(1, out);
    describe(out, synth_bytes(synth), synth_size(synth));
    if (fclose(out) != 0)
        fail(path);
    synth_free(synth);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_golden GOLDEN CORPUS\n");
        return 2;
    }
    write_run(argv[1], "whole", make_whole(), true);
    write_run(argv[1], "killed", make_killed(), true);
    write_run(argv[1], "damaged", make_damaged(), false);
    write_seed(argv[2], "golden-whole", make_whole());
    write_seed(argv[2], "golden-killed", make_killed());
    write_seed(argv[2], "many-kinds", damage_run(0));
    write_seed(argv[2], "killed", damage_run(1));
    write_seed(argv[2], "many-lanes", damage_run(2));
    return 0;
}
