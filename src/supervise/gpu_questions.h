/* What is asked of a GPU, in one table: which call answers which counters, and how often. */
#ifndef SUPERVISE_GPU_QUESTIONS_H
#define SUPERVISE_GPU_QUESTIONS_H

#include <stddef.h>

#include "stepscope/counters.h"
#include "supervise/nvml_library.h"

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
