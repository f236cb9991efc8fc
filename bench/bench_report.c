/* What a report costs, against iterating the records that it is made of; and against loading the
 * same spans as a Chrome trace, which is what other tools start with.
 *
 * The run is a training (training_run.h). All files are in the page cache. An operation is a span.
 * Loading a trace of as many spans in Python would take some ten gigabytes of memory, so that the
 * second race is over fewer spans; it ends with the events in memory, where the first ends with the
 * answers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "training_run.h"

enum { FEW_SPANS = 400000 };

static struct training_run many, few;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void iterate(struct training_run *test)
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

static void page_many(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_page(many.run);
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
        {.name = "report", .run = report_many, .floor = 0, .result = "report_10M", .target = 4},
        {.name = "report as an HTML page",
         .run = page_many,
         .floor = 0,
         .result = "page_10M",
         .target = 6}};
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

    training_run_make(&many, spans, false);
    run_race(&reports);
    training_run_remove(&many);
    training_run_make(&few, FEW_SPANS, true);
    run_race(&loading);
    training_run_remove(&few);
    return 0;
}
