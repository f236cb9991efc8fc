/* What an export costs, against iterating the records of the run; how large it is; how much memory
 * it takes.
 *
 * The run is that of bench_report, in the page cache. What is written goes to /dev/null, so that
 * this is about the work and not about a disk. An operation is a span. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "training_run.h"

#ifdef SS_NANOPB
#define PERFETTO export_perfetto
#define TENSORBOARD export_tensorboard
#else
#define PERFETTO NULL
#define TENSORBOARD NULL
#endif

static struct training_run training;
static char logs[sizeof training.dir + 8]; /* beside the run */
static int nowhere;

static void iterate(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    if (bench_run_iterate(training.run) != training.spans) {
        fprintf(stderr, "bench: not all spans were read\n");
        exit(1);
    }
}

static void export_csv(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_export(training.run, "csv", nowhere);
}

static void export_spans(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_export(training.run, "csv-spans", nowhere);
}

#ifdef SS_NANOPB
static void export_perfetto(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_export(training.run, "perfetto", nowhere);
}

/* Some KB for each 5 seconds of the run, so that it may go to a disk. */
static void export_tensorboard(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
    bench_run_export_directory(training.run, "tensorboard", logs);
}
#endif

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* In a process of its own, which says how much memory it took at most: with the reading of the run,
 * but not with the making of it. */
static void print_size(const char *format)
{
    struct rusage usage;
    const pid_t child = fork();

    if (child == 0) {
        const uint64_t bytes = bench_run_export(training.run, format, nowhere);
        getrusage(RUSAGE_SELF, &usage);
        printf("%-10s %8.1f MB, %5.1f bytes per span, made in %.1f MB of memory\n", format,
               (double)bytes * 1e-6, (double)bytes / (double)training.spans,
               (double)usage.ru_maxrss / 1024);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void)
{
    const struct contender exports[] = {
        {.name = "floor: all records in time order", .run = iterate, .floor = 0},
        {.name = "the same again", .run = iterate, .floor = 0, .twin = true},
        {.name = "CSV of steps",
         .run = export_csv,
         .floor = 0,
         .result = "export_csv_10M",
         .target = 15},
        {.name = "CSV of spans",
         .run = export_spans,
         .floor = 0,
         .result = "export_csv_spans_10M",
         .target = 15},
        {.name = "Perfetto",
         .run = PERFETTO,
         .absent = "nanopb was not there at build time",
         .floor = 0,
         .result = "export_perfetto_10M",
         .target = 30},
        {.name = "TensorBoard",
         .run = TENSORBOARD,
         .absent = "nanopb was not there at build time",
         .floor = 0,
         .result = "export_tensorboard_10M",
         .target = 15}};
    const size_t spans = bench_setting("BENCH_SPANS", 10000000);
    struct race race = {.title = "Exports of many spans",
                        .contenders = exports,
                        .count = sizeof exports / sizeof *exports,
                        .threads = 1,
                        .operations = spans,
                        .rounds = bench_setting("BENCH_ROUNDS", 11)};

    nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    training_run_make(&training, spans, false);
    snprintf(logs, sizeof logs, "%s-logs", training.dir);
    print_size("csv");
    print_size("csv-spans");
#ifdef SS_NANOPB
    print_size("perfetto");
#endif
    const int failed = nowhere < 0 ? -1 : race_run(&race);
    if (failed == 0) {
        race_print_table(&race);
        race_print_results(&race, NULL);
    }
    race_release(&race);
    training_run_remove(&training);
    nftw(logs, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    close(nowhere);
    return failed ? 1 : 0;
}
