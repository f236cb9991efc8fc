/* Records marks and spans until it is killed, and writes down when it did so.
 *
 *     clock_writer RUN AREA INTERVAL_US BUSY
 *
 * Two threads record one of each every INTERVAL_US microseconds; BUSY more threads do nothing but
 * take the processors away from them and from the recorder's helper thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "clock_events.h"
#include "stepscope/recorder.h"

static struct clock_area *area;
static uint64_t capacity;
static ss_name name;
static long interval_us;

static void record_entry(struct clock_entry *entry, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    entry->mark.before_ns = clock_raw_ns();
    ss_mark(name, text);
    entry->mark.after_ns = entry->begin.before_ns = clock_raw_ns();
    ss_begin(name, 0);
    entry->begin.after_ns = entry->end.before_ns = clock_raw_ns();
    ss_end(0, (int64_t)number);
    entry->end.after_ns = clock_raw_ns();
}

static void *record(void *argument)
{
    const unsigned thread = *(const unsigned *)argument;
    const struct timespec pause = {interval_us / 1000000, interval_us % 1000000 * 1000};

    area->thread[thread].tid = (uint32_t)syscall(SYS_gettid);
    for (uint64_t i = 0; i < capacity; i++) {
        record_entry(&area->entries[thread * capacity + i], i);
        atomic_store_explicit(&area->thread[thread].count, i + 1, memory_order_release);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void *keep_busy(void *unused)
{
    volatile uint64_t count = 0;

    for (;;)
        count = count + 1;
    return unused;
}

int main(int argc, char **argv)
{
    static const unsigned numbers[CLOCK_THREADS] = {0, 1};
    pthread_t thread;

    if (argc != 5 || !(area = clock_area_map(argv[2], &capacity))) {
        fprintf(stderr, "usage: clock_writer RUN AREA INTERVAL_US BUSY\n");
        return 2;
    }
    interval_us = strtol(argv[3], NULL, 10);
    const struct ss_options options = {.dir = argv[1], .rank = -1};
    if (ss_start(&options) != 0) {
        fprintf(stderr, "clock_writer: %s\n", ss_status());
        return 1;
    }
    name = ss_intern("event", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    atomic_store(&area->ready, 1);
    for (long i = strtol(argv[4], NULL, 10); i > 0; i--)
        if (pthread_create(&thread, NULL, keep_busy, NULL) != 0)
            return 1;
    for (int i = 0; i < CLOCK_THREADS; i++)
        if (pthread_create(&thread, NULL, record, (void *)(uintptr_t)&numbers[i]) != 0)
            return 1;
    for (;;)
        pause();
}
