/* The machine as a whole: its cores, what waits for them, its memory, bytes to and from its disks
 * and networks. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

enum { CORES_AT_FULL_RATE = 16, ROUNDS_OF_MANY_CORES = 10 };

/* Of many cores each costs a record: rarely then. */
static bool is_time_for_cores(struct source_cpu *source, size_t cores)
{
    return cores <= CORES_AT_FULL_RATE || source->rounds % ROUNDS_OF_MANY_CORES == 1;
}

/* Of the cores that the command may use. What others do on the rest is no disturbance. Once they
 * were not all, they are recorded to the end. */
static void tell_allowed(struct source_cpu *source, const struct proc_cpus *cpus, double tick_ns,
                         struct sample_sink *sink)
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

static void read_pressure(struct proc_file *file, const char *path, enum ss_counter_id some_id,
                          enum ss_counter_id full_id, struct sample_sink *sink)
{
    char text[512];
    uint64_t some, full = UINT64_MAX;

    if (proc_file_read(file, path, text, sizeof text) && proc_text_pressure(text, &some, &full))
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

    read_pressure(&source->cpu, "/proc/pressure/cpu", SS_COUNTER_ID_PSI_CPU, SS_COUNTER_ID_PSI_CPU,
                  sink);
    read_pressure(&source->memory, "/proc/pressure/memory", SS_COUNTER_ID_PSI_MEMORY,
                  SS_COUNTER_ID_PSI_MEMORY_FULL, sink);
    read_pressure(&source->io, "/proc/pressure/io", SS_COUNTER_ID_PSI_IO, SS_COUNTER_ID_PSI_IO_FULL,
                  sink);
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
        sample_missing(sink, SS_COUNTER_ID_MEMORY_AVAILABLE, proc_file_state(&source->meminfo));
    } else {
        sample_value(sink, SS_COUNTER_ID_MEMORY_AVAILABLE, 0, (double)available * 1024);
        if (!sink->told[SS_COUNTER_ID_MEMORY_TOTAL] && proc_text_field(text, "MemTotal", &total))
            sample_value(sink, SS_COUNTER_ID_MEMORY_TOTAL, 0, (double)total * 1024);
        (void)proc_text_field(text, "SwapTotal", &swap);
    }
    /* Without any swap nothing is ever read from it: said once. */
    if (swap > 0 || !sink->told[SS_COUNTER_ID_SWAP_IN])
        read_swap(source, sink);
}

enum { SECTOR = 512 };

/* Whole disks with hardware below them: partitions, volumes and loops would count twice. */
static void find_disks(struct source_traffic *source)
{
    DIR *dir = opendir("/sys/block");
    struct dirent *entry;
    char path[64 + DISK_NAME_SIZE];

    source->looked = dir || !proc_error_is_passing(errno);
    while (dir && source->disk_count < DISKS_MOST && (entry = readdir(dir))) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length >= DISK_NAME_SIZE)
            continue;
        snprintf(path, sizeof path, "/sys/block/%.*s/device", DISK_NAME_SIZE, entry->d_name);
        if (access(path, F_OK) == 0)
            memcpy(source->disk[source->disk_count++], entry->d_name, length + 1);
    }
    if (dir)
        closedir(dir);
}

static void read_disks(struct source_traffic *source, struct sample_sink *sink)
{
    uint64_t read = 0, written = 0, one_read, one_written;
    char text[PROC_TEXT_SIZE];
    bool found = false;

    if (!source->looked)
        find_disks(source);
    if (!source->looked)
        return;
    if (source->disk_count && proc_file_read(&source->disks, "/proc/diskstats", text, sizeof text))
        for (size_t i = 0; i < source->disk_count; i++)
            if (proc_text_disk(text, source->disk[i], &one_read, &one_written)) {
                read += one_read;
                written += one_written;
                found = true;
            }
    if (found) {
        sample_value(sink, SS_COUNTER_ID_DISK_READ, 0, (double)read * SECTOR);
        sample_value(sink, SS_COUNTER_ID_DISK_WRITE, 0, (double)written * SECTOR);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&source->disks);
    sample_missing(sink, SS_COUNTER_ID_DISK_READ, missing);
    sample_missing(sink, SS_COUNTER_ID_DISK_WRITE, missing);
}

static void read_network(struct source_traffic *source, struct sample_sink *sink)
{
    char text[PROC_TEXT_SIZE];
    uint64_t received, sent;

    if (proc_file_read(&source->network, "/proc/net/dev", text, sizeof text) &&
        proc_text_network(text, &received, &sent)) {
        sample_value(sink, SS_COUNTER_ID_NET_RECEIVED, 0, (double)received);
        sample_value(sink, SS_COUNTER_ID_NET_SENT, 0, (double)sent);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&source->network);
    sample_missing(sink, SS_COUNTER_ID_NET_RECEIVED, missing);
    sample_missing(sink, SS_COUNTER_ID_NET_SENT, missing);
}

void source_traffic_read(void *state, struct sample_sink *sink)
{
    read_disks(state, sink);
    read_network(state, sink);
}
