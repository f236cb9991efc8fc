/* The verdict and the findings as a text for TensorBoard, in Markdown. */
#ifndef EXPORT_TENSORBOARD_VERDICT_H
#define EXPORT_TENSORBOARD_VERDICT_H

#include "base/buf.h"
#include "model/snapshot.h"

/* Writes `text`; and in `gist` the words that say what was found, without the numbers: as long as they
 * are the same, there is nothing new to tell. False if memory is short. */
bool board_verdict(const struct model *model, const struct ss_run *run, struct buf *text,
                   struct buf *gist);

#endif
