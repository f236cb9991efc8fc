/* What is asked of a GPU, in one table: which call answers which counters, and how often.
 *
 * NVML, NVIDIA's management library, is loaded when it is needed: most machines have none.
 *
 * Names, layouts and numbers are those of its public documentation. A function that the installed
 * version lacks is NULL. Any call may take long or never return: only a thread of its own may make
 * one (gpus.h). */
#ifndef SUPERVISE_GPU_QUESTIONS_H
#define SUPERVISE_GPU_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepscope/counters.h"
#include "stepscope/error.h"

/* What its functions return, as far as it matters here. */
enum nvml_result {
    NVML_SUCCESS = 0,
    NVML_NO_PERMISSION = 4,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15
};

enum nvml_clock { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };  /* in MHz */
enum nvml_sensor { NVML_SENSOR_GPU = 0 };                      /* in degrees Celsius */
enum nvml_pcie { NVML_PCIE_SENT = 0, NVML_PCIE_RECEIVED = 1 }; /* by the GPU, in KB/s */

struct nvml_device;

struct nvml_utilization { /* percent of the last 1/6 to 1 s */
    unsigned gpu, memory;
};

struct nvml_memory { /* bytes */
    unsigned long long total, free, used;
};

#define NVML_MEMORY_UNKNOWN (~0ull) /* nvml_process.used: the driver does not tell */

struct nvml_process { /* of the calls _v2 and _v3 */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct nvml_process_1 { /* of the oldest one */
    unsigned pid;
    unsigned long long used;
};

#define NVML_DEVICE struct nvml_device *

/* X(field, name, name in other versions or NULL, parameters) */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, "nvmlInit_v2", "nvmlInit", (void))                                                     \
    X(shutdown, "nvmlShutdown", NULL, (void))                                                      \
    X(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", (unsigned *))                          \
    X(device, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex",                       \
      (unsigned, NVML_DEVICE *))                                                                   \
    X(name, "nvmlDeviceGetName", NULL, (NVML_DEVICE, char *, unsigned))                            \
    X(utilization, "nvmlDeviceGetUtilizationRates", NULL,                                          \
      (NVML_DEVICE, struct nvml_utilization *))                                                    \
    X(memory, "nvmlDeviceGetMemoryInfo", NULL, (NVML_DEVICE, struct nvml_memory *))                \
    X(clock, "nvmlDeviceGetClockInfo", NULL, (NVML_DEVICE, int, unsigned *))                       \
    X(clock_most, "nvmlDeviceGetMaxClockInfo", NULL, (NVML_DEVICE, int, unsigned *))               \
    X(held, "nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons", \
      (NVML_DEVICE, unsigned long long *))                                                         \
    X(power, "nvmlDeviceGetPowerUsage", NULL, (NVML_DEVICE, unsigned *))                           \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, (NVML_DEVICE, unsigned *))             \
    X(temperature, "nvmlDeviceGetTemperature", NULL, (NVML_DEVICE, int, unsigned *))               \
    X(pcie, "nvmlDeviceGetPcieThroughput", NULL, (NVML_DEVICE, int, unsigned *))                   \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      "nvmlDeviceGetComputeRunningProcesses_v2", (NVML_DEVICE, unsigned *, struct nvml_process *)) \
    X(processes_1, "nvmlDeviceGetComputeRunningProcesses", NULL,                                   \
      (NVML_DEVICE, unsigned *, struct nvml_process_1 *))

#define NVML_FIELD(field, name, other, parameters) int(*field) parameters;
struct nvml_library {
    NVML_FUNCTIONS(NVML_FIELD)
};

/* Loads libnvidia-ml.so.1, or the file that STEPSCOPE_NVML names (for tests). False: there is none
 * that could be started, and `why` (may be NULL) says so. Nothing is called yet, and it stays
 * loaded for the life of the process: a thread may still be inside when no one waits for it any
 * more. */
bool nvml_library_load(struct nvml_library *library, struct ss_error *why);

enum {
    GPU_QUESTIONS = 11,
    GPU_ANSWERS = 5,     /* that one call can give */
    GPU_SLOW_ROUNDS = 5, /* what changes little or takes long is asked every 5th time */
    GPU_USERS = 32       /* processes of a GPU, at most */
};

struct gpu_question {
    enum ss_counter_id counter[GPU_ANSWERS];
    unsigned answers;
    bool slow;
    /* enum nvml_result; in the unit of the counter. */
    int (*ask)(const struct nvml_library *nvml, struct nvml_device *device,
               double value[GPU_ANSWERS]);
};

extern const struct gpu_question gpu_questions[GPU_QUESTIONS];

struct gpu_user {
    uint32_t pid;
    bool is_known; /* the driver tells how much memory it has */
    double bytes;
};

/* Who computes on it; more than fit are left out. enum nvml_result. */
int gpu_ask_users(const struct nvml_library *nvml, struct nvml_device *device,
                  struct gpu_user users[GPU_USERS], size_t *count);

#endif
