/* What a span costs at the pace of a real training, where caches are cold and pages are written
 * back and protected again between two spans, beside a process that writes and fsyncs files on
 * the same disk. Each span is timed alone, next to a floor of two clock reads and a store: what
 * both show comes from the machine. Two paces run at once, each in a process of its own. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "harness.h"
#include "recording.h"
#include "stepscope/recorder.h"

enum { SPANS_PER_STEP = 10, WORK_BYTES = 65536, FLOOR_SLOTS = 16384 };
enum { WRITE_BYTES = 1 << 20, FILE_WRITES = 64 };

struct disturbance { /* shared with the process that writes */
    volatile uint64_t fsyncs, worst_ns;
};

struct pace {
    uint64_t steps_per_second;
    uint64_t seconds;
    double p9999_target_us; /* 0: shown only */
};

struct samples {
    double *span_ns, *floor_ns;
    size_t count;
    uint8_t clock;
    struct ss_rec_span *floor_slots;
    unsigned char *work;
    ss_name name;
};

static void *memory_or_exit(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    memset(memory, 1, bytes); /* no page fault of ours while we measure */
    return memory;
}

/* Writes and fsyncs until it is killed. */
static void disturb(struct disturbance *shared)
{
    char path[PATH_MAX];
    char *data = memory_or_exit(WRITE_BYTES);
    snprintf(path, sizeof path, "%s/stepscope-fsync-XXXXXX", recording_place());
    int fd = mkstemp(path);
    if (fd < 0)
        _exit(1);
    unlink(path);
    for (unsigned i = 0;; i++) {
        if (i % FILE_WRITES == 0 && (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET)))
            _exit(1);
        uint64_t start = bench_now_ns();
        if (write(fd, data, WRITE_BYTES) != WRITE_BYTES || fsync(fd))
            _exit(1);
        uint64_t took = bench_now_ns() - start;
        shared->fsyncs++;
        if (took > shared->worst_ns)
            shared->worst_ns = took;
        nanosleep(&(const struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static void sample_span(struct samples *samples, size_t i)
{
    uint64_t start = read_clock(samples->clock);
    ss_begin(samples->name, 0);
    ss_end(0, (int64_t)i);
    samples->span_ns[i] = (double)(read_clock(samples->clock) - start);
}

static void sample_floor(struct samples *samples, size_t i)
{
    uint64_t start = read_clock(samples->clock);
    uint64_t begin = read_clock(samples->clock);
    store_span(&samples->floor_slots[i % FLOOR_SLOTS], begin, read_clock(samples->clock));
    samples->floor_ns[i] = (double)(read_clock(samples->clock) - start);
}

/* Stands for what the training does between two spans: the first-level cache is not ours. */
static void work(const struct samples *samples)
{
    for (size_t i = 0; i < WORK_BYTES; i += 64)
        ((volatile unsigned char *)samples->work)[i]++;
}

static void run_steps(const struct pace *pace, struct samples *samples)
{
    uint64_t period = 1000000000u / pace->steps_per_second, due = bench_now_ns();
    for (size_t i = 0; i < samples->count; i++) {
        if (i % SPANS_PER_STEP == 0) {
            due += period;
            struct timespec until = {.tv_sec = (time_t)(due / 1000000000u),
                                     .tv_nsec = (long)(due % 1000000000u)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
            ss_step(1);
        }
        /* The first one finds colder caches: they take turns, at the start of a step too. */
        bool span_first = (i + i / SPANS_PER_STEP) & 1;
        if (span_first)
            sample_span(samples, i);
        sample_floor(samples, i);
        if (!span_first)
            sample_span(samples, i);
        work(samples);
    }
}

static void ticks_to_ns(struct samples *samples, double ns_per_tick)
{
    for (size_t i = 0; i < samples->count; i++) {
        samples->span_ns[i] *= ns_per_tick;
        samples->floor_ns[i] *= ns_per_tick;
    }
}

/* Values below the edge, of sorted values, from *at on. */
static size_t count_below(const double *sorted, size_t count, double edge, size_t *at)
{
    size_t start = *at;
    while (*at < count && sorted[*at] < edge)
        ++*at;
    return *at - start;
}

static void print_histogram(const struct samples *samples)
{
    static const struct {
        double ns;
        const char *label;
    } edges[] = {{20, "20 ns"},  {50, "50 ns"},   {100, "100 ns"}, {200, "200 ns"}, {500, "500 ns"},
                 {1e3, "1 us"},  {2e3, "2 us"},   {5e3, "5 us"},   {1e4, "10 us"},  {2e4, "20 us"},
                 {5e4, "50 us"}, {1e5, "100 us"}, {2e5, "200 us"}, {5e5, "500 us"}, {1e6, "1 ms"},
                 {1e7, "10 ms"}, {1e8, "100 ms"}, {1e18, "more"}};
    size_t span_at = 0, floor_at = 0;
    printf("  %12s %12s %12s\n", "below", "spans", "floor");
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        size_t spans = count_below(samples->span_ns, samples->count, edges[i].ns, &span_at);
        size_t floors = count_below(samples->floor_ns, samples->count, edges[i].ns, &floor_at);
        if (spans || floors)
            printf("  %12s %12zu %12zu\n", edges[i].label, spans, floors);
    }
}

static void print_quantiles(const char *who, double *ns, size_t count)
{
    static const double quantiles[] = {0.5, 0.99, 0.999, 0.9999};
    printf("  %-6s us: ", who);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        printf(" p%g %.3f ", 100 * quantiles[i],
               interval_of_quantile(ns, count, quantiles[i]).middle / 1e3);
    printf(" worst %.1f\n", ns[count - 1] / 1e3);
}

static void report(const struct pace *pace, struct samples *samples, const struct rusage *before,
                   const struct rusage *after, const char *spoilt)
{
    char name[64];
    printf("\n%llu steps per second, %d spans each, %llu s, on %s\n",
           (unsigned long long)pace->steps_per_second, SPANS_PER_STEP,
           (unsigned long long)pace->seconds, recording_file_system());
    print_quantiles("span", samples->span_ns, samples->count);
    print_quantiles("floor", samples->floor_ns, samples->count);
    print_histogram(samples);
    printf("  worst stall %.1f us; page faults of the thread: %ld minor, %ld major; preempted %ld "
           "times\n",
           samples->span_ns[samples->count - 1] / 1e3, after->ru_minflt - before->ru_minflt,
           after->ru_majflt - before->ru_majflt, after->ru_nivcsw - before->ru_nivcsw);
    if (pace->p9999_target_us <= 0)
        return;
    struct interval p9999 = interval_of_quantile(samples->span_ns, samples->count, 0.9999);
    struct interval noise = interval_of_quantile(samples->floor_ns, samples->count, 0.9999);
    p9999 = (struct interval){p9999.middle / 1e3, p9999.low / 1e3, p9999.high / 1e3};
    snprintf(name, sizeof name, "paced_%llu_p9999_us", (unsigned long long)pace->steps_per_second);
    result_print(name, p9999, pace->p9999_target_us, pace->p9999_target_us, noise.middle / 1e3,
                 spoilt);
}

static void measure(const struct pace *pace)
{
    struct recording recording;
    struct rusage before, after;
    char text[128];
    size_t count = pace->steps_per_second * pace->seconds * SPANS_PER_STEP;
    struct samples samples = {.count = count,
                              .span_ns = memory_or_exit(count * sizeof(double)),
                              .floor_ns = memory_or_exit(count * sizeof(double)),
                              .floor_slots = memory_or_exit(FLOOR_SLOTS * SS_UNIT),
                              .work = memory_or_exit(WORK_BYTES)};
    recording_start(&recording);
    samples.clock = recording.header->clock;
    samples.name = ss_intern("bench", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    ss_begin(samples.name, 0); /* takes a lane */
    ss_end(0, 0);
    uint64_t start_ns = read_raw_clock(), start_ticks = read_clock(samples.clock);
    getrusage(RUSAGE_THREAD, &before);
    run_steps(pace, &samples);
    getrusage(RUSAGE_THREAD, &after);
    ticks_to_ns(&samples, (double)(read_raw_clock() - start_ns) /
                              (double)(read_clock(samples.clock) - start_ticks));
    struct recording_check check = recording_finish(&recording);
    report(pace, &samples, &before, &after, recording_spoilt(check, count + 1, text, sizeof text));
}

/* Runs one pace in a process of its own, its words in a file. */
static pid_t start_pace(const struct pace *pace, FILE *output)
{
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(output), STDOUT_FILENO);
        measure(pace);
        exit(0);
    }
    return pid;
}

/* Prints what the process said; false if it failed. */
static bool finish_pace(pid_t pid, FILE *output)
{
    int status = 1, c;
    waitpid(pid, &status, 0);
    rewind(output);
    while ((c = getc(output)) != EOF)
        putchar(c);
    fclose(output);
    return status == 0;
}

int main(void)
{
    size_t seconds = bench_setting("BENCH_SECONDS", 120);
    const struct pace paces[] = {
        {.steps_per_second = 10, .seconds = seconds},
        {.steps_per_second = 1000, .seconds = seconds, .p9999_target_us = 5}};
    enum { PACES = sizeof paces / sizeof paces[0] };
    FILE *output[PACES];
    pid_t pid[PACES], disturber;
    struct disturbance *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    if ((disturber = fork()) == 0)
        disturb(shared);
    bool good = true;
    for (int i = 0; i < PACES; i++) {
        output[i] = tmpfile();
        if (!output[i])
            return 1;
        pid[i] = start_pace(&paces[i], output[i]);
    }
    for (int i = 0; i < PACES; i++)
        good = finish_pace(pid[i], output[i]) && good;
    kill(disturber, SIGKILL);
    waitpid(disturber, NULL, 0);
    printf("\nBeside them %llu writes of 1 MB with fsync, the slowest took %.1f ms\n",
           (unsigned long long)shared->fsyncs, (double)shared->worst_ns / 1e6);
    return good && shared->fsyncs > 0 ? 0 : 1;
}
