/* Where a run goes: its directory with the manifest, and `latest` beside it.
 *
 *     stepscope-runs/                       --dir, STEPSCOPE_DIR
 *         latest -> 20261115-183512-train.py
 *         20261115-183512-train.py/         --name
 *
 * If that is on a network file system, the processes record into a local directory that is brought
 * home when the command has ended (copy_back.h). */
#ifndef SUPERVISE_RUN_PLACE_H
#define SUPERVISE_RUN_PLACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "stepscope/error.h"

struct run_place_wish {
    const char *parent; /* NULL: STEPSCOPE_DIR or stepscope-runs */
    const char *name;   /* NULL: that of the command */
    char *const *command;
    const char *run; /* directory that is there, in that of a job (job_place.h); NULL: a new one */
};

struct run_place {
    char *shown;  /* the run directory as one would type it */
    char *home;   /* the same, absolute */
    char *local;  /* NULL: the processes record at home */
    char *before; /* what `latest` named before this run; NULL: nothing */
    /* Directories, opened once: what happens to their paths later does not matter to us. */
    int home_fd, local_fd, parent_fd; /* -1: none */
    bool parent_is_new;
    bool is_in_job;  /* parent_fd, and the name there, are those of the job's directory */
    bool is_exposed; /* others may rename and replace directories in the parent */
};

/* Makes the directory and proves that something can be written into it. On failure nothing is left
 * behind and `error` says why, and where. Release it in either case. */
int run_place_make(struct run_place *place, const struct run_place_wish *wish,
                   struct ss_error *error);
void run_place_release(struct run_place *place);

/* Absolute: what STEPSCOPE_RUN is; and its descriptor. */
const char *run_place_dir(const struct run_place *place);
int run_place_fd(const struct run_place *place);

/* Makes `latest` point here. A file system that cannot is none the worse. */
void run_place_publish(struct run_place *place);

/* `latest` names the run again that it named before, unless another run has begun since. */
void run_place_withdraw(const struct run_place *place);

/* Notes in the run directory at home where its files are: in `local`, or at home if that is NULL.
 * A run without a supervisor needs it, for one that has the outcome says the same. */
void run_place_say_where(const char *home, const char *local);

/* The line of a manifest that has the command, without what may be a secret. */
void run_place_say_command(struct buf *out, char *const *command);

/* Removes what run_place_make() made: nothing was started. */
void run_place_remove(const struct run_place *place);

/* Whether something was recorded into the run that `latest` named before this one. */
bool run_before_is_good(const struct run_place *place);

#endif
