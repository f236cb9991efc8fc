/* Frequencies of cores, and how often heat slowed them down. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

#define FOLDER "/sys/devices/system/cpu"

static bool read_count(struct proc_file *file, size_t core, const char *name, uint64_t *out)
{
    char path[128], text[64], *end;

    snprintf(path, sizeof path, FOLDER "/cpu%zu/%s", core, name);
    if (!proc_file_read(file, path, text, sizeof text))
        return false;
    *out = strtoull(text, &end, 10);
    return end != text;
}

static uint64_t package_of(size_t core)
{
    struct proc_file file = {0};
    uint64_t package = 0; /* where it is unknown, there is one */

    (void)read_count(&file, core, "topology/physical_package_id", &package);
    proc_file_close(&file);
    return package;
}

/* Where the allowed cores are unknown, all are. */
static bool is_allowed(const struct source_clocks *source, size_t core)
{
    return source->allowed->count == 0 || allowed_cores_has(source->allowed, core);
}

/* Its count is repeated for each core of a package: that of the first one that is allowed is
 * read. */
static bool tells_package(const struct source_clocks *source, size_t core)
{
    for (size_t i = 0; i < core; i++)
        if (is_allowed(source, i) && source->core[i].package_id == source->core[core].package_id)
            return false;
    return true;
}

static void look(struct source_clocks *source)
{
    const long count = sysconf(_SC_NPROCESSORS_CONF);
    const size_t cores = count < 1 ? 1 : count > CLOCKS_MOST ? CLOCKS_MOST : (size_t)count;

    source->core = calloc(cores, sizeof *source->core);
    if (!source->core)
        return;
    source->count = cores;
    for (size_t i = 0; i < cores; i++)
        source->core[i].package_id = package_of(i);
}

/* What a machine with many cores would keep open is opened each time. */
static void close_some(const struct source_clocks *source, struct proc_file *file)
{
    if (source->count > CLOCKS_AT_ONCE && !file->error)
        proc_file_close(file);
}

/* Since its first look: what a core had counted before is none of ours. */
static void count_events(struct source_clocks *source, struct throttle_count *count, size_t core,
                         const char *name)
{
    uint64_t now;

    if (!read_count(&count->file, core, name, &now))
        return;
    if (count->is_known && now > count->last)
        source->throttles += now - count->last;
    count->last = now;
    count->is_known = source->tells_throttles = true;
}

static void read_core(struct source_clocks *source, size_t number, struct sample_sink *sink)
{
    struct core_clock *core = &source->core[number];
    uint64_t khz;

    if (read_count(&core->frequency, number, "cpufreq/scaling_cur_freq", &khz))
        sample_value(sink, SS_COUNTER_ID_CPU_FREQUENCY, number, (double)khz * 1000);
    count_events(source, &core->own, number, "thermal_throttle/core_throttle_count");
    if (tells_package(source, number))
        count_events(source, &core->package, number, "thermal_throttle/package_throttle_count");
    else
        core->package.is_known = false;
    close_some(source, &core->frequency);
    close_some(source, &core->own.file);
    close_some(source, &core->package.file);
}

/* What it counts while it is not allowed is none of ours. */
static void skip_core(struct core_clock *core)
{
    core->own.is_known = core->package.is_known = false;
}

/* Of many cores some in turn: to ask one for its clock may interrupt it. The last one that was
 * read, or the first. */
static const struct core_clock *read_some(struct source_clocks *source, struct sample_sink *sink)
{
    const struct core_clock *last = source->core;

    for (size_t i = 0, asked = 0; i < source->count && asked < CLOCKS_AT_ONCE; i++) {
        struct core_clock *core = &source->core[source->next];
        if (is_allowed(source, source->next)) {
            read_core(source, source->next, sink);
            last = core;
            asked++;
        } else {
            skip_core(core);
        }
        source->next = (source->next + 1) % source->count;
    }
    return last;
}

void source_clocks_read(void *state, struct sample_sink *sink)
{
    struct source_clocks *source = state;

    if (source->count == 0)
        look(source);
    if (source->count == 0)
        return;
    const struct core_clock *last = read_some(source, sink);
    if (!sink->told[SS_COUNTER_ID_CPU_FREQUENCY])
        sample_missing(sink, SS_COUNTER_ID_CPU_FREQUENCY, proc_file_state(&last->frequency));
    if (source->tells_throttles)
        sample_value(sink, SS_COUNTER_ID_CPU_THROTTLES, 0, (double)source->throttles);
    else
        sample_missing(sink, SS_COUNTER_ID_CPU_THROTTLES, proc_file_state(&last->own.file));
}

void source_clocks_release(struct source_clocks *source)
{
    for (size_t i = 0; i < source->count; i++) {
        proc_file_close(&source->core[i].frequency);
        proc_file_close(&source->core[i].own.file);
        proc_file_close(&source->core[i].package.file);
    }
    free(source->core);
    *source = (struct source_clocks){0};
}
