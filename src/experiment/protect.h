/* Keeps the trainings of an experiment, which are thrown away, from changing files
 * (docs/experiments.md).
 *
 * The working directory becomes an overlay whose upper layer is in memory: the training sees what
 * it writes, the files beneath stay as they are. Landlock forbids writes everywhere else but in the
 * directory of the experiment, in /dev and in a TMPDIR of its own: a copy of /var/tmp, as short.
 * What it does not forbid, to change owners, modes and times, read-only mounts do. Where there can
 * be no overlay Landlock alone makes the first write of the script fail, and a filter of system
 * calls such a change. Network and devices are not protected.
 */
#ifndef EXPERIMENT_PROTECT_H
#define EXPERIMENT_PROTECT_H

#include "base/buf.h"

enum protection {
    PROTECT_COPY,   /* overlay and Landlock */
    PROTECT_REFUSE, /* Landlock alone: writes fail */
    PROTECT_NONE
};

struct protect {
    enum protection level;
    struct buf cwd, dir; /* absolute: the working directory, and that of the experiment */
    struct buf mounted; /* a mount below the working directory, which a copy would lack; "": none */
    int overlay_error;  /* why there is no overlay, an errno; 0: there is one */
};

/* Tries what this machine allows, in a child that ends at once. `dir` is there. 0, or an errno if
 * not even that could be tried. Release it in either case. */
int protect_init(struct protect *protect, const char *dir);
void protect_release(struct protect *protect);

/* In a child, before exec: from now on this process and all that it starts is protected as `level`
 * says. Returns 0 or an errno. */
int protect_enter(const struct protect *protect);

/* "no file of yours was changed", and what is not sure. */
const char *protect_text(enum protection level);
const char *protect_word(enum protection level); /* for JSON */

#endif
