#include "supervise/live.h"

#include "read/run.h"
#include "supervise/now.h"

enum {
    PORTION = 20000, /* records */
    PAUSES = 2000    /* of the time that a refresh takes: 0.05 % of a core */
};
static const int64_t first_pause_ns = 250000000;
static const int64_t shortest_pause_ns = 2000000000;
static const int64_t longest_pause_ns = 30000000000;

void live_init(struct live *live, const char *dir, const struct run_facts *facts,
               struct tensorboard *tensorboard)
{
    *live = (struct live){.dir = dir, .facts = facts, .tensorboard = tensorboard};
}

void live_release(struct live *live)
{
    feed_release(&live->feed);
    ss_run_close(live->run);
    *live = (struct live){0};
}

/* A run without a process is none, so this fails until there is one. */
static void open_run(struct live *live)
{
    live->run = ss_run_open(live->dir, NULL);
    if (!live->run)
        return;
    run_follow(live->run, live->facts->ended_ns == 0);
    live->error = ss_run_refresh(live->run);
    if (live->error == 0)
        live->error = feed_init(&live->feed, live->run, live->facts);
    if (live->error == 0)
        model_observe(live->feed.model, live->seen, live->seen_context);
    if (live->error == 0 && live->tensorboard)
        tensorboard_attach(live->tensorboard, &live->feed);
}

void live_open_empty(struct live *live)
{
    live->run = run_open_empty(live->dir, NULL);
    if (live->run)
        live->error = feed_init(&live->feed, live->run, live->facts);
}

/* Twice as long each time, from when something is recorded: frameworks take seconds to be
 * imported. */
static int64_t next_least(struct live *live)
{
    if (!live->run || !live->young_pause_ns)
        live->young_pause_ns = first_pause_ns;
    else if (live->young_pause_ns < shortest_pause_ns)
        live->young_pause_ns *= 2;
    return live->young_pause_ns;
}

int64_t live_refresh(struct live *live)
{
    const int64_t start_ns = now_cpu_ns();

    if (live->error)
        return longest_pause_ns;
    if (live->run)
        live->error = ss_run_refresh(live->run);
    else
        open_run(live);
    if (live->run && live->error == 0)
        feed_processes(&live->feed);
    int64_t pause_ns = PAUSES * (now_cpu_ns() - start_ns);
    if (pause_ns > longest_pause_ns)
        pause_ns = longest_pause_ns;
    const int64_t least_ns = next_least(live);
    return pause_ns > least_ns ? pause_ns : least_ns;
}

bool live_feed(struct live *live)
{
    bool all = true;

    if (live->run && live->error == 0)
        live->error = feed_some(&live->feed, PORTION, &all);
    return !all && live->error == 0;
}

void live_end(struct live *live)
{
    if (live->run)
        run_follow(live->run, false);
}

bool live_goes_on(const struct live *live)
{
    return live->run && ss_run_is_live(live->run);
}
