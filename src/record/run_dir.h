/* Where a recording goes and what it says of itself: settings from the caller or the environment,
 * the run directory with its manifest, and the facts on this process. */
#ifndef RECORD_RUN_DIR_H
#define RECORD_RUN_DIR_H

#include <stdbool.h>

#include "stepscope/recorder.h"

struct run_settings {
    bool set;         /* a recording is on: a forked child goes on with these */
    bool decided_off; /* nothing was wanted, or it failed, or it was stopped */
    int rank, world;
    uint64_t cap_bytes; /* 0: unknown */
    char dir[3800];     /* "": none was given; absolute once run_dir_make() is through */
};

/* Options win over STEPSCOPE_RUN, STEPSCOPE_RANK, STEPSCOPE_WORLD, STEPSCOPE_CAP, and those over
 * the variables of launchers. STEPSCOPE_DISABLE=1 wins over the rest of the environment. */
void run_dir_settings(struct run_settings *settings, const struct ss_options *options);

/* What follows is called with the life lock held, and has its buffers outside the stack: the thread
 * of the first event may have a small one.
 * Makes the directory with its parents, manifest and .gitignore, unless it is there. 0 or SS_E. */
int run_dir_make(struct run_settings *settings);

/* A fact more, for each description from now on: what the layer is that has the recorder inside.
 * Texts stay the caller's, who may be any thread, before the first event. */
void run_dir_also(const char *key, const char *value);

/* Calls `put` for each fact: command (secrets redacted), host, versions, environment. */
void run_dir_describe(void (*put)(void *context, const char *key, const char *value),
                      void *context);

/* Which worker of how many this process is, as TF_CONFIG says to TensorFlow:
 *
 *   {"cluster": {"chief": [...], "worker": [...]}, "task": {"type": "worker", "index": 1}}
 *
 * A chief is the first, workers follow. */

#endif
