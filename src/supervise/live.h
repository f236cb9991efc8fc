/* The model of the run that is being recorded, fed while the command runs, so that nothing needs to
 * be read again at its end. Costs at most about 0.2 % of a core beside the records themselves. */
#ifndef SUPERVISE_LIVE_H
#define SUPERVISE_LIVE_H

#include "export/tensorboard.h"
#include "load/feed.h"
#include "load/run_facts.h"

struct live {
    const char *dir;
    const struct run_facts *facts;
    struct ss_run *run;              /* NULL: no process has recorded yet */
    struct feed feed;                /* its model is NULL until then, or without memory */
    int error;                       /* SS_E: what came after it is missing */
    int64_t young_pause_ns;          /* grows: a short run is to be seen while it goes on */
    struct tensorboard *tensorboard; /* sees what is fed; NULL: none */

    /* Gets each step, if it is set before anything is fed. */
    void (*seen)(void *context, const struct model_step *step);
    void *seen_context;
};

/* All must outlive it; `facts` may change; `tensorboard` may be NULL. */
void live_init(struct live *live, const char *dir, const struct run_facts *facts,
               struct tensorboard *tensorboard);
void live_release(struct live *live);

/* Looks what is new. Returns after how long it should be called again. */
int64_t live_refresh(struct live *live);

/* Feeds a portion of it, some milliseconds' worth; true if there is more. */
bool live_feed(struct live *live);

/* The command has ended: from the next refresh on, processes that are gone count as ended. */
void live_end(struct live *live);

/* And no process has recorded: a run without records. */
void live_open_empty(struct live *live);

/* Is a process of the run still recording? */
bool live_goes_on(const struct live *live);

#endif
