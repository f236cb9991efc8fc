/* A million spans a second and thread, for as long as one likes: how many are dropped, and how
 * many page faults the recording threads take. The threads never sleep, like a training that
 * keeps its cores busy: the recorder's helper thread has to get its share against them. A thread
 * that did not get a CPU for a while goes on at the same pace: it does not make up for it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "harness.h"
#include "recording.h"
#include "stepscope/recorder.h"

enum { THREADS = 2, SPANS_PER_CHUNK = 100, CHUNK_NS = 100000, LATE_NS = 1000000 };

struct pacer {
    pthread_t thread;
    ss_name name;
    uint64_t chunks;
    uint64_t late_ns; /* time in which the thread had no CPU, by more than LATE_NS at once */
    long minor_faults, major_faults, preemptions;
};

static void *record_paced(void *argument)
{
    struct pacer *pacer = argument;
    struct rusage before, after;
    ss_begin(pacer->name, 0); /* takes a lane */
    ss_end(0, 0);
    getrusage(RUSAGE_THREAD, &before);
    uint64_t due = bench_now_ns();
    for (uint64_t chunk = 0; chunk < pacer->chunks; chunk++, due += CHUNK_NS) {
        uint64_t now;
        while ((now = bench_now_ns()) < due)
            ;
        if (now - due > LATE_NS) {
            pacer->late_ns += now - due;
            due = now;
        }
        for (int i = 0; i < SPANS_PER_CHUNK; i++) {
            ss_begin(pacer->name, 0);
            ss_end(0, i);
        }
    }
    getrusage(RUSAGE_THREAD, &after);
    pacer->minor_faults = after.ru_minflt - before.ru_minflt;
    pacer->major_faults = after.ru_majflt - before.ru_majflt;
    pacer->preemptions = after.ru_nivcsw - before.ru_nivcsw;
    return NULL;
}

static void print_pacer(const struct pacer *pacer, unsigned index)
{
    double millions = (double)pacer->chunks * SPANS_PER_CHUNK / 1e6;
    long faults = pacer->minor_faults + pacer->major_faults;
    printf("  thread %u: %ld page faults (%.2f a million spans), %ld of them major; without a "
           "CPU for %.0f ms, preempted %ld times\n",
           index + 1, faults, (double)faults / millions, pacer->major_faults,
           (double)pacer->late_ns / 1e6, pacer->preemptions);
}

static void run_threads(struct pacer *pacers, unsigned threads)
{
    for (unsigned t = 0; t < threads; t++)
        if (pthread_create(&pacers[t].thread, NULL, record_paced, &pacers[t])) {
            fprintf(stderr, "bench: cannot start a thread\n");
            exit(1);
        }
    for (unsigned t = 0; t < threads; t++)
        pthread_join(pacers[t].thread, NULL);
}

static void report(const struct pacer *pacers, unsigned threads, double seconds,
                   struct recording_check check)
{
    char name[64];
    const char *plural = threads == 1 ? "" : "s";
    uint64_t expected = threads * (pacers[0].chunks * SPANS_PER_CHUNK + 1);
    printf("\n%u thread%s, 1 million spans per second each, %.1f s, on %s\n", threads, plural,
           seconds, recording_file_system());
    printf("  %llu of %llu spans read back; helper thread %.1f %% of a core\n",
           (unsigned long long)check.spans, (unsigned long long)expected,
           (double)check.helper_cpu_ns / 1e7 / seconds);
    if (check.lost)
        printf("  %llu dropped, the first %.1f ms after the start\n",
               (unsigned long long)check.lost, (double)check.first_loss_ns / 1e6);
    for (unsigned t = 0; t < threads; t++)
        print_pacer(&pacers[t], t);
    double missing = (double)(expected - check.spans) / (double)expected;
    double planned = (double)pacers[0].chunks * CHUNK_NS / 1e9;
    bool held = seconds < planned * 1.1 || missing > 0;
    if (!held)
        printf("  the machine was too busy: only %.2f million spans per second were made\n",
               planned / seconds);
    snprintf(name, sizeof name, "sustained_1M_%u_thread%s_drops", threads, plural);
    result_print(name, (struct interval){missing, missing, missing}, 0, 0, held ? 0 : 1, NULL);
}

static void sustain(unsigned threads, uint64_t seconds)
{
    struct recording recording;
    struct pacer pacers[THREADS] = {0};
    recording_start(&recording);
    ss_name span = ss_intern("bench", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (unsigned t = 0; t < threads; t++)
        pacers[t] = (struct pacer){.name = span, .chunks = seconds * 1000000000u / CHUNK_NS};
    uint64_t start = bench_now_ns();
    run_threads(pacers, threads);
    double elapsed = (double)(bench_now_ns() - start) / 1e9;
    report(pacers, threads, elapsed, recording_finish(&recording));
}

int main(void)
{
    size_t seconds = bench_setting("BENCH_SECONDS", 10);
    sustain(1, seconds);
    sustain(2, seconds);
    return 0;
}
