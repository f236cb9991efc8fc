/* A run as it is, fed into a model and summed up: what a report is made of.
 *
 * Returns 0 or SS_E_NOMEM; release the feed and free the snapshot in either case. */
#ifndef SUMMARY_SNAPSHOT_RUN_H
#define SUMMARY_SNAPSHOT_RUN_H

#include "load/feed.h"
#include "summary/snapshot.h"

int snapshot_run(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                 struct snapshot **snapshot);

/* The same; `seen` gets each step (model_observe()). */
int snapshot_run_observed(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                          void (*seen)(void *context, const struct model_step *step), void *context,
                          struct snapshot **snapshot);

/* The same; the loop of a rank is the primary one, if it has one; -1: as usual. */
int snapshot_run_of_rank(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                         int rank, void (*seen)(void *context, const struct model_step *step),
                         void *context, struct snapshot **snapshot);

#endif
