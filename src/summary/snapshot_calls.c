
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "summary/snapshot_parts.h"

/* Calls that take much longer than others of the same callback, every N steps. */
static void fill_period(const struct loop *loop, const struct callback_calls *calls,
                        struct snap_callback *out)
{
    const struct spikes *spikes = &calls->spikes;
    int64_t step[SPIKES_KEPT];
    const size_t count = spikes_list(spikes, step);
    size_t skip = 0;
    while (skip < count && step[skip] < spikes->complete_from)
        skip++;
    if (period_find(step + skip, count - skip, spikes->complete_from, loop->steps, NULL, 0,
                    &out->period, 1) > 0) {
        /* Those at other places are many, but short: their excess is hardly any. */
        const double kept = (double)count / (double)spikes->count;
        out->peak_ns = spikes->typical_ns + kept * spikes->excess_ns / (double)out->period.hits;
    }
}

/* Calls of one callback may claim to overlap. */
static struct interval at_most_all(struct interval share)
{
    if (share.mid <= 1)
        return share;
    return (struct interval){fmin(1, share.low), 1, isfinite(share.high) ? 1 : share.high};
}

static struct snap_callback *callback_of(const struct loop *loop, int64_t start,
                                         const struct callback_calls *calls)
{
    struct snap_callback *out = calloc(1, sizeof *out);
    int64_t all_ns[SERIES_CHUNKS];
    if (!out)
        return NULL;
    for (int i = 0; i < SERIES_CHUNKS; i++) {
        all_ns[i] = calls->own_ns[i];
        saturate_add(&all_ns[i], calls->wait_ns[i]);
    }
    out->own = at_most_all(snapshot_chunk_share(loop, start, calls->own_ns));
    out->with_waits = at_most_all(snapshot_chunk_share(loop, start, all_ns));
    out->count = calls->times.count;
    out->mean_ns = sketch_mean(&calls->times);
    snapshot_quantiles(&calls->times, &out->quantiles);
    memcpy(out->at, calls->at, sizeof out->at);
    memcpy(out->part_ns, calls->part_ns, sizeof out->part_ns);
    memcpy(out->looks, calls->looks, sizeof out->looks);
    fill_period(loop, calls, out);
    return out;
}

bool snapshot_fill_calls(const struct loop *loop, int64_t start, uint32_t name,
                         struct snap_span *out)
{
    const struct name_calls *calls = loop ? calls_find(&loop->calls, name) : NULL;
    if (!calls)
        return true;
    memcpy(out->at, calls->at, sizeof out->at);
    if (calls->at[CALLED_IN_STEP].count > 0)
        out->share = snapshot_chunk_share(loop, start, calls->chunk_ns);
    if (calls->callback) {
        out->callback = callback_of(loop, start, calls->callback);
        return out->callback != NULL;
    }
    return true;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void snapshot_span_name(struct buf *out, const struct snap_span *span)
{
    const char *scope = ss_scope_text(span->scope);

    if (span->text[0] == '\0' && span->object[0] == '\0')
        buf_add_text(out, "(unnamed)");
    else if (span->object[0] == '\0')
        buf_add_text(out, span->text);
    else if (starts_with(span->object, span->text))
        buf_add_text(out, span->object);
    else
        buf_printf(out, "%s.%s", span->object, span->text);
    if (span->scope != SS_SCOPE_NONE && !strstr(span->text, scope))
        buf_printf(out, ", %s", scope);
}
