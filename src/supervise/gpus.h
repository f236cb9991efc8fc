/* NVIDIA GPUs, about 5 times per second, by NVML.
 *
 * A call of NVML may hang (a GPU that fell off its bus, a driver under reset), so that each GPU has
 * a thread of its own, with all signals blocked, and no one ever waits for one. What hangs,
 * disappears or fails becomes absent, the other GPUs and counters go on, and it has a value again
 * as soon as it answers again. Loading the library may hang as well: it is done by the first of
 * these threads.
 *
 * One thread uses a struct gpus. Start it after the command: files that the driver opens are none
 * of the command's business. */
#ifndef SUPERVISE_GPUS_H
#define SUPERVISE_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepscope/counters.h"
#include "stepscope/format.h"

enum { GPUS_NAME_SIZE = 96 };

struct gpus;

struct gpu_reading {
    enum ss_counter_id counter;
    enum ss_system_state state;
    uint64_t subject; /* GPU, or GPU << 32 | pid of any process on it, as NVML numbers it */
    double value;     /* 0 without one */
    int64_t time_ns;  /* of CLOCK_MONOTONIC_RAW: when it was read, or found missing */
};

/* Returns at once. NULL: there is no memory or thread for it. */
struct gpus *gpus_start(void);

/* Never waits. Gives what is new since the last call, at most `most` of it, the newest reading of
 * each counter; what did not fit comes next time. Absent and denied come once, when they become so;
 * a process that has left its GPU is absent. Without NVML or any GPU, all of GPU 0 is. */
size_t gpus_take(struct gpus *gpus, struct gpu_reading *out, size_t most);

/* Waits up to `most_ns` for NVML to be ready: how many GPUs there are, or one of these, and `why`
 * says why: a sentence without its full stop. */
enum { GPUS_NO_START = -1, GPUS_NO_LIBRARY = -2 };
int gpus_wait(struct gpus *gpus, int64_t most_ns, const char **why);

/* Its name; "" if it is not known yet. */
void gpus_name(struct gpus *gpus, unsigned gpu, char out[GPUS_NAME_SIZE]);

/* Waits 50 ms at most; a thread that hangs longer than that is left behind. NULL is fine. */
void gpus_stop(struct gpus *gpus);

/* Whether this process has left one behind. What a library has registered for the exit may then
 * hang as well, and the loader itself if it was being loaded: only _exit() is safe. */
bool gpus_left_behind(void);

#endif
