/* What a span costs: begin/end and switch against the floor that no recorder can beat, beside
 * other ways to take the same note, in one race; and the cost of a recorder that is off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clocks.h"
#include "empty_call.h"
#include "harness.h"
#include "lttng_contender.h"
#include "recording.h"
#include "stepscope/recorder.h"

enum { THREADS = 2, OFF_OPERATIONS = 20000, OPERATIONS = 1000, WARM_UP = 100 };
enum { FRESH_BYTES = 64 << 20 };

/* Memory that was touched long ago, for contenders that store like a recorder does: each span
 * goes where none has been before. */
struct worker_state {
    struct ss_rec_span *fresh;
    size_t next;
    FILE *file;
    uint64_t recorded; /* spans given to the recorder */
    char padding[64];
};

static struct worker_state state[THREADS];
static struct recording recording;
static ss_name bench_name;

static struct ss_rec_span *take_fresh(unsigned thread, size_t operations)
{
    struct worker_state *own = &state[thread];
    if ((own->next + operations) * sizeof *own->fresh > FRESH_BYTES)
        own->next = 0;
    struct ss_rec_span *spans = own->fresh + own->next;
    own->next += operations;
    return spans;
}

static inline void store_pairs(struct ss_rec_span *span, size_t n, uint64_t (*now)(void))
{
    for (size_t i = 0; i < n; i++) {
        uint64_t start = now();
        store_span(&span[i], start, now());
    }
}

static inline void store_stamps(struct ss_rec_span *span, size_t n, uint64_t (*now)(void))
{
    uint64_t last = now();
    for (size_t i = 0; i < n; i++) {
        uint64_t stamp = now();
        store_span(&span[i], last, stamp);
        last = stamp;
    }
}

static bool counter_is_clock(void)
{
    return recording.header->clock != SS_CLOCK_RAW;
}

static void floor_pair(unsigned thread, size_t operations)
{
    struct ss_rec_span *spans = take_fresh(thread, operations);
    if (counter_is_clock())
        store_pairs(spans, operations, read_counter);
    else
        store_pairs(spans, operations, read_raw_clock);
}

static void floor_stamp(unsigned thread, size_t operations)
{
    struct ss_rec_span *spans = take_fresh(thread, operations);
    if (counter_is_clock())
        store_stamps(spans, operations, read_counter);
    else
        store_stamps(spans, operations, read_raw_clock);
}

static void floor_pair_cached(unsigned thread, size_t operations)
{
    struct ss_rec_span *spans = state[thread].fresh;
    if (counter_is_clock())
        store_pairs(spans, operations, read_counter);
    else
        store_pairs(spans, operations, read_raw_clock);
}

static void clock_gettime_pairs(unsigned thread, size_t operations)
{
    store_pairs(take_fresh(thread, operations), operations, read_raw_clock);
}

static void fprintf_lines(unsigned thread, size_t operations)
{
    for (size_t i = 0; i < operations; i++) {
        uint64_t start = read_raw_clock();
        fprintf(state[thread].file, "bench %llu %llu %zu\n", (unsigned long long)start,
                (unsigned long long)read_raw_clock(), i);
    }
}

static void begin_end(unsigned thread, size_t operations)
{
    for (size_t i = 0; i < operations; i++) {
        ss_begin(bench_name, 0);
        ss_end(0, (int64_t)i);
    }
    state[thread].recorded += operations;
}

static void switches(unsigned thread, size_t operations)
{
    ss_begin(bench_name, 0);
    for (size_t i = 0; i < operations; i++)
        ss_switch(bench_name, 0);
    ss_end(0, 0);
    state[thread].recorded += operations + 1;
}

static void empty_calls(unsigned thread, size_t operations)
{
    (void)thread;
    for (size_t i = 0; i < operations; i++) {
        empty_begin(1, 0);
        empty_end(0, (int64_t)i);
    }
}

static void begin_end_off(unsigned thread, size_t operations)
{
    (void)thread;
    for (size_t i = 0; i < operations; i++) {
        ss_begin(1, 0);
        ss_end(0, (int64_t)i);
    }
}

static void catch_up(void)
{
    recording_catch_up(&recording);
}

static void prepare_state(void)
{
    for (unsigned t = 0; t < THREADS; t++) {
        state[t].fresh =
            mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (state[t].fresh == MAP_FAILED || !(state[t].file = tmpfile())) {
            fprintf(stderr, "bench: no memory or no temporary file\n");
            exit(1);
        }
        /* The recorder's file has pages of 4 KB: no larger ones for its floor either. */
        madvise(state[t].fresh, FRESH_BYTES, MADV_NOHUGEPAGE);
        memset(state[t].fresh, 1, FRESH_BYTES);
    }
}

static void race_off(void)
{
    static const struct contender contenders[] = {
        {.name = "floor: two empty calls, other library", .run = empty_calls, .floor = 0},
        {.name = "the same again", .run = empty_calls, .floor = 0, .twin = true},
        {.name = "stepscope begin/end, off",
         .run = begin_end_off,
         .floor = 0,
         .result = "span_off",
         .target = 1.5}};
    struct race race = {.title = "Not recording",
                        .contenders = contenders,
                        .count = sizeof contenders / sizeof contenders[0],
                        .threads = 1,
                        .operations = OFF_OPERATIONS,
                        .warm_up = WARM_UP,
                        .rounds = bench_setting("BENCH_ROUNDS", 1000)};
    if (race_run(&race) != 0)
        exit(1);
    race_print_table(&race);
    race_print_results(&race, NULL);
    race_release(&race);
}

static struct race race_recording(unsigned threads, const char *title,
                                  const struct contender *contenders, size_t count)
{
    struct race race = {.title = title,
                        .contenders = contenders,
                        .count = count,
                        .threads = threads,
                        .operations = OPERATIONS,
                        .warm_up = WARM_UP,
                        .rounds = bench_setting("BENCH_ROUNDS", 1000),
                        .between = catch_up};
    if (race_run(&race) != 0)
        exit(1);
    race_print_table(&race);
    return race;
}

enum { ROW_SPAN = 2, ROW_SWITCH = 6, ROW_LTTNG = 8, ROWS = 10 };

static void fill_rows(struct contender *row)
{
    static const struct contender rows[ROWS] = {
        {.name = "floor: 2 clock reads, store of 32 bytes", .run = floor_pair, .floor = 0},
        {.name = "the same again", .run = floor_pair, .floor = 0, .twin = true},
        {.name = "stepscope begin/end", .run = begin_end, .floor = 0},
        {.name = "floor with its store in the L1 cache", .run = floor_pair_cached, .floor = 0},
        {.name = "floor: 1 clock read, store of 32 bytes", .run = floor_stamp, .floor = 4},
        {.name = "the same again", .run = floor_stamp, .floor = 4, .twin = true},
        {.name = "stepscope switch", .run = switches, .floor = 4},
        {.name = "2 clock_gettime, store of 32 bytes", .run = clock_gettime_pairs, .floor = 0},
        {.name = "LTTng-UST, 2 tracepoints", .run = lttng_spans, .floor = 0},
        {.name = "2 clock_gettime, fprintf", .run = fprintf_lines, .floor = 0}};
    memcpy(row, rows, sizeof rows);
    row[ROW_LTTNG].absent = lttng_absent();
    if (row[ROW_LTTNG].absent)
        row[ROW_LTTNG].run = NULL;
}

/* One race at each number of threads: on a single CPU two threads only take turns. */
static unsigned race_all(struct race *races, struct contender rows[THREADS][ROWS])
{
    unsigned most = bench_cpus() < THREADS ? bench_cpus() : THREADS;
    for (unsigned i = 0; i < most; i++)
        fill_rows(rows[i]);
    rows[0][ROW_SPAN].result = "span_1_thread";
    rows[0][ROW_SPAN].target = 1.3;
    rows[0][ROW_SWITCH].result = "switch_1_thread";
    rows[0][ROW_SWITCH].target = 1.3;
    rows[1][ROW_SPAN].result = "span_2_threads";
    rows[1][ROW_SPAN].target = 1.4;
    races[0] = race_recording(1, "One thread", rows[0], ROWS);
    if (most > 1)
        races[1] = race_recording(2, "Two threads at once", rows[1], ROWS);
    else
        printf("\nTwo threads at once: not run, there is one CPU\n");
    return most;
}

int main(void)
{
    struct contender rows[THREADS][ROWS];
    struct race races[THREADS];
    char text[128];
    prepare_state();
    race_off();

    recording_start(&recording);
    bench_name = ss_intern("bench", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    printf("\nRecording on %s, clock %s\n", recording_file_system(),
           counter_is_clock() ? "CPU counter" : "CLOCK_MONOTONIC_RAW");
    unsigned raced = race_all(races, rows);
    struct recording_check check = recording_finish(&recording);

    uint64_t expected = state[0].recorded + state[1].recorded;
    printf("\n%llu of %llu spans read back, %llu dropped; the recorder itself measured %.1f ns\n",
           (unsigned long long)check.spans, (unsigned long long)expected,
           (unsigned long long)check.lost, (double)check.span_cost_ps / 1000);
    for (unsigned i = 0; i < raced; i++) {
        race_print_results(&races[i], recording_spoilt(check, expected, text, sizeof text));
        race_release(&races[i]);
    }
    return 0;
}
