#include "diagnose/attribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/attribution_counters.h"
#include "diagnose/thresholds.h"
#include "read/counter_table.h"
#include "stats/association.h"

_Static_assert((int)SNAP_WINDOWS <= (int)ASSOCIATION_MOST, "");
_Static_assert((int)ATTRIBUTION_COUNTERS <= (int)ATTRIBUTION_MOST, "");

/* Windows of which a counter is known, each as long as it needs to be told from the next. */
struct joined {
    double step_ns[SNAP_WINDOWS], steps[SNAP_WINDOWS], rate[SNAP_WINDOWS],
        stall_ns[SNAP_WINDOWS];
    size_t count;
};

/* `from` to `end` as one; false: not all of it is known. */
static bool join_some(const struct snap_windows *windows, const double *rate, size_t from,
                      size_t end, struct joined *out)
{
    double steps = 0, time = 0, part = 0;

    for (size_t i = from; i < end; i++) {
        const double own = windows->step_ns[i] * windows->steps[i];
        steps += windows->steps[i];
        time += own;
        part += own * rate[i];
    }
    if (!isfinite(part) || !(time > 0))
        return false;
    out->steps[out->count] = steps;
    out->step_ns[out->count] = time / steps;
    out->rate[out->count] = part / time;
    out->stall_ns[out->count++] = part / steps;
    return true;
}

static void join(const struct snap_windows *windows,
                 const struct attribution_series *series, struct joined *out)
{
    const int64_t all_ns = windows->begin_ns[windows->count] - windows->begin_ns[0],
                  each_ns = all_ns / (int64_t)windows->count;
    const size_t each =
        each_ns > 0 ? (size_t)((series->apart_ns + each_ns / 2) / each_ns) : 1;

    out->count = 0;
    for (size_t i = 0, end; i < windows->count; i = end) {
        end = i + (each ? each : 1);
        if (end <= windows->count)
            (void)join_some(windows, series->rate, i, end, out);
        else
            end = windows->count;
    }
}

static bool test(const struct snap_windows *windows,
                 const struct attribution_counter *counter,
                 const struct attribution_series *series, struct attributed *out)
{
    struct joined joined;

    join(windows, series, &joined);
    if (joined.count < ASSOCIATION_LEAST)
        return false;
    const struct association_level level =
        association_explained(&(struct association_windows){
            joined.step_ns, joined.stall_ns, joined.steps, joined.count});
    *out = (struct attributed){
        .cause = counter->cause,
        .counter = counter_table[counter->counter].text,
        .words = counter->words,
        .is_time = counter->is_time,
        .is_late = association_is_late(joined.step_ns, joined.rate, joined.count),
        .explained = counter->is_time ? level.explained : NAN,
        .rho = association_rho(joined.step_ns, joined.rate, joined.count),
        .p = association_p(joined.step_ns, joined.rate, joined.count)};
    return true;
}

/* What comes later than slow steps, or is less where they are, is not consistent with them either. */
static enum attribution_verdict judge(const struct attributed *item)
{
    const bool is_enough = item->explained >= attribution_least,
               goes_with = item->p < attribution_p;

    if (item->is_late || !(item->rho > 0))
        return ATTRIBUTION_UNLISTED;
    return is_enough && goes_with   ? ATTRIBUTION_SUPPORTED
           : is_enough || goes_with ? ATTRIBUTION_CONSISTENT
                                    : ATTRIBUTION_UNLISTED;
}

static double known_p(const struct attributed *item)
{
    return isnan(item->p) ? 1 : item->p;
}

/* Time before counts, then what explains more, then what goes with it more closely. */
static int compare(const void *a, const void *b)
{
    const struct attributed *x = a, *y = b;
    const double more = (isfinite(y->explained) ? y->explained : 0) -
                        (isfinite(x->explained) ? x->explained : 0);

    if (x->verdict != y->verdict)
        return (x->verdict < y->verdict) - (x->verdict > y->verdict);
    if (x->is_time != y->is_time)
        return (int)y->is_time - (int)x->is_time;
    return more != 0 ? (more > 0) - (more < 0)
                     : (known_p(x) > known_p(y)) - (known_p(x) < known_p(y));
}

/* What waited for a core is the loop's own thread, if that did. */
static void forget_twin(struct attribution *out)
{
    if (!attribution_of(out, "preempted"))
        return;
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->item[i].counter, counter_table[SS_COUNTER_ID_PSI_CPU].text) == 0)
            out->item[i].verdict = ATTRIBUTION_UNLISTED;
}

static void test_all(struct attribution *out, const struct snapshot *snapshot,
                     const struct ss_run *run)
{
    double p[ATTRIBUTION_MOST];

    for (size_t i = 0; i < ATTRIBUTION_COUNTERS; i++) {
        const struct attribution_counter *counter = &attribution_counters[i];
        struct attribution_series series;
        if (counter->fill(snapshot, run, counter->counter, &series) &&
            test(&snapshot->loops->windows, counter, &series, &out->item[out->count]))
            out->count++;
    }
    for (size_t i = 0; i < out->count; i++)
        p[i] = out->item[i].p;
    association_holm(p, out->count);
    for (size_t i = 0; i < out->count; i++) {
        out->item[i].p = p[i];
        out->item[i].verdict = judge(&out->item[i]);
    }
    forget_twin(out);
    qsort(out->item, out->count, sizeof out->item[0], compare);
}

void attribution_find(struct attribution *out, const struct snapshot *snapshot,
                      const struct ss_run *run)
{
    *out = (struct attribution){.excess = NAN};
    const struct snap_windows *windows =
        snapshot->loop_count ? &snapshot->loops->windows : NULL;
    out->windows = windows ? windows->count : 0;
    if (!snapshot_is_watched(snapshot))
        out->refused = "the machine was not watched";
    else if (out->windows < ASSOCIATION_LEAST)
        out->refused = "fewer than 20 windows of steady steps";
    if (out->refused)
        return;
    const double none[SNAP_WINDOWS] = {0};
    out->excess =
        association_explained(&(struct association_windows){
                                  windows->step_ns, none, windows->steps, windows->count})
            .excess;
    if (out->excess < step_matters) {
        out->refused = "steps take hardly more than in their fastest quarter";
        return;
    }
    test_all(out, snapshot, run);
    if (out->count == 0)
        out->refused = "no counter has 20 windows of its own";
}

const char *attribution_text(char out[ATTRIBUTION_TEXT_SIZE],
                             const struct attributed *item, bool with_words)
{
    const double p = known_p(item);
    char chance[16], part[64] = "";

    snprintf(chance, sizeof chance, p < 0.001 ? "p < 0.001" : "p = %.3f", p);
    if (item->explained >= attribution_least)
        snprintf(part, sizeof part, "%.0f %% of what they take more than fast ones, ",
                 100 * fmin(1, item->explained));
    snprintf(out, ATTRIBUTION_TEXT_SIZE, "%s %s (%s%s)",
             item->verdict == ATTRIBUTION_SUPPORTED ? "go with" : "may go with",
             with_words ? item->words : "it", part, chance);
    return out;
}

const struct attributed *attribution_of(const struct attribution *attribution,
                                        const char *cause)
{
    for (size_t i = 0; i < attribution->count; i++) {
        const struct attributed *item = &attribution->item[i];
        if (item->verdict > ATTRIBUTION_UNLISTED && item->cause &&
            strcmp(item->cause, cause) == 0)
            return item;
    }
    return NULL;
}

const struct attributed *attribution_best(const struct attribution *attribution)
{
    return attribution->count > 0 && attribution->item[0].verdict == ATTRIBUTION_SUPPORTED
               ? attribution->item
               : NULL;
}

const char *attribution_verdict_text(enum attribution_verdict verdict)
{
    static const char *const texts[] = {"unlisted", "consistent", "supported"};

    return texts[verdict];
}
