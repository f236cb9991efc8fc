/* Feeds a run into a model, as far as it is there. For a run that is still being written, call
 * ss_run_refresh() and feed_more() again, as often as one likes. */
#ifndef OUTPUT_FEED_H
#define OUTPUT_FEED_H

#include "model/snapshot.h"
#include "output/hook_list.h"
#include "output/run_facts.h"

enum { FEED_MOST_HOOKS = 20 };

struct feed {
    struct ss_run *run;
    const struct run_facts *facts;
    struct ss_cursor *cursor;
    struct model *model;
    struct hook_list hooks; /* FEED_MOST_HOOKS of them */

    /* Shown each record before the model gets it; NULL: nobody looks. */
    void (*watch)(void *context, uint32_t process, const struct ss_record *record);
    void *watch_context;
};

/* 0 or SS_E_NOMEM; `run` and `facts` must outlive the feed. Release it in either case. */
int feed_init(struct feed *feed, struct ss_run *run, const struct run_facts *facts);
void feed_release(struct feed *feed);

/* All that there is. 0 or SS_E_NOMEM. */
int feed_more(struct feed *feed);

/* The same in portions, for whoever has other things to do meanwhile: once after each refresh of the
 * run, feed_processes(); then feed_some() with `most` records, until it says that this is all. */
void feed_processes(struct feed *feed);
int feed_some(struct feed *feed, uint64_t most, bool *all);

/* Nothing more will come, unless the run is live. */
void feed_finish(struct feed *feed);

/* All of the above for a run as it is: what a report is made of. 0 or SS_E_NOMEM; release the feed and
 * free the snapshot in either case. `seen` gets each step (model_observe()); NULL: nobody looks. */
int feed_observed(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                  void (*seen)(void *context, const struct model_step *step),
                  void *context, struct snapshot **snapshot);
int feed_snapshot(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                  struct snapshot **snapshot);

#endif
