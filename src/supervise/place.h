/* Where a run goes: its directory with the manifest, and `latest` beside it.
 *
 *     stepscope-runs/                       --dir, STEPSCOPE_DIR
 *         latest -> 20261115-183512-train.py
 *         20261115-183512-train.py/         --name
 *
 * If that is on a network file system, the processes record into a local directory that is brought
 * home when the command has ended (carry.h). */
#ifndef SUPERVISE_PLACE_H
#define SUPERVISE_PLACE_H

#include <stdbool.h>

#include "stepscope/error.h"

struct place_wish {
    const char *parent; /* NULL: STEPSCOPE_DIR or stepscope-runs */
    const char *name;   /* NULL: that of the command */
    char *const *command;
};

struct place {
    char *shown; /* the run directory as one would type it */
    char *home;  /* the same, absolute */
    char *local; /* NULL: the processes record at home */
    bool parent_is_new;
};

/* Makes the directory and proves that something can be written into it. On failure nothing is left
 * behind and `error` says why, and where. Release it in either case. */
int place_make(struct place *place, const struct place_wish *wish,
               struct ss_error *error);
void place_release(struct place *place);

/* Absolute: what STEPSCOPE_RUN is. */
const char *place_dir(const struct place *place);

/* Makes `latest` point here. A file system that cannot is none the worse. */
void place_publish(const struct place *place);

/* Removes what place_make() made: nothing was started. */
void place_remove(const struct place *place);

#endif
