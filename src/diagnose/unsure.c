/* What nobody can tell yet. A share decides by its interval (rule book 1.7): bound if the lower end is above what warns,
 * not bound if the upper end is below it, else more steps are needed. */
#include <math.h>

#include "diagnose/causes.h"

/* Those that are a wait or a loss as they are. But for COMM that is so only while nothing is computed meanwhile. */
static const struct {
    unsigned stage;
    const struct bands *bands;
} losses[] = {{SS_STAGE_DATA, &stage_bands},       {SS_STAGE_TRANSFER, &stage_bands},
              {SS_STAGE_SYNC, &stage_bands},       {SS_STAGE_COMM, &stage_bands},
              {SS_STAGE_SETUP, &stage_bands},      {SS_STAGE_GC, &stage_bands},
              {SS_STAGE_CALLBACK, &callback_bands}};

/* How much of it is a loss no number of steps would tell: a device computes meanwhile, or waits overlap. */
static bool is_bound(const struct snap_loop *loop, unsigned stage)
{
    return loop->stage[stage].at_most ||
           (loop->is_asynchronous && stage != SS_STAGE_COMM);
}

/* Steps until the nearer end of the interval passes what warns, as intervals shrink with the root of the steps; 0:
 * too many to say. */
static int64_t steps_missing(const struct snap_loop *loop, struct interval share,
                             double warn)
{
    const double half = (share.high - share.low) / 2, apart = fabs(share.mid - warn);

    if (!(apart > half * unsure_nearest))
        return 0;
    return (int64_t)ceil((double)loop->steady_steps *
                         fmax((half / apart) * (half / apart) - 1, unsure_more_least));
}

void cause_find_unsure(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    struct unsure *out = &patient->out->unsure;

    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        const struct snap_stage *found = &loop->stage[losses[i].stage];
        const double warn = losses[i].bands->warn;
        if (!found->measured || is_bound(loop, losses[i].stage) ||
            !isfinite(found->share.high) || found->share.low >= warn ||
            found->share.high < unsure_from || found->share.high <= out->share.high)
            continue;
        *out = (struct unsure){.stage = losses[i].stage,
                               .share = found->share,
                               .more_steps = steps_missing(loop, found->share, warn)};
    }
}
