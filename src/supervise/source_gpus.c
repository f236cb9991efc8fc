/* NVIDIA GPUs, and which processes of the run are on them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervise/gpus.h"
#include "supervise/sources.h"

enum { READINGS = 256 }; /* at a time */

/* NVML numbers processes as the host does. The first namespace of a kernel has a fixed number. */
static bool is_in_container(void)
{
    static const char first[] = "pid:[4026531836]";
    char link[64];
    const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof link - 1);

    if (length <= 0)
        return false;
    link[length] = '\0';
    return strcmp(link, first) != 0;
}

void source_gpus_start(struct source_gpus *source, struct source_tree *tree)
{
    *source = (struct source_gpus){
        .gpus = gpus_start(), .tree = tree, .is_in_container = is_in_container()};
}

/* What is on a GPU and is not here may be of the run all the same: its number is one of the
 * host. */
static bool is_of_host(const struct source_gpus *source, uint32_t pid)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%lu", (unsigned long)pid);
    return source->is_in_container && access(path, F_OK) != 0;
}

/* Processes of a GPU that cannot be separated, all together. */
struct unmatched {
    bool is_there, has_left;
    double bytes;
};

static void take_process(struct source_gpus *source, const struct gpu_reading *reading,
                         struct unmatched *unmatched, struct sample_sink *sink)
{
    const uint32_t pid = (uint32_t)reading->subject;

    if (source_tree_has(source->tree, (pid_t)pid, 0)) {
        sample_put(sink, reading->counter, reading->state, reading->subject, reading->value);
    } else if (is_of_host(source, pid)) {
        unmatched->is_there |= reading->state == SS_SYSTEM_VALUE;
        unmatched->has_left = true;
        unmatched->bytes += reading->value;
    } /* else of another program */
}

static void tell_unmatched(const struct unmatched *unmatched, struct sample_sink *sink)
{
    for (uint64_t gpu = 0; gpu < SS_GPUS_MOST; gpu++)
        if (unmatched[gpu].has_left)
            sample_put(sink, SS_COUNTER_ID_GPU_PROCESS_MEMORY,
                       unmatched[gpu].is_there ? SS_SYSTEM_VALUE : SS_SYSTEM_ABSENT, gpu << 32,
                       unmatched[gpu].bytes);
}

void source_gpus_read(void *state, struct sample_sink *sink)
{
    struct source_gpus *source = state;
    struct gpu_reading readings[READINGS];
    struct unmatched unmatched[SS_GPUS_MOST] = {0};
    size_t count = source->gpus ? READINGS : 0;

    while (count == READINGS) {
        count = gpus_take(source->gpus, readings, READINGS);
        for (size_t i = 0; i < count; i++)
            if (readings[i].counter == SS_COUNTER_ID_GPU_PROCESS_MEMORY)
                take_process(source, &readings[i], &unmatched[readings[i].subject >> 32], sink);
            else
                sample_put(sink, readings[i].counter, readings[i].state, readings[i].subject,
                           readings[i].value);
    }
    tell_unmatched(unmatched, sink);
    if (source->is_in_container && sink->told[SS_COUNTER_ID_GPU_BUSY] == SS_SYSTEM_VALUE + 1)
        sample_missing(sink, SS_COUNTER_ID_GPU_PROCESS_MEMORY, SS_SYSTEM_ABSENT);
}

void source_gpus_stop(struct source_gpus *source)
{
    gpus_stop(source->gpus);
    source->gpus = NULL;
}
