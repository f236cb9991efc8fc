/* Frequencies of cores, and how often heat slowed them down. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

static bool read_count(struct proc_file *file, const char *path, uint64_t *out)
{
    char text[64], *end;

    if (!proc_file_read(file, path, text, sizeof text))
        return false;
    *out = strtoull(text, &end, 10);
    return end != text;
}

static size_t core_count(void)
{
    const long count = sysconf(_SC_NPROCESSORS_CONF);

    return count < 1 ? 1 : count > CLOCKS_MOST ? CLOCKS_MOST : (size_t)count;
}

static void read_frequencies(struct source_clocks *source, struct sample_sink *sink)
{
    bool found = false;
    char path[96];
    uint64_t khz;

    for (size_t i = 0; i < source->cores; i++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%zu/cpufreq/scaling_cur_freq", i);
        if (!read_count(&source->frequency[i], path, &khz))
            continue;
        sample_value(sink, SS_COUNTER_ID_CPU_FREQUENCY, i, (double)khz * 1000);
        found = true;
    }
    if (!found)
        sample_missing(sink, SS_COUNTER_ID_CPU_FREQUENCY,
                       proc_file_state(&source->frequency[0]));
}

/* That of a package is repeated for each of its cores: counted once, of the first. */
static void read_throttles(struct source_clocks *source, struct sample_sink *sink)
{
    uint64_t count, sum = 0;
    bool found = false;
    char path[96];

    for (size_t i = 0; i < source->cores; i++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%zu/thermal_throttle/core_throttle_count",
                 i);
        if (!read_count(&source->throttles[i], path, &count))
            continue;
        sum += count;
        found = true;
    }
    if (read_count(&source->package,
                   "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
                   &count)) {
        sum += count;
        found = true;
    }
    if (found)
        sample_value(sink, SS_COUNTER_ID_CPU_THROTTLES, 0, (double)sum);
    else
        sample_missing(sink, SS_COUNTER_ID_CPU_THROTTLES,
                       proc_file_state(&source->throttles[0]));
}

void source_clocks_read(void *state, struct sample_sink *sink)
{
    struct source_clocks *source = state;

    if (source->cores == 0)
        source->cores = core_count();
    read_frequencies(state, sink);
    read_throttles(state, sink);
}
