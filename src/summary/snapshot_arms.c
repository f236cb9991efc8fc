#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/arms.h"
#include "model/loop_data.h"
#include "model/thread.h"
#include "summary/snapshot_parts.h"

static const double matters = 0.02; /* as in a comparison of runs */

static enum compare_word judge(struct interval gain)
{
    const struct interval change = {-gain.high, -gain.mid, -gain.low};
    const bool may_be_chance = change.low <= 0 && change.high >= 0;

    return isfinite(gain.high) ? compare_judge(change, may_be_chance, matters)
                               : COMPARE_INCONCLUSIVE;
}

/* By the quiet clock where it holds for both: then other programs count for neither. */
static bool fill_row(const struct arms *arms, size_t i, struct snap_arm *row)
{
    row->is_quiet = arms_is_quiet(arms, 0) && arms_is_quiet(arms, i);
    const struct rounds *const rounds = &arms->rounds[row->is_quiet ? ARMS_QUIET : ARMS_WALL];
    const double rate = rounds_of(rounds, i) ? rounds_rate(rounds, i).mid : 0;

    row->label = strdup(arms->sum[i].label);
    row->steps = arms->sum[i].steps;
    row->step_ns = rate > 0 ? 1 / rate : 0;
    row->gain = row->typical = row->wall = (struct interval){0, 0, INFINITY};
    if (i > 0 && rate > 0) {
        row->gain = rounds_gain(rounds_ratio(rounds, i, 0));
        row->typical = rounds_gain(rounds_typical(rounds, i, 0));
        row->wall = rounds_gain(rounds_ratio(&arms->rounds[ARMS_WALL], i, 0));
        row->word = compare_headline(judge(row->gain), judge(row->typical));
    }
    return row->label != NULL;
}

static double others_share(const struct arms *arms)
{
    double wall_ns = 0, quiet_ns = 0;

    for (size_t i = 0; i < arms->count; i++) {
        wall_ns += arms->sum[i].wall_ns;
        quiet_ns += arms->sum[i].quiet_ns;
    }
    return wall_ns > 0 ? 1 - quiet_ns / wall_ns : 0;
}

bool snapshot_fill_arms(const struct arms *arms, struct snap_arms *out)
{
    if (!arms || arms->count == 0)
        return true;
    out->rows = calloc(arms->count, sizeof *out->rows);
    if (!out->rows)
        return false;
    out->count = arms->count;
    out->others_share = others_share(arms);
    out->rounds = rounds_of(&arms->rounds[ARMS_WALL], 0);
    for (size_t i = 0; i < arms->count; i++)
        if (!fill_row(arms, i, &out->rows[i]))
            return false;
    return true;
}

bool snapshot_arms(const struct model *model, struct snap_arms *out)
{
    const struct thread *best = NULL, *thread;
    struct thread_walk walk = {0};

    *out = (struct snap_arms){0};
    while ((thread = model_next_thread(model, &walk)))
        if (thread->arms && (!best || thread->arms->sum[0].steps > best->arms->sum[0].steps))
            best = thread;
    return snapshot_fill_arms(best ? best->arms : NULL, out);
}

void snapshot_release_arms(struct snap_arms *arms)
{
    for (size_t i = 0; i < arms->count; i++)
        free(arms->rows[i].label);
    free(arms->rows);
    *arms = (struct snap_arms){0};
}
