#include "summary/snapshot_run.h"

int snapshot_run_of_rank(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                         int rank, void (*seen)(void *context, const struct model_step *step),
                         void *context, struct snapshot **snapshot)
{
    int failed = feed_init(feed, run, facts);

    *snapshot = NULL;
    if (!failed) {
        model_observe(feed->model, seen, context);
        failed = feed_more(feed);
    }
    if (failed)
        return failed;
    feed_finish(feed);
    *snapshot = model_snapshot_of_rank(feed->model, rank);
    return *snapshot ? 0 : SS_E_NOMEM;
}

int snapshot_run_observed(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                          void (*seen)(void *context, const struct model_step *step), void *context,
                          struct snapshot **snapshot)
{
    return snapshot_run_of_rank(feed, run, facts, -1, seen, context, snapshot);
}

int snapshot_run(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                 struct snapshot **snapshot)
{
    return snapshot_run_observed(feed, run, facts, NULL, NULL, snapshot);
}
