/* Feeds a run into a model, as far as it is there. For a run that is still being written, call
 * ss_run_refresh() and feed_more() again, as often as one likes. */
#ifndef LOAD_FEED_H
#define LOAD_FEED_H

#include "load/hook_list.h"
#include "load/run_facts.h"
#include "model/model.h"

enum { FEED_MOST_HOOKS = 20 };

struct feed {
    struct ss_run *run;
    const struct run_facts *facts;
    struct ss_cursor *cursor;
    struct model *model;
    struct hook_list hooks; /* FEED_MOST_HOOKS of them */

    /* Shown each record before the model gets it; NULL: no one. */
    void (*watch)(void *context, uint32_t process, const struct ss_record *record);
    void *watch_context;
};

/* 0 or SS_E_NOMEM; `run` and `facts` must outlive the feed. Release it in either case. */
int feed_init(struct feed *feed, struct ss_run *run, const struct run_facts *facts);
void feed_release(struct feed *feed);

/* All that there is. 0 or SS_E_NOMEM. */
int feed_more(struct feed *feed);

/* The same in portions, for a caller that has other things to do: once after each refresh of
 * the run, feed_processes(); then feed_some() with `most` records, until it says that this is
 * all. */
void feed_processes(struct feed *feed);
int feed_some(struct feed *feed, uint64_t most, bool *all);

/* Nothing more will come, unless the run is live. */
void feed_finish(struct feed *feed);

#endif
