#include "load/feed.h"

int feed_init(struct feed *feed, struct ss_run *run, const struct run_facts *facts)
{
    *feed = (struct feed){.run = run, .facts = facts};
    feed->cursor = ss_cursor_new(run, SS_ALL_LANES);
    feed->model = model_new();
    return feed->cursor && feed->model ? 0 : SS_E_NOMEM;
}

void feed_release(struct feed *feed)
{
    hook_list_release(&feed->hooks);
    model_free(feed->model);
    ss_cursor_free(feed->cursor);
    *feed = (struct feed){0};
}

void feed_processes(struct feed *feed)
{
    for (size_t i = 0; i < ss_run_processes(feed->run); i++) {
        const struct ss_process process = run_facts_process(feed->facts, feed->run, i);
        model_process(feed->model, (uint32_t)i, &process);
    }
}

int feed_some(struct feed *feed, uint64_t most, bool *all)
{
    struct ss_record record;

    for (*all = false; most > 0; most--) {
        if (!ss_cursor_next(feed->cursor, &record)) {
            *all = true;
            break;
        }
        const struct ss_lane *lane = ss_run_lane(feed->run, record.lane);
        hook_list_take(&feed->hooks, FEED_MOST_HOOKS, feed->run, lane->process, &record);
        if (feed->watch)
            feed->watch(feed->watch_context, lane->process, &record);
        model_feed(feed->model, lane->process, &record);
    }
    return model_error(feed->model);
}

int feed_more(struct feed *feed)
{
    bool all;

    feed_processes(feed);
    return feed_some(feed, UINT64_MAX, &all);
}

void feed_finish(struct feed *feed)
{
    feed_processes(feed);
    if (!ss_run_is_live(feed->run))
        model_finish(feed->model);
}
