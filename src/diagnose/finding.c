#include "diagnose/finding.h"

#include <math.h>
#include <string.h>

#include "diagnose/thresholds.h"

/* What follows a wait is slower for it: cores were asleep, caches are cold, clocks low; a garbage
 * collection leaves caches cold, too. Without the wait that goes as well: up to 0.3 of the wait
 * itself, and up to 0.4 of the rest (ours; in two runs of the fault matrix, with sleeps of 2 to 12
 * ms beside 3 to 8 ms of computing, 193 of 197 gains are below that, and 141 are not above the
 * share alone). */
static const double after_wait_more = 0.3, after_wait_rest = 0.4;

static const struct finding_kind *const kinds[FINDING_COUNT] = {
#define KIND(upper, lower) [FINDING_##upper] = &finding_##lower,
    FINDING_LIST(KIND)
#undef KIND
};

const struct finding_kind *finding_kind_of(enum finding_id id)
{
    return kinds[id];
}

const char *finding_name(enum finding_id id)
{
    return kinds[id]->name;
}

enum finding_id finding_by_name(const char *name, size_t length)
{
    for (int i = 0; i < FINDING_COUNT; i++)
        if (strlen(kinds[i]->name) == length && memcmp(kinds[i]->name, name, length) == 0)
            return (enum finding_id)i;
    return FINDING_NONE;
}

const char *finding_advice(enum finding_id id, enum framework framework)
{
    const struct finding_kind *kind = kinds[id];

    if (kind->advice)
        return kind->advice;
    return kind->advice_for[framework] ? kind->advice_for[framework]
                                       : kind->advice_for[framework_below(framework)];
}

struct interval finding_saving(const struct finding *finding)
{
    const struct interval share = finding->share;

    if (finding_kind_of(finding->id)->is_no_loss || !isfinite(share.mid))
        return (struct interval){NAN, NAN, NAN};
    if (finding->kind == SHARE_BOUND)
        return (struct interval){0, NAN, share.high};
    return share;
}

struct interval finding_predicted(const struct finding *finding)
{
    const struct interval all = finding_saving(finding), part = finding->predicted;

    if (finding->kind == SHARE_BOUND || !isfinite(part.mid))
        return (struct interval){NAN, NAN, NAN};
    return (struct interval){fmin(part.low, all.low), fmin(part.mid, all.mid),
                             fmin(part.high, all.high)};
}

double finding_gain_most(const struct finding *finding)
{
    const double high = finding_saving(finding).high;

    if (!finding->leaves_cold || finding->kind == SHARE_BOUND)
        return high;
    return high + fmin(after_wait_more * high, after_wait_rest * (1 - high));
}

const char *finding_of_text(enum finding_of of)
{
    static const char *const texts[] = {"the step", "the loop", "the run"};

    return texts[of];
}

const char *finding_severity_text(enum finding_severity severity)
{
    static const char *const texts[] = {"info", "warn", "high"};

    return texts[severity];
}

const char *share_kind_text(enum share_kind kind)
{
    static const char *const texts[] = {"interval", "estimate", "bound"};

    return texts[kind];
}
