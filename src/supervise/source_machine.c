/* The machine as a whole: its cores, what waits for them, its memory. */
#include <string.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

enum { CORES_AT_FULL_RATE = 16, ROUNDS_OF_MANY_CORES = 10 };

/* Of many cores each costs a record: seldom then. */
static bool is_time_for_cores(struct source_cpu *source, size_t cores)
{
    return cores <= CORES_AT_FULL_RATE || source->rounds % ROUNDS_OF_MANY_CORES == 1;
}

/* Of the cores that the command may use. What others do on the rest is no disturbance. Once they were not all, they
 * are told to the end. */
static void tell_allowed(struct source_cpu *source, const struct proc_cpus *cpus,
                         double tick_ns, struct sample_sink *sink)
{
    const size_t count = source->allowed->count;

    if (!core_times_add(&source->of_allowed, source->allowed, cpus))
        return;
    if (source->told != count)
        sample_value(sink, SS_COUNTER_ID_CPU_ALLOWED, 0, (double)count);
    source->told = count;
    if (count == cpus->count && !sink->told[SS_COUNTER_ID_CPU_ALLOWED_BUSY])
        return;
    sample_value(sink, SS_COUNTER_ID_CPU_ALLOWED_BUSY, 0,
                 (double)source->of_allowed.busy * tick_ns);
    sample_value(sink, SS_COUNTER_ID_CPU_ALLOWED_STEAL, 0,
                 (double)source->of_allowed.steal * tick_ns);
}

void source_cpu_read(void *state, struct sample_sink *sink)
{
    struct source_cpu *source = state;
    const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    char text[PROC_TEXT_SIZE];
    struct proc_cpus cpus;

    if (!proc_file_read(&source->stat, "/proc/stat", text, sizeof text) ||
        !proc_text_cpus(text, &cpus)) {
        sample_missing(sink, SS_COUNTER_ID_CPU_BUSY, proc_file_state(&source->stat));
        sample_missing(sink, SS_COUNTER_ID_CPU_STEAL, proc_file_state(&source->stat));
        return;
    }
    source->rounds++;
    sample_value(sink, SS_COUNTER_ID_CPU_STEAL, 0, (double)cpus.steal * tick_ns);
    sample_value(sink, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, (double)cpus.busy * tick_ns);
    tell_allowed(source, &cpus, tick_ns, sink);
    if (is_time_for_cores(source, cpus.count))
        for (size_t i = 0; i < cpus.count; i++)
            sample_value(sink, SS_COUNTER_ID_CPU_BUSY, cpus.number[i],
                         (double)cpus.busy_of[i] * tick_ns);
}

static void read_pressure(struct proc_file *file, const char *path,
                          enum ss_counter_id some_id, enum ss_counter_id full_id,
                          struct sample_sink *sink)
{
    char text[512];
    uint64_t some, full = UINT64_MAX;

    if (proc_file_read(file, path, text, sizeof text) &&
        proc_text_pressure(text, &some, &full))
        sample_value(sink, some_id, 0, (double)some * 1000);
    else
        sample_missing(sink, some_id, proc_file_state(file));
    if (full_id == some_id)
        return;
    if (full != UINT64_MAX)
        sample_value(sink, full_id, 0, (double)full * 1000);
    else
        sample_missing(sink, full_id, proc_file_state(file));
}

void source_pressure_read(void *state, struct sample_sink *sink)
{
    struct source_pressure *source = state;

    read_pressure(&source->cpu, "/proc/pressure/cpu", SS_COUNTER_ID_PSI_CPU,
                  SS_COUNTER_ID_PSI_CPU, sink);
    read_pressure(&source->memory, "/proc/pressure/memory", SS_COUNTER_ID_PSI_MEMORY,
                  SS_COUNTER_ID_PSI_MEMORY_FULL, sink);
    read_pressure(&source->io, "/proc/pressure/io", SS_COUNTER_ID_PSI_IO,
                  SS_COUNTER_ID_PSI_IO_FULL, sink);
}

static void read_swap(struct source_memory *source, struct sample_sink *sink)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    char text[PROC_TEXT_SIZE];
    uint64_t in, out;

    if (proc_file_read(&source->vmstat, "/proc/vmstat", text, sizeof text) &&
        proc_text_field(text, "pswpin", &in) && proc_text_field(text, "pswpout", &out)) {
        sample_value(sink, SS_COUNTER_ID_SWAP_IN, 0, (double)in * page);
        sample_value(sink, SS_COUNTER_ID_SWAP_OUT, 0, (double)out * page);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&source->vmstat);
    sample_missing(sink, SS_COUNTER_ID_SWAP_IN, missing);
    sample_missing(sink, SS_COUNTER_ID_SWAP_OUT, missing);
}

void source_memory_read(void *state, struct sample_sink *sink)
{
    struct source_memory *source = state;
    char text[PROC_TEXT_SIZE];
    uint64_t available = 0, total = 0, swap = 1;

    if (!proc_file_read(&source->meminfo, "/proc/meminfo", text, sizeof text) ||
        !proc_text_field(text, "MemAvailable", &available)) {
        sample_missing(sink, SS_COUNTER_ID_MEMORY_AVAILABLE,
                       proc_file_state(&source->meminfo));
    } else {
        sample_value(sink, SS_COUNTER_ID_MEMORY_AVAILABLE, 0, (double)available * 1024);
        if (!sink->told[SS_COUNTER_ID_MEMORY_TOTAL] &&
            proc_text_field(text, "MemTotal", &total))
            sample_value(sink, SS_COUNTER_ID_MEMORY_TOTAL, 0, (double)total * 1024);
        (void)proc_text_field(text, "SwapTotal", &swap);
    }
    /* Without any swap nothing is ever read from it: said once. */
    if (swap > 0 || !sink->told[SS_COUNTER_ID_SWAP_IN])
        read_swap(source, sink);
}
