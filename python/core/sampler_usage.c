#include "sampler_usage.h"

#include "base/own_counters.h"
#include "record/system.h"
#include "stepscope/recorder.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATH_BYTES = 64, STAT_BYTES = 1024 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The name of a thread may have anything in it, so fields are counted from its end on. */
static bool read_faults(struct usage *usage)
{
    char path[PATH_BYTES], stat[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/stat", usage->tid);
    system_read_file(path, stat, sizeof stat);
    const char *fields = strrchr(stat, ')');
    return fields &&
           sscanf(fields, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64,
                  &usage->minor, &usage->major) == 2;
}

static bool read_cpu(struct usage *usage)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/schedstat", usage->tid);
    system_read_file(path, text, sizeof text);
    return sscanf(text, "%" SCNd64, &usage->cpu_ns) == 1;
}

static void count(const char *name, double value)
{
    ss_counter(ss_intern(name, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL), value);
}

void usage_record(struct usage *last, uint32_t tid)
{
    struct usage now = {.tid = tid, .when_ns = now_ns(), .cpu_ns = -1};
    if (!read_faults(&now)) {
        last->tid = 0;
        return;
    }
    const bool has_cpu = read_cpu(&now);
    if (last->tid == tid && now.when_ns > last->when_ns) {
        count(OWN_COUNTER_MINOR_FAULTS, (double)(now.minor - last->minor));
        count(OWN_COUNTER_MAJOR_FAULTS, (double)(now.major - last->major));
        if (has_cpu && last->cpu_ns >= 0) {
            count(OWN_COUNTER_CPU, (double)(now.cpu_ns - last->cpu_ns) /
                                       (double)(now.when_ns - last->when_ns));
        }
    }
    *last = now;
}

void usage_record_own(struct own_usage *last)
{
    const struct own_usage now = {.when_ns = now_ns(), .cpu_ns = system_thread_cpu_ns()};
    if (last->when_ns && now.when_ns > last->when_ns) {
        count(OWN_COUNTER_SAMPLER_CPU, (double)(now.cpu_ns - last->cpu_ns) /
                                           (double)(now.when_ns - last->when_ns));
    }
    *last = now;
}
