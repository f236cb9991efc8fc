/* A library with the symbols of NVML, for machines without a GPU. What it answers stands in the
 * file that FAKE_NVML names, read again at every call, so that a test can change it on the way:
 *
 *     count.0 2               GPUs
 *     utilization.0 40        answer of a call for GPU 0; utilization_memory.0 is the second one
 *     error.power.1 3         the call fails with this number of NVML
 *     hang.power.1 1          the call does not return as long as this line is there; until then
 *                             there is an empty file of that name with ".hangs" behind it
 *     pid.0 42                a process on GPU 0, with users.0 bytes (-1: not told)
 *
 * init and count are calls like the others, for GPU 0. With FAKE_NVML_OLD it is a version that
 * lacks some functions. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };
enum { SCRIPT_SIZE = 8192 };

struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct process_1 {
    unsigned pid;
    unsigned long long used;
};
struct process_3 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *out);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out);
int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out);
int nvmlDeviceGetPowerUsage(void *device, unsigned *out);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *out);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);
int nvmlDeviceGetPcieThroughput(void *device, int which, unsigned *out);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, struct process_1 *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process_3 *out);

static void read_script(char out[SCRIPT_SIZE])
{
    const char *path = getenv("FAKE_NVML");
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t size = file < 0 ? 0 : read(file, out, SCRIPT_SIZE - 1);

    out[size > 0 ? size : 0] = '\0';
    if (file >= 0)
        close(file);
}

/* The number after "KEY.GPU " at the start of a line. */
static int find(const char *before, const char *key, unsigned gpu, long long *value)
{
    char script[SCRIPT_SIZE], wanted[96];

    read_script(script);
    snprintf(wanted, sizeof wanted, "%s%s.%u ", before, key, gpu);
    for (const char *line = script; *line; line++) {
        if (strncmp(line, wanted, strlen(wanted)) == 0) {
            *value = strtoll(line + strlen(wanted), NULL, 10);
            return 1;
        }
        line = strchr(line, '\n');
        if (!line)
            break;
    }
    return 0;
}

static void hang_while_told(const char *call, unsigned gpu)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char path[4096];
    long long ignored;

    if (!find("hang.", call, gpu, &ignored))
        return;
    snprintf(path, sizeof path, "%s.hangs", getenv("FAKE_NVML"));
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (find("hang.", call, gpu, &ignored))
        nanosleep(&pause, NULL);
}

static int enter(const char *call, unsigned gpu)
{
    long long error = SUCCESS;

    hang_while_told(call, gpu);
    (void)find("error.", call, gpu, &error);
    return (int)error;
}

static unsigned gpu_of(void *device)
{
    return (unsigned)((uintptr_t)device - 1);
}

static int answer(const char *call, void *device, long long *out)
{
    const int error = enter(call, gpu_of(device));

    *out = 0;
    if (error)
        return error;
    return find("", call, gpu_of(device), out) ? SUCCESS : NOT_SUPPORTED;
}

static int answer_unsigned(const char *call, void *device, unsigned *out)
{
    long long value;
    const int error = answer(call, device, &value);

    if (!error)
        *out = (unsigned)value;
    return error;
}

int nvmlInit_v2(void)
{
    return enter("init", 0);
}

int nvmlShutdown(void)
{
    return enter("shutdown", 0);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    long long value = 0;
    const int error = enter("count", 0);

    (void)find("", "count", 0, &value);
    *count = (unsigned)value;
    return error;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    unsigned count = 0;

    (void)nvmlDeviceGetCount_v2(&count);
    *device = (void *)((uintptr_t)index + 1);
    return index < count ? enter("device", index) : INVALID_ARGUMENT;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "Fake GPU %u", gpu_of(device));
    return enter("name", gpu_of(device));
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *out)
{
    long long memory = 0;
    const int error = answer_unsigned("utilization", device, &out->gpu);

    (void)find("", "utilization_memory", gpu_of(device), &memory);
    out->memory = (unsigned)memory;
    return error;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
    long long total, used = 0;
    const int error = answer("memory", device, &total);

    (void)find("", "memory_used", gpu_of(device), &used);
    out->total = (unsigned long long)total;
    out->used = (unsigned long long)used;
    out->free = out->total - out->used;
    return error;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out)
{
    return answer_unsigned(which == 1 ? "clock" : "memory_clock", device, out);
}

int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *out)
{
    return which == 1 ? answer_unsigned("clock_most", device, out) : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out)
{
    return answer("held", device, (long long *)out);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *out)
{
    return answer_unsigned("power", device, out);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    return sensor == 0 ? answer_unsigned("temperature", device, out) : INVALID_ARGUMENT;
}

static int processes(void *device, unsigned *count, unsigned *pid, unsigned long long *used)
{
    long long found, bytes = 0;
    const unsigned places = *count;
    const int error = answer("users", device, &bytes);

    *count = find("", "pid", gpu_of(device), &found) ? 1 : 0;
    if (error || *count == 0)
        return error;
    *pid = (unsigned)found;
    *used = (unsigned long long)bytes;
    return places < *count ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, struct process_1 *out)
{
    return processes(device, count, &out->pid, &out->used);
}

#ifndef FAKE_NVML_OLD
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process_3 *out)
{
    return processes(device, count, &out->pid, &out->used);
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *out)
{
    return answer_unsigned("power_limit", device, out);
}

int nvmlDeviceGetPcieThroughput(void *device, int which, unsigned *out)
{
    return answer_unsigned(which == 1 ? "received" : "sent", device, out);
}
#endif
