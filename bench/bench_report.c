/* What a report costs, against iterating the records that it is made of; and against loading the
 * same spans as a Chrome trace, which is what other tools start with.
 *
 * The run is a training: a step has a wait for data, a forward with two layers in it, a backward, an
 * update and a callback, and a loader thread makes the batches beside it. All files are in the page
 * cache. An operation is a span. Loading a trace of as many spans in Python would take some ten
 * gigabytes of memory, so that the second race is over fewer spans; it ends with the events in
 * memory, where the first ends with the answers. */
#include "harness.h"
#include "report_contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/synth.h"

enum {
    SPANS_A_STEP = 8,
    FEW_SPANS = 400000,
    LOOP_LANE = 1,
    LOADER_LANE = 2,
    THREADS = 2
};
enum { DATA = 1, FORWARD, LAYER, BACKWARD, UPDATE, CALLBACK, PRODUCE };

static const char file_name[] = "p-1-1-0000000000000000.ssp";

struct test_run {
    char dir[64];
    char trace[96]; /* "" if none was written */
    size_t spans;
    struct bench_run *run;
};

static struct test_run many, few;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

struct maker {
    struct synth *synth;
    FILE *trace;
    uint64_t ticks, random;
    const char *comma;
};

static uint64_t length_of(struct maker *maker, uint64_t least)
{
    maker->random ^= maker->random << 13;
    maker->random ^= maker->random >> 7;
    maker->random ^= maker->random << 17;
    return least + maker->random % (least / 8);
}

static void add(struct maker *maker, uint32_t lane, uint16_t name, uint64_t start,
                uint64_t end, uint8_t depth)
{
    static const char *const texts[] = {
        "",         "next batch", "forward",       "layer",
        "backward", "step",       "EarlyStopping", "decode"};
    const uint8_t nest = depth ? SS_NEST_OPEN | SS_NEST_OPAQUE | SS_STAGE_FORWARD : 0;
    const struct ss_rec_span span = {.head = {.kind = SS_KIND_SPAN,
                                              .units = 1,
                                              .name = name,
                                              .flags = SS_FLAG_TRAIN,
                                              .depth = depth,
                                              .nest = nest},
                                     .start_ticks = start,
                                     .end_ticks = end};

    synth_full_span(maker->synth, lane, &span);
    if (!maker->trace)
        return;
    fprintf(
        maker->trace,
        "%s{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,\"tid\":%u}",
        maker->comma, texts[name], (double)start / 1e3, (double)(end - start) / 1e3,
        lane);
    maker->comma = ",\n";
}

static uint64_t next(struct maker *maker, uint16_t name, uint64_t least)
{
    const uint64_t start = maker->ticks;

    maker->ticks += length_of(maker, least);
    add(maker, LOOP_LANE, name, start, maker->ticks, name == LAYER);
    return start;
}

static void add_step(struct maker *maker)
{
    const uint64_t produced = maker->ticks;

    next(maker, DATA, 20000);
    const uint64_t forward = next(maker, LAYER, 8000);
    next(maker, LAYER, 9000);
    add(maker, LOOP_LANE, FORWARD, forward, maker->ticks, 0);
    next(maker, BACKWARD, 30000);
    next(maker, UPDATE, 3000);
    next(maker, CALLBACK, 1000);
    add(maker, LOADER_LANE, PRODUCE, produced, maker->ticks - 500, 0);
    maker->ticks += 200;
}

static void add_names(struct synth *synth)
{
    synth_name(synth, DATA, "next batch", SS_STAGE_DATA, 0, 0, "");
    synth_name(synth, FORWARD, "forward", SS_STAGE_FORWARD, 0, 0, "Net");
    synth_name(synth, LAYER, "layer", SS_STAGE_USER, 0, 0, "");
    synth_name(synth, BACKWARD, "backward", SS_STAGE_BACKWARD, 0, 0, "");
    synth_name(synth, UPDATE, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam");
    synth_name(synth, CALLBACK, "EarlyStopping", SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_END,
               "");
    synth_name(synth, PRODUCE, "decode", SS_STAGE_PRODUCE, 0, 0, "");
}

static void make_run(struct test_run *test, size_t spans, bool with_trace)
{
    const char *const base = getenv("TMPDIR");
    struct maker maker = {.synth = synth_new(),
                          .ticks = 1000000,
                          .random = 88172645463325252u,
                          .comma = "{\"traceEvents\":[\n"};

    snprintf(test->dir, sizeof test->dir, "%.40s/bench-report-XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(test->dir))
        fail(test->dir);
    if (with_trace) {
        snprintf(test->trace, sizeof test->trace, "%s/trace.json", test->dir);
        maker.trace = fopen(test->trace, "w");
        if (!maker.trace)
            fail(test->trace);
    }
    add_names(maker.synth);
    synth_text(maker.synth, LOOP_LANE, SS_KIND_THREAD_BEGIN, 0, maker.ticks, 1, "main",
               "");
    synth_text(maker.synth, LOADER_LANE, SS_KIND_THREAD_BEGIN, 0, maker.ticks, 2,
               "loader", "");
    for (test->spans = 0; test->spans < spans; test->spans += SPANS_A_STEP)
        add_step(&maker);
    synth_header(maker.synth)->end_ticks = maker.ticks;
    if (synth_write(maker.synth, test->dir, file_name) != 0)
        fail(test->dir);
    synth_free(maker.synth);
    if (maker.trace && (fputs("]}\n", maker.trace) < 0 || fclose(maker.trace) != 0))
        fail(test->trace);
    test->run = bench_run_open(test->dir);
    if (!test->run)
        exit(1);
}

static void remove_run(struct test_run *test)
{
    char path[96];

    bench_run_close(test->run);
    snprintf(path, sizeof path, "%.63s/%.31s", test->dir, file_name);
    unlink(path);
    if (test->trace[0])
        unlink(test->trace);
    rmdir(test->dir);
}

static void iterate(struct test_run *test)
{
    const uint64_t spans = bench_run_iterate(test->run);

    if (spans != test->spans) {
        fprintf(stderr, "bench: read %llu spans\n", (unsigned long long)spans);
        exit(1);
    }
}

/* A contender takes its whole file whatever it is asked for: `operations` is its spans. */
static void iterate_many(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    iterate(&many);
}

static void report_many(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_report(many.run);
}

static void report_few(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_report(few.run);
}

static void load_python(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        execlp("python3", "python3", "-c",
               "import json, sys\nwith open(sys.argv[1]) as f: json.load(f)", few.trace,
               (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "bench: python3 cannot load the trace\n");
        exit(1);
    }
}

#ifdef BENCH_SIMDJSON
static void load_simdjson(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    if (simdjson_load(few.trace) != few.spans) {
        fprintf(stderr, "bench: simdjson cannot load the trace\n");
        exit(1);
    }
}
#else
#define load_simdjson NULL
#endif

static void run_race(struct race *race)
{
    if (race_run(race) != 0)
        fail("race");
    race_print_table(race);
    race_print_results(race, NULL);
    race_release(race);
}

int main(void)
{
    const struct contender whole[] = {
        {.name = "floor: all records in time order", .run = iterate_many, .floor = 0},
        {.name = "the same again", .run = iterate_many, .floor = 0, .twin = true},
        {.name = "report",
         .run = report_many,
         .floor = 0,
         .result = "report_10M",
         .target = 4}};
    const struct contender loads[] = {
        {.name = "floor: report", .run = report_few, .floor = 0},
        {.name = "the same again", .run = report_few, .floor = 0, .twin = true},
        {.name = "load as a Chrome trace: Python's json", .run = load_python, .floor = 0},
        {.name = "load as a Chrome trace: simdjson",
         .run = load_simdjson,
         .absent = "libsimdjson-dev was not there at build time",
         .floor = 0}};
    const size_t spans = bench_setting("BENCH_SPANS", 10000000);
    struct race reports = {.title = "A report on many spans",
                           .contenders = whole,
                           .count = sizeof whole / sizeof *whole,
                           .threads = 1,
                           .operations = spans,
                           .rounds = bench_setting("BENCH_ROUNDS", 41)};
    struct race loading = {.title = "A report, and loading the same spans as JSON",
                           .contenders = loads,
                           .count = sizeof loads / sizeof *loads,
                           .threads = 1,
                           .operations = FEW_SPANS,
                           .rounds = bench_setting("BENCH_ROUNDS", 15)};

    make_run(&many, spans, false);
    run_race(&reports);
    remove_run(&many);
    make_run(&few, FEW_SPANS, true);
    run_race(&loading);
    remove_run(&few);
    return 0;
}
