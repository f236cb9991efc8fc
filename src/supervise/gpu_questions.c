#include "supervise/gpu_questions.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char default_file[] = "libnvidia-ml.so.1";

struct entry {
    size_t offset;
    const char *name, *other;
};

#define NVML_ENTRY(field, name, other, parameters)                                                 \
    {offsetof(struct nvml_library, field), name, other},
static const struct entry entries[] = {NVML_FUNCTIONS(NVML_ENTRY)};

/* ISO C has no cast from an object pointer to a function pointer; POSIX says that the bytes fit. */
static void fill(struct nvml_library *library, void *handle)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *found = dlsym(handle, entries[i].name);
        if (!found && entries[i].other)
            found = dlsym(handle, entries[i].other);
        memcpy((char *)library + entries[i].offset, &found, sizeof found);
    }
}

bool nvml_library_load(struct nvml_library *library, struct ss_error *why)
{
    const char *wanted = secure_getenv("STEPSCOPE_NVML");
    const char *file = wanted && *wanted ? wanted : default_file;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    memset(library, 0, sizeof *library);
    if (!handle) {
        const char *text = dlerror();
        error_set(why, SS_E_NOTFOUND, "%s", text ? text : file);
        return false;
    }
    fill(library, handle);
    if (library->init && library->count && library->device)
        return true;
    error_set(why, SS_E_VERSION, "%s lacks required NVML functions", file);
    dlclose(handle);
    return false;
}

enum { MOST_PROCESSES = 256 }; /* with fewer places than it has, NVML gives none at all */

static const double PERCENT = 0.01, MHZ = 1e6, MILLIWATT = 1e-3, KILOBYTE = 1e3;

/* A call with one unsigned answer, in the unit of the counter. */
static int ask_one(int (*call)(struct nvml_device *, unsigned *), struct nvml_device *device,
                   double unit, double *value)
{
    unsigned answer = 0;

    if (!call)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call(device, &answer);
    *value = answer * unit;
    return result;
}

/* The same of a call that has several: `which`. */
static int ask_which(int (*call)(struct nvml_device *, int, unsigned *), struct nvml_device *device,
                     int which, double unit, double *value)
{
    unsigned answer = 0;

    if (!call)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call(device, which, &answer);
    *value = answer * unit;
    return result;
}

static int ask_busy(const struct nvml_library *nvml, struct nvml_device *device,
                    double value[GPU_ANSWERS])
{
    struct nvml_utilization answer = {0};

    if (!nvml->utilization)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->utilization(device, &answer);
    value[0] = answer.gpu * PERCENT;
    value[1] = answer.memory * PERCENT;
    return result;
}

static int ask_memory(const struct nvml_library *nvml, struct nvml_device *device,
                      double value[GPU_ANSWERS])
{
    struct nvml_memory answer = {0};

    if (!nvml->memory)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->memory(device, &answer);
    value[0] = (double)answer.used;
    value[1] = (double)answer.total;
    return result;
}

static int ask_clock(const struct nvml_library *nvml, struct nvml_device *device,
                     double value[GPU_ANSWERS])
{
    return ask_which(nvml->clock, device, NVML_CLOCK_SM, MHZ, value);
}

static int ask_memory_clock(const struct nvml_library *nvml, struct nvml_device *device,
                            double value[GPU_ANSWERS])
{
    return ask_which(nvml->clock, device, NVML_CLOCK_MEMORY, MHZ, value);
}

static int ask_clock_most(const struct nvml_library *nvml, struct nvml_device *device,
                          double value[GPU_ANSWERS])
{
    return ask_which(nvml->clock_most, device, NVML_CLOCK_SM, MHZ, value);
}

/* nvmlClocksEventReasons. That a GPU is idle, or that its clock was set by hand, is no reason to
 * say anything. */
enum {
    HELD_HARMLESS = 0x1 | 0x2,
    HELD_POWER = 0x4 | 0x80, /* the cap; a brake from outside */
    HELD_HARDWARE = 0x8,
    HELD_HEAT = 0x20 | 0x40
};

static int ask_held(const struct nvml_library *nvml, struct nvml_device *device,
                    double value[GPU_ANSWERS])
{
    const unsigned long long known = HELD_HARMLESS | HELD_POWER | HELD_HARDWARE | HELD_HEAT;
    unsigned long long answer = 0;

    if (!nvml->held)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->held(device, &answer);
    value[0] = (double)answer; /* its bits are low ones: nothing is lost */
    value[1] = (answer & HELD_HEAT) != 0;
    value[2] = (answer & HELD_POWER) != 0;
    value[3] = (answer & HELD_HARDWARE) != 0;
    value[4] = (answer & ~known) != 0;
    return result;
}

static int ask_power(const struct nvml_library *nvml, struct nvml_device *device,
                     double value[GPU_ANSWERS])
{
    return ask_one(nvml->power, device, MILLIWATT, value);
}

static int ask_power_limit(const struct nvml_library *nvml, struct nvml_device *device,
                           double value[GPU_ANSWERS])
{
    return ask_one(nvml->power_limit, device, MILLIWATT, value);
}

static int ask_temperature(const struct nvml_library *nvml, struct nvml_device *device,
                           double value[GPU_ANSWERS])
{
    return ask_which(nvml->temperature, device, NVML_SENSOR_GPU, 1, value);
}

static int ask_received(const struct nvml_library *nvml, struct nvml_device *device,
                        double value[GPU_ANSWERS])
{
    return ask_which(nvml->pcie, device, NVML_PCIE_RECEIVED, KILOBYTE, value);
}

static int ask_sent(const struct nvml_library *nvml, struct nvml_device *device,
                    double value[GPU_ANSWERS])
{
    return ask_which(nvml->pcie, device, NVML_PCIE_SENT, KILOBYTE, value);
}

/* The two of PCIe take 20 ms each: NVML counts for so long. */
const struct gpu_question gpu_questions[GPU_QUESTIONS] = {
    {{SS_COUNTER_ID_GPU_BUSY, SS_COUNTER_ID_GPU_MEMORY_BUSY}, 2, false, ask_busy},
    {{SS_COUNTER_ID_GPU_MEMORY_USED, SS_COUNTER_ID_GPU_MEMORY_TOTAL}, 2, false, ask_memory},
    {{SS_COUNTER_ID_GPU_CLOCK}, 1, false, ask_clock},
    {{SS_COUNTER_ID_GPU_MEMORY_CLOCK}, 1, false, ask_memory_clock},
    {{SS_COUNTER_ID_GPU_HELD, SS_COUNTER_ID_GPU_HELD_HEAT, SS_COUNTER_ID_GPU_HELD_POWER,
      SS_COUNTER_ID_GPU_HELD_HARDWARE, SS_COUNTER_ID_GPU_HELD_OTHER},
     5,
     false,
     ask_held},
    {{SS_COUNTER_ID_GPU_POWER}, 1, false, ask_power},
    {{SS_COUNTER_ID_GPU_CLOCK_MOST}, 1, true, ask_clock_most},
    {{SS_COUNTER_ID_GPU_POWER_LIMIT}, 1, true, ask_power_limit},
    {{SS_COUNTER_ID_GPU_TEMPERATURE}, 1, true, ask_temperature},
    {{SS_COUNTER_ID_GPU_RECEIVED}, 1, true, ask_received},
    {{SS_COUNTER_ID_GPU_SENT}, 1, true, ask_sent},
};

static void keep_user(struct gpu_user users[GPU_USERS], size_t *count, unsigned pid,
                      unsigned long long used)
{
    if (*count < GPU_USERS)
        users[(*count)++] = (struct gpu_user){pid, used != NVML_MEMORY_UNKNOWN,
                                              used != NVML_MEMORY_UNKNOWN ? (double)used : 0};
}

static int ask_users_1(const struct nvml_library *nvml, struct nvml_device *device,
                       struct gpu_user users[GPU_USERS], size_t *count)
{
    struct nvml_process_1 found[MOST_PROCESSES];
    unsigned size = MOST_PROCESSES;

    if (!nvml->processes_1)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->processes_1(device, &size, found);
    for (unsigned i = 0; result == NVML_SUCCESS && i < size && i < MOST_PROCESSES; i++)
        keep_user(users, count, found[i].pid, found[i].used);
    return result;
}

int gpu_ask_users(const struct nvml_library *nvml, struct nvml_device *device,
                  struct gpu_user users[GPU_USERS], size_t *count)
{
    struct nvml_process found[MOST_PROCESSES];
    unsigned size = MOST_PROCESSES;

    *count = 0;
    if (!nvml->processes)
        return ask_users_1(nvml, device, users, count);
    int result = nvml->processes(device, &size, found);
    for (unsigned i = 0; result == NVML_SUCCESS && i < size && i < MOST_PROCESSES; i++)
        keep_user(users, count, found[i].pid, found[i].used);
    return result;
}
