#include "diagnose/attribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/hardware.h"
#include "diagnose/thresholds.h"
#include "read/counter_table.h"
#include "read/run.h"
#include "stats/association.h"
#include "stepscope/counters.h"

/* A counter of the machine explains slow steps from 30 % of what they take more on, and goes with
 * them below p = 0.01 (method 8.3). */
static const double attribution_least = 0.3, attribution_p = 0.01;

_Static_assert((int)SNAP_WINDOWS <= (int)ASSOCIATION_MOST, "");

struct attribution_series {
    double rate[SNAP_WINDOWS]; /* part of the time, or events a second; NAN: not known */
    int64_t apart_ns;          /* closer ones cannot be separated */
};

struct attribution_counter {
    enum finding_id cause;
    unsigned counter;
    const char *words;
    bool is_time;
    /* False: it has no values here. */
    bool (*fill)(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                 struct attribution_series *out);
};

static void add_row(struct attribution_series *out, const struct snap_resource *row, double times)
{
    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        out->rate[i] += times * row->window[i];
    out->apart_ns = row->apart_ns > out->apart_ns ? row->apart_ns : out->apart_ns;
}

/* The sum of all rows that a counter has. */
static bool fill_sum(const struct snapshot *snapshot, unsigned counter, double times,
                     struct attribution_series *out)
{
    bool is_seen = false;

    *out = (struct attribution_series){.apart_ns = 0};
    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter != counter || row->state != SS_SYSTEM_VALUE || !isfinite(row->mean))
            continue;
        add_row(out, row, times);
        is_seen = true;
    }
    return is_seen;
}

static bool fill_time(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                      struct attribution_series *out)
{
    (void)run;
    return fill_sum(snapshot, counter, 1e-9, out);
}

static bool fill_events(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                        struct attribution_series *out)
{
    (void)run;
    return fill_sum(snapshot, counter, 1, out);
}

static bool fill_one(const struct snap_resource *row, double times, struct attribution_series *out)
{
    *out = (struct attribution_series){.apart_ns = 0};
    if (row)
        add_row(out, row, times);
    return row;
}

/* That of the loop's own thread. */
static bool fill_wait(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                      struct attribution_series *out)
{
    const uint64_t pid = run_pid(run, snapshot->loops->process);

    return fill_one(snapshot_value(snapshot, counter, pid << 32 | snapshot->loops->tid), 1e-9, out);
}

/* Those of the loop's own process. */
static bool fill_process(const struct snapshot *snapshot, const struct ss_run *run,
                         unsigned counter, struct attribution_series *out)
{
    const uint64_t pid = run_pid(run, snapshot->loops->process);

    return fill_one(snapshot_value(snapshot, counter, pid), 1, out);
}

/* Of one core on average. */
static bool fill_steal(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                       struct attribution_series *out)
{
    size_t cores;
    const struct snap_resource *row = snapshot_allowed_steal(snapshot, &cores);

    (void)run;
    (void)counter;
    return fill_one(row, 1e-9 / (double)cores, out);
}

/* It is summed over cores, of which the loop has one. */
static bool fill_limit(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                       struct attribution_series *out)
{
    const bool is_seen = fill_time(snapshot, run, counter, out);

    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        if (out->rate[i] > 1) /* not fmin(): what is not known stays so */
            out->rate[i] = 1;
    return is_seen;
}

static bool fill_swap(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                      struct attribution_series *out)
{
    const struct snap_resource *more = snapshot_value(snapshot, SS_COUNTER_ID_SWAP_OUT, SNAP_ANY);
    const bool is_seen = fill_events(snapshot, run, counter, out);

    if (is_seen && more)
        add_row(out, more, 1);
    return is_seen;
}

/* In cores. */
static bool fill_others(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                        struct attribution_series *out)
{
    const struct snap_resource *busy = run_cores_of(snapshot).busy,
                               *tree = snapshot_value(snapshot, counter, SNAP_ANY);

    (void)run;
    *out = (struct attribution_series){.apart_ns = 0};
    if (!busy || !tree)
        return false;
    add_row(out, busy, 1e-9);
    add_row(out, tree, -1e-9);
    return true;
}

/* Time that is lost by a lower clock than in the fastest window, while cores are busy: each core's
 * clock counts for as much as it worked. */
static bool fill_clock(const struct snapshot *snapshot, const struct ss_run *run, unsigned counter,
                       struct attribution_series *out)
{
    double worked[SNAP_WINDOWS] = {0}, highest = 0;

    (void)run;
    *out = (struct attribution_series){.apart_ns = 0};
    for (size_t k = 0; k < snapshot->resources.count; k++) {
        const struct snap_resource *row = &snapshot->resources.rows[k],
                                   *busy = row->counter == counter && row->state == SS_SYSTEM_VALUE
                                               ? snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY,
                                                                row->subject)
                                               : NULL;
        for (size_t i = 0; busy && i < SNAP_WINDOWS; i++)
            if (isfinite(row->window[i]) && busy->window[i] > 0) {
                out->rate[i] += row->window[i] * busy->window[i];
                worked[i] += busy->window[i];
            }
        if (busy && row->apart_ns > out->apart_ns)
            out->apart_ns = row->apart_ns;
    }
    for (size_t i = 0; i < SNAP_WINDOWS; i++) {
        out->rate[i] = worked[i] > 0 ? out->rate[i] / worked[i] : NAN;
        highest = fmax(highest, out->rate[i]);
    }
    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        out->rate[i] = 1 - out->rate[i] / highest;
    return highest > 0;
}

static const struct attribution_counter attribution_counters[] = {
    {FINDING_PREEMPTED, SS_COUNTER_ID_THREAD_WAIT, "waiting for a core", true, fill_wait},
    {FINDING_STEAL, SS_COUNTER_ID_CPU_STEAL, "CPU time stolen by the hypervisor", true, fill_steal},
    {FINDING_CGROUP_THROTTLED, SS_COUNTER_ID_CGROUP_THROTTLED, "the container's CPU limit", true,
     fill_limit},
    {FINDING_CLOCK_DROP, SS_COUNTER_ID_CPU_FREQUENCY, "lower CPU clocks", true, fill_clock},
    {FINDING_NONE, SS_COUNTER_ID_PSI_MEMORY, "memory pressure", true, fill_time},
    {FINDING_NONE, SS_COUNTER_ID_PSI_IO, "I/O pressure", true, fill_time},
    {FINDING_NONE, SS_COUNTER_ID_PSI_CPU, "CPU pressure", true, fill_time},
    {FINDING_SWAP, SS_COUNTER_ID_SWAP_IN, "swapping", false, fill_swap},
    {FINDING_PAGE_FAULTS, SS_COUNTER_ID_PROCESS_MAJOR_FAULTS, "memory read from disk", false,
     fill_process},
    {FINDING_FRESH_MEMORY, SS_COUNTER_ID_PROCESS_MINOR_FAULTS, "fresh memory pages", false,
     fill_process},
    {FINDING_CLOCK_DROP, SS_COUNTER_ID_CPU_THROTTLES, "thermal throttling", false, fill_events},
    {FINDING_NONE, SS_COUNTER_ID_TREE_CPU, "other processes on its cores", false, fill_others},
};

enum { ATTRIBUTION_COUNTERS = sizeof attribution_counters / sizeof attribution_counters[0] };
_Static_assert((int)ATTRIBUTION_COUNTERS <= (int)ATTRIBUTION_MOST, "");

/* Windows of which a counter is known, each as long as it needs to be told from the next. */
struct joined {
    double step_ns[SNAP_WINDOWS], steps[SNAP_WINDOWS], rate[SNAP_WINDOWS], stall_ns[SNAP_WINDOWS];
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

static void join(const struct snap_windows *windows, const struct attribution_series *series,
                 struct joined *out)
{
    const int64_t all_ns = windows->begin_ns[windows->count] - windows->begin_ns[0],
                  each_ns = all_ns / (int64_t)windows->count;
    const size_t each = each_ns > 0 ? (size_t)((series->apart_ns + each_ns / 2) / each_ns) : 1;

    out->count = 0;
    for (size_t i = 0, end; i < windows->count; i = end) {
        end = i + (each ? each : 1);
        if (end <= windows->count)
            (void)join_some(windows, series->rate, i, end, out);
        else
            end = windows->count;
    }
}

static bool test(const struct snap_windows *windows, const struct attribution_counter *counter,
                 const struct attribution_series *series, struct attributed *out)
{
    struct joined joined;

    join(windows, series, &joined);
    if (joined.count < ASSOCIATION_LEAST)
        return false;
    const struct association_level level = association_explained(
        &(struct association_windows){joined.step_ns, joined.stall_ns, joined.steps, joined.count});
    *out = (struct attributed){.cause = counter->cause,
                               .counter = counter_table[counter->counter].text,
                               .words = counter->words,
                               .is_time = counter->is_time,
                               .is_late =
                                   association_is_late(joined.step_ns, joined.rate, joined.count),
                               .explained = counter->is_time ? level.explained : NAN,
                               .rho = association_rho(joined.step_ns, joined.rate, joined.count),
                               .p = association_p(joined.step_ns, joined.rate, joined.count)};
    return true;
}

/* What comes later than slow steps, or is less where they are, is not consistent with them
 * either. */
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
    const double more =
        (isfinite(y->explained) ? y->explained : 0) - (isfinite(x->explained) ? x->explained : 0);

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
    if (!attribution_of(out, FINDING_PREEMPTED))
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
    const struct snap_windows *windows = snapshot->loop_count ? &snapshot->loops->windows : NULL;
    out->windows = windows ? windows->count : 0;
    if (!snapshot_is_watched(snapshot))
        out->refused = "system metrics were not collected";
    else if (out->windows < ASSOCIATION_LEAST)
        out->refused = "fewer than 20 windows of steady steps";
    if (out->refused)
        return;
    const double none[SNAP_WINDOWS] = {0};
    out->excess = association_explained(&(struct association_windows){
                                            windows->step_ns, none, windows->steps, windows->count})
                      .excess;
    if (out->excess < step_matters) {
        out->refused = "slow steps take hardly longer than the fastest quarter";
        return;
    }
    test_all(out, snapshot, run);
    if (out->count == 0)
        out->refused = "no counter covers 20 windows";
}

const char *attribution_text(char out[ATTRIBUTION_TEXT_SIZE], const struct attributed *item,
                             bool with_words)
{
    const double p = known_p(item);
    char chance[16], part[64] = "";

    snprintf(chance, sizeof chance, p < 0.001 ? "p < 0.001" : "p = %.3f", p);
    if (item->explained >= attribution_least)
        snprintf(part, sizeof part, "%.0f %% of their extra time, ",
                 100 * fmin(1, item->explained));
    snprintf(out, ATTRIBUTION_TEXT_SIZE, "%s %s (%s%s)",
             item->verdict == ATTRIBUTION_SUPPORTED ? "coincide with" : "may coincide with",
             with_words ? item->words : "it", part, chance);
    return out;
}

const struct attributed *attribution_of(const struct attribution *attribution,
                                        enum finding_id cause)
{
    for (size_t i = 0; i < attribution->count; i++) {
        const struct attributed *item = &attribution->item[i];
        if (item->verdict > ATTRIBUTION_UNLISTED && item->cause == cause)
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
