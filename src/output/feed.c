#include "output/feed.h"

#include <string.h>

int feed_init(struct feed *feed, struct ss_run *run, const struct run_facts *facts)
{
    *feed = (struct feed){.run = run, .facts = facts};
    feed->cursor = ss_cursor_new(run, SS_ALL_LANES);
    feed->model = model_new();
    return feed->cursor && feed->model ? 0 : SS_E_NOMEM;
}

void feed_release(struct feed *feed)
{
    for (size_t i = 0; i < feed->hooks.count; i++) {
        buf_release(&feed->hooks.hook[i].target);
        buf_release(&feed->hooks.hook[i].reason);
    }
    model_free(feed->model);
    ss_cursor_free(feed->cursor);
    *feed = (struct feed){0};
}

static bool same(const struct buf *bytes, struct ss_text text)
{
    return bytes->size == text.size &&
           (text.size == 0 || memcmp(bytes->data, text.data, text.size) == 0);
}

static void note_hook(struct feed_hooks *hooks, const struct ss_record *record)
{
    const bool skipped = record->flags & SS_FLAG_FAILED;
    const struct ss_text target = record->u.text.a;
    const struct ss_text reason = skipped ? record->u.text.b : (struct ss_text){"", 0};

    hooks->installed += !skipped;
    hooks->skipped += skipped;
    for (size_t i = 0; i < hooks->count; i++)
        if (same(&hooks->hook[i].target, target) && same(&hooks->hook[i].reason, reason))
            return;
    if (hooks->count == FEED_MOST_HOOKS)
        return;
    struct feed_hook *hook = &hooks->hook[hooks->count++];
    buf_add(&hook->target, target.data, target.size);
    buf_add(&hook->reason, reason.data, reason.size);
    hook->skipped = skipped;
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
        if (record.kind == SS_KIND_HOOK)
            note_hook(&feed->hooks, &record);
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

int feed_snapshot(struct feed *feed, struct ss_run *run, const struct run_facts *facts,
                  struct snapshot **snapshot)
{
    int failed = feed_init(feed, run, facts);

    *snapshot = NULL;
    if (!failed)
        failed = feed_more(feed);
    if (failed)
        return failed;
    feed_finish(feed);
    *snapshot = model_snapshot(feed->model);
    return *snapshot ? 0 : SS_E_NOMEM;
}
