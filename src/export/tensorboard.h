/* A run as TensorBoard shows it: curves of windows of 5 seconds, written while the run is fed into
 * a model, live or afterwards. Windows end by the clock of the records, so that both give the same.
 *
 *   DIR/RUN/            the machine, the verdict, and the first loop that is no rank
 *   DIR/RUN/rank-3/     a loop of a process that is one of several ranks
 *   DIR/RUN/loop-2/     a further loop; rank-3-loop-2 of a rank
 *
 * docs/tensorboard.md has the tags. Nothing happens in the training processes: the reader of the
 * run does it all. */
#ifndef EXPORT_TENSORBOARD_H
#define EXPORT_TENSORBOARD_H

#include <sys/types.h>

#include "load/feed.h"

struct tensorboard;

struct tensorboard_wish {
    const char *dir;  /* as the user gave it */
    const char *name; /* of the run */
    mode_t run_mode;  /* of its directory: no one may read more of it here than there; 0: as umask
                         says */
    bool is_hidden;   /* nothing is seen before tensorboard_publish() */
    bool force;       /* which may then replace files of the same run */
};

/* Makes the directory and proves that something can be written into it. NULL with a sentence in
 * `error` if not. */
struct tensorboard *tensorboard_new(const struct tensorboard_wish *wish, struct ss_error *error);
void tensorboard_free(struct tensorboard *board);

/* Watches what is fed from now on; the feed must outlive the next three. */
void tensorboard_attach(struct tensorboard *board, struct feed *feed);

/* No more will be fed: writes what is left, and the verdict. */
void tensorboard_finish(struct tensorboard *board);

/* Shows hidden files, in the place of those of the same run that were there. 0, or an SS_E code
 * with a sentence. */
int tensorboard_publish(struct tensorboard *board, struct ss_error *error);

/* Removes files that are still hidden, and directories in which nothing is. */
void tensorboard_tidy(struct tensorboard *board);

/* A sentence without its full stop on what went wrong; false: nothing did. */
bool tensorboard_problem(struct tensorboard *board, struct buf *out);

#endif
