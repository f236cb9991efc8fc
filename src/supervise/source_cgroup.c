/* Limits that a cgroup sets for the command, and what they cost it. */
#include <stdio.h>
#include <stdlib.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

#define ROOT "/sys/fs/cgroup"

static void look(struct source_cgroup *source)
{
    char path[64], text[4096];
    struct proc_file file = {0};

    snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)source->command);
    if (proc_file_read(&file, path, text, sizeof text)) {
        source->cpu = cgroup_limit_cpu(ROOT, text);
        source->memory = cgroup_limit_memory(ROOT, text);
    }
    source->looked = !proc_file_is_passing(&file);
    source->unseen = proc_file_state(&file);
    proc_file_close(&file);
}

/* It rarely changes: recorded once. */
static void tell_limit(struct sample_sink *sink, enum ss_counter_id counter,
                       const struct cgroup_limit *limit, enum ss_system_state unseen)
{
    if (!limit->is_seen)
        sample_missing(sink, counter, unseen);
    else if (!sink->told[counter])
        sample_value(sink, counter, 0, limit->most);
}

static bool read_file(struct proc_file *file, const struct cgroup_limit *limit, const char *name,
                      char *text, size_t size)
{
    char path[640];

    snprintf(path, sizeof path, "%s/%s", limit->dir, name);
    return limit->most > 0 && proc_file_read(file, path, text, size);
}

/* Without a limit nothing is counted against it. */
static enum ss_system_state missing_as(const struct source_cgroup *source,
                                       const struct cgroup_limit *limit,
                                       const struct proc_file *file)
{
    return limit->is_seen ? proc_file_state(file) : source->unseen;
}

static void read_throttled(struct source_cgroup *source, struct sample_sink *sink)
{
    const bool is_2 = source->cpu.version == 2;
    uint64_t periods, throttled, time;
    char text[1024];

    if (read_file(&source->cpu_stat, &source->cpu, "cpu.stat", text, sizeof text) &&
        proc_text_field(text, "nr_periods", &periods) &&
        proc_text_field(text, "nr_throttled", &throttled) &&
        proc_text_field(text, is_2 ? "throttled_usec" : "throttled_time", &time)) {
        sample_value(sink, SS_COUNTER_ID_CGROUP_PERIODS, 0, (double)periods);
        sample_value(sink, SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, 0, (double)throttled);
        sample_value(sink, SS_COUNTER_ID_CGROUP_THROTTLED, 0, (double)time * (is_2 ? 1000 : 1));
        return;
    }
    const enum ss_system_state missing = missing_as(source, &source->cpu, &source->cpu_stat);
    sample_missing(sink, SS_COUNTER_ID_CGROUP_PERIODS, missing);
    sample_missing(sink, SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, missing);
    sample_missing(sink, SS_COUNTER_ID_CGROUP_THROTTLED, missing);
}

static void read_memory(struct source_cgroup *source, struct sample_sink *sink)
{
    const char *name = source->memory.version == 2 ? "memory.current" : "memory.usage_in_bytes";
    char text[128];

    if (read_file(&source->memory_used, &source->memory, name, text, sizeof text))
        sample_value(sink, SS_COUNTER_ID_CGROUP_MEMORY, 0, strtod(text, NULL));
    else
        sample_missing(sink, SS_COUNTER_ID_CGROUP_MEMORY,
                       missing_as(source, &source->memory, &source->memory_used));
}

void source_cgroup_read(void *state, struct sample_sink *sink)
{
    struct source_cgroup *source = state;

    if (!source->looked)
        look(source);
    tell_limit(sink, SS_COUNTER_ID_CGROUP_CPU_LIMIT, &source->cpu, source->unseen);
    tell_limit(sink, SS_COUNTER_ID_CGROUP_MEMORY_LIMIT, &source->memory, source->unseen);
    read_throttled(source, sink);
    read_memory(source, sink);
}
