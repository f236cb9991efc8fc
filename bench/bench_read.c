/* What reading a run costs, against reading its bytes and adding them up.
 *
 * One run has 3.2 million spans in one lane, another the same number in four lanes
 * that took turns, a third in 200 lanes. The floor reads the same file with pread(),
 * 64 KB at a time, and sums its 64-bit words; the reader turns it into records with
 * times in nanoseconds. All files are in the page cache. An operation is a span. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "stepscope/reader.h"
#include "support/synth.h"

enum { SPANS = 3200000, CHUNK = 65536, NAMES = 16, RUNS = 3 };

static const unsigned lanes_of[RUNS] = {1, 4, 200};
static const char file_name[] = "p-1-1-0000000000000000.ssp";

struct test_run {
    char dir[64];
    struct ss_run *run;
    int fd;
    size_t first_lane; /* of those with spans */
};

static struct test_run runs[RUNS];
static volatile uint64_t sink; /* keeps what was computed */

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Like a run on a 2.5 GHz counter: a calibration a second, a span takes some
 * microseconds. */
static struct synth *make_spans(unsigned lanes)
{
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);
    uint64_t ticks = 1000000000, random = 88172645463325252u;
    int64_t next_s = 1;

    header->clock = SS_CLOCK_TSC;
    header->start_ticks = ticks;
    header->start_raw_ns = 0;
    header->ticks_per_s = 2500000000;
    for (uint16_t name = 1; name <= NAMES; name++)
        synth_name(synth, name, "span", name, 0, 0, "");
    for (unsigned i = 0; i < SPANS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const uint64_t length = 2000 + random % 8000;
        synth_span(synth, 1 + (unsigned)(random >> 32) % lanes, (uint16_t)(1 + i % NAMES), ticks,
                   ticks + length);
        ticks += length + 50;
        for (; ticks >= 1000000000 + (uint64_t)next_s * 2500000000; next_s++)
            synth_calibration(synth, 1000000000 + (uint64_t)next_s * 2500000000,
                              next_s * 1000000000 + (int64_t)(random % 16), 0);
    }
    synth_header(synth)->end_ticks = ticks;
    return synth;
}

static void make_run(struct test_run *test, unsigned lanes)
{
    const char *const base = getenv("TMPDIR");
    struct synth *const synth = make_spans(lanes);
    struct ss_error error;
    char path[128];

    snprintf(test->dir, sizeof test->dir, "%.40s/bench-read-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(test->dir) || synth_write(synth, test->dir, file_name) != 0)
        fail(test->dir);
    synth_free(synth);
    snprintf(path, sizeof path, "%.63s/%s", test->dir, file_name);
    test->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (test->fd < 0)
        fail(path);
    test->run = ss_run_open(test->dir, &error);
    if (!test->run) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    test->first_lane = ss_run_lanes(test->run) - lanes;
}

static void remove_run(struct test_run *test)
{
    char path[128];

    ss_run_close(test->run);
    close(test->fd);
    snprintf(path, sizeof path, "%.63s/%s", test->dir, file_name);
    unlink(path);
    rmdir(test->dir);
}

static void sum_bytes(const struct test_run *test)
{
    static uint64_t words[CHUNK / sizeof(uint64_t)];
    uint64_t sums[4] = {0};
    off_t at = 0;
    ssize_t got;

    while ((got = pread(test->fd, words, sizeof words, at)) > 0) {
        for (size_t i = 0; i + 4 <= (size_t)got / sizeof *words; i += 4)
            for (size_t k = 0; k < 4; k++)
                sums[k] += words[i + k];
        at += got;
    }
    sink = sums[0] + sums[1] + sums[2] + sums[3];
}

static void read_records(const struct test_run *test, size_t lane)
{
    struct ss_cursor *const cursor = ss_cursor_new(test->run, lane);
    struct ss_record record;
    uint64_t sum = 0, spans = 0;

    if (!cursor)
        fail("cursor");
    while (ss_cursor_next(cursor, &record)) {
        spans += record.kind == SS_KIND_SPAN;
        sum += (uint64_t)(record.end_ns - record.start_ns);
    }
    ss_cursor_free(cursor);
    sink = sum;
    if (spans != SPANS || ss_run_losses(test->run) != 0) {
        fprintf(stderr, "bench: read %llu spans\n", (unsigned long long)spans);
        exit(1);
    }
}

/* A contender reads all of its file whatever it is asked for: `operations` is SPANS. */
static void sum_one(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    sum_bytes(&runs[0]);
}

static void sum_four(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    sum_bytes(&runs[1]);
}

static void sum_many(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    sum_bytes(&runs[2]);
}

static void read_lane(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    read_records(&runs[0], runs[0].first_lane);
}

static void merge_four(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    read_records(&runs[1], SS_ALL_LANES);
}

static void merge_many(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    read_records(&runs[2], SS_ALL_LANES);
}

int main(void)
{
    const struct contender contenders[] = {
        {.name = "floor: pread and sum, one lane", .run = sum_one, .floor = 0},
        {.name = "the same again", .run = sum_one, .floor = 0, .twin = true},
        {.name = "records of one lane",
         .run = read_lane,
         .floor = 0,
         .result = "read_lane",
         .target = 3},
        {.name = "floor: pread and sum, 4 lanes", .run = sum_four, .floor = 3},
        {.name = "the same again", .run = sum_four, .floor = 3, .twin = true},
        {.name = "records of 4 lanes in time order",
         .run = merge_four,
         .floor = 3,
         .result = "read_merged",
         .target = 8},
        {.name = "floor: pread and sum, 200 lanes", .run = sum_many, .floor = 6},
        {.name = "records of 200 lanes in time order", .run = merge_many, .floor = 6}};
    struct race race = {.title = "Reading 3.2 million spans",
                        .contenders = contenders,
                        .count = sizeof contenders / sizeof *contenders,
                        .threads = 1,
                        .operations = SPANS,
                        .rounds = bench_setting("BENCH_ROUNDS", 40)};

    for (size_t i = 0; i < RUNS; i++)
        make_run(&runs[i], lanes_of[i]);
    const int status = race_run(&race);
    for (size_t i = 0; i < RUNS; i++)
        remove_run(&runs[i]);
    if (status != 0)
        fail("race");
    race_print_table(&race);
    race_print_results(&race, NULL);
    race_release(&race);
    return 0;
}
