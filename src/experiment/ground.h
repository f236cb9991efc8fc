/* What every experiment stands on: a directory for its runs, a way to keep files as they are, and
 * the signals that end it early. */
#ifndef EXPERIMENT_GROUND_H
#define EXPERIMENT_GROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/protect.h"
#include "stepscope/error.h"
#include "supervise/signals.h"

struct ground_wish {
    const char *parent; /* where runs are kept; NULL: the usual place */
    const char *name;   /* of the directory */
    char *const *command;
    bool may_be_unprotected;
    void (*say)(void *context, const char *message); /* one sentence */
    void *context;
};

struct ground {
    struct buf dir; /* as one would type it */
    struct protect protect;
    struct signals signals;
};

/* Makes the directory, blocks signals and finds out how files can be protected. 0, or SS_E with a
 * sentence. Release it in either case. */
int ground_make(struct ground *ground, const struct ground_wish *wish, struct ss_error *error);
void ground_release(struct ground *ground);

/* The signal that ends the experiment; 0: none has come. */
int ground_signal(const struct ground *ground);

/* Returns early if a signal comes. */
void ground_pause(const struct ground *ground, int64_t ns);

#endif
