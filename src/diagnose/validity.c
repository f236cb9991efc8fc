#include "diagnose/validity.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "diagnose/hardware.h"
#include "diagnose/thresholds.h"
#include "read/run.h"
#include "render/units.h"
#include "stepscope/counters.h"

/* Disturbances of the validity stamp (method 8.2). From the second number on, times have changed;
 * the first is what a short run can distinguish from zero. */
static const struct limits steal_limits = {0.002, 0.01};
static const struct limits wait_limits = {0.005, 0.02};
static const struct limits throttle_limits = {0, 0.01};
static const struct limits memory_limits = {0.002, 0.01};
static const struct limits frequency_limits = {0.02, 0.05};
static const struct limits cost_limits = {0.003, 0.005};
static const struct limits beside_limits = {0.01, 0.03}; /* we allow ourselves 0.45 % */
static const struct limits perturbed_limits = {0.01, 0.1};
static const double watched_least = 0.9, core_busy = 0.9;

/* A clock falls from what a core had in the best quarter of its busy time to what it had in the
 * worst quarter after that: a boost at the start is usual and shorter, single samples stray, and
 * what is slower by a fifth for less than a quarter of the time is less than the limit on average.
 * This number of 32 stretches of time must be busy (ours). */
static const double clock_part = 0.25;
enum { CLOCK_WINDOWS = 4 };
/* Heat: the kernel counts short spikes, too, of which it drops the time (method 8.2). What lasts
 * comes again and again; the clock is about a third lower during that time, so that a tenth of the
 * time is some 3 % (ours). */
static const double heat_part = 0.1;
enum { HEAT_TIMES = 3 };
/* Swap, in bytes a second: 100 pages of 4 KB, each of which takes 0.1 ms from a fast disk, are 1 %
 * of the time, as with memory. Any of it while the run is slow would be too little: a page of
 * another program is none of ours (method 8.2). */
static const struct limits swap_limits = {0, 409600};
static const struct limits others_limits = {0.05, 0.25};
/* Long enough for the supervisor to have looked several times: its own start counts too much before
 * (ours). */
static const int64_t watch_least_ns = INT64_C(5000000000);
static const int64_t usual_flagged = 2; /* the last step of a loop is often cut short */

struct judge {
    struct validity *out;
    const struct snapshot *snapshot;
    const struct ss_run *run;
};

static void add(struct judge *judge, enum validity_id id, enum validity_level level, double value,
                const char *unit, const char *format, ...) ATTR_PRINTF(6, 7);

static void add(struct judge *judge, enum validity_id id, enum validity_level level, double value,
                const char *unit, const char *format, ...)
{
    struct validity *out = judge->out;
    va_list arguments;

    if (out->count == VALIDITY_ITEMS)
        return;
    struct validity_item *item = &out->item[out->count++];
    *item = (struct validity_item){.id = id, .level = level, .value = value, .unit = unit};
    va_start(arguments, format);
    vsnprintf(item->text, sizeof item->text, format, arguments);
    va_end(arguments);
    if (level > VALIDITY_UNSEEN && level > out->level)
        out->level = level;
}

static enum validity_level level_of(double share, struct limits limits)
{
    return share >= limits.warn ? VALIDITY_WARN : share > limits.note ? VALIDITY_NOTE : VALIDITY_OK;
}

static void unseen(struct judge *judge, enum validity_id id, const char *what, unsigned counter)
{
    const struct snap_resource *row = snapshot_resource(judge->snapshot, counter, SNAP_ANY);

    add(judge, id, VALIDITY_UNSEEN, NAN, "share", "%s: %s", what,
        !snapshot_is_watched(judge->snapshot)   ? "not collected"
        : row && row->state == SS_SYSTEM_DENIED ? "permission denied"
                                                : "not measurable here");
}

/* What a total gained while the loop ran; a short one may lie between two samples. */
static double in_loop(const struct snap_resource *row)
{
    return isfinite(row->in_loop) ? row->in_loop : row->gained;
}

static bool is_long(const struct judge *judge)
{
    const struct snap_resources *resources = &judge->snapshot->resources;

    return resources->end_ns - resources->begin_ns >= watch_least_ns;
}

static double core_count(const struct judge *judge)
{
    return fmax(1, (double)snapshot_cores(judge->snapshot));
}

static void judge_clock(struct judge *judge)
{
    static const char *const names[] = {
        [SS_CLOCK_RAW] = "the kernel's", [SS_CLOCK_TSC] = "TSC", [SS_CLOCK_ARM] = "ARM"};
    double drift = 0;
    bool suspect = false;
    const char *name = "unknown";

    for (size_t i = 0; i < ss_run_processes(judge->run); i++) {
        const struct ss_process *process = ss_run_process(judge->run, i);
        if (!run_is_training(judge->run, i))
            continue;
        drift = fmax(drift, fabs(process->clock_drift_ppm));
        suspect |= process->clock_suspect;
        name = process->clock <= SS_CLOCK_ARM ? names[process->clock] : name;
    }
    if (suspect)
        add(judge, VALIDITY_CLOCK, VALIDITY_WARN, drift, "ppm",
            "the clock (%s) jumped: the machine was suspended or migrated", name);
    else
        add(judge, VALIDITY_CLOCK, VALIDITY_OK, drift, "ppm",
            "the clock (%s) is stable within %.1f ppm", name, drift);
}

/* How much of the loop its supervisor saw: that may have died, or had no room. What those of other
 * machines lost is none of this. */
static void judge_watch(struct judge *judge)
{
    const struct snap_resource *busy =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_MEMORY_AVAILABLE, SNAP_ANY);
    const double known = busy ? busy->known : 0;
    uint64_t lost = judge->snapshot->resources.unplaced;

    for (size_t i = 0; i < ss_run_lanes(judge->run); i++)
        if (snapshot_is_watched(judge->snapshot) &&
            ss_run_lane(judge->run, i)->process == judge->snapshot->resources.watcher)
            lost += ss_run_lane(judge->run, i)->lost_records;
    if (!snapshot_is_watched(judge->snapshot))
        add(judge, VALIDITY_WATCHED, VALIDITY_UNSEEN, NAN, "share",
            "system metrics were not collected: 'stepscope run' collects them");
    else if (lost > 0)
        add(judge, VALIDITY_WATCHED, VALIDITY_NOTE, (double)lost, "count",
            "%.0f system sample%s lost (buffer full)", (double)lost, lost == 1 ? " was" : "s were");
    else if (is_long(judge))
        add(judge, VALIDITY_WATCHED, known < watched_least ? VALIDITY_WARN : VALIDITY_OK, known,
            "share", "system metrics cover only %.0f %% of the time", 100 * known);
}

static void judge_steal(struct judge *judge)
{
    size_t cores;
    const struct snap_resource *row = snapshot_allowed_steal(judge->snapshot, &cores);

    if (!row) {
        unseen(judge, VALIDITY_STEAL, "CPU time stolen by a hypervisor", SS_COUNTER_ID_CPU_STEAL);
        return;
    }
    const double share = row->mean / 1e9 / (double)cores;
    add(judge, VALIDITY_STEAL, level_of(share, steal_limits), share, "share",
        "the hypervisor stole %.1f %% of the CPU time", 100 * share);
}

/* The rank whose loop runs on a thread; -1: none, or there is one only. */
static int rank_of_thread(const struct snapshot *snapshot, uint64_t subject)
{
    for (size_t i = 0; i < snapshot->loop_count && snapshot->job.rank_count > 1; i++)
        if (snapshot->loops[i].tid == (uint32_t)subject)
            return snapshot->loops[i].rank;
    return -1;
}

/* The worst of the loop threads: of several ranks the others wait for it. */
static void judge_wait(struct judge *judge)
{
    double share = NAN;
    uint64_t worst = 0;

    for (size_t i = 0; i < judge->snapshot->resources.count; i++) {
        const struct snap_resource *row = &judge->snapshot->resources.rows[i];
        if (row->counter != SS_COUNTER_ID_THREAD_WAIT || !isfinite(row->mean) ||
            !(isnan(share) || row->mean / 1e9 > share))
            continue;
        share = row->mean / 1e9;
        worst = row->subject;
    }
    if (!isfinite(share)) {
        unseen(judge, VALIDITY_PREEMPTED, "waiting for a core", SS_COUNTER_ID_THREAD_WAIT);
        return;
    }
    const int rank = rank_of_thread(judge->snapshot, worst);
    if (rank >= 0)
        add(judge, VALIDITY_PREEMPTED, level_of(share, wait_limits), share, "share",
            "the loop thread of rank %d waited for a core %.1f %% of the time", rank, 100 * share);
    else
        add(judge, VALIDITY_PREEMPTED, level_of(share, wait_limits), share, "share",
            "the loop thread waited for a core %.1f %% of the time", 100 * share);
}

/* What ran on the run's cores and was neither the command's own nor ours. */
static void judge_others(struct judge *judge)
{
    const struct run_cores cores_of_run = run_cores_of(judge->snapshot);
    const struct snap_resource *busy = cores_of_run.busy;
    const struct snap_resource *tree =
        snapshot_value(judge->snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const struct snap_resource *self =
        snapshot_value(judge->snapshot, SS_COUNTER_ID_SELF_CPU, SNAP_ANY);

    if (!busy || !tree) {
        unseen(judge, VALIDITY_OTHERS, "other processes", SS_COUNTER_ID_CPU_BUSY);
        return;
    }
    const double allowed = fmax(1, (double)cores_of_run.count);
    const double cores = fmax(0, (busy->mean - tree->mean - (self ? self->mean : 0)) / 1e9);
    add(judge, VALIDITY_OTHERS, level_of(cores / allowed, others_limits), cores / allowed, "share",
        "other processes used %.2f of %s%.0f core%s", cores,
        allowed < core_count(judge) ? "its " : "", allowed, allowed > 1 ? "s" : "");
    if (judge->out->count > 0 && cores / allowed > others_limits.note)
        validity_say_programs(judge->out->item[judge->out->count - 1].text, VALIDITY_TEXT_SIZE,
                              judge->out);
}

/* Of values in any order; these are few. */
static double quantile_of(const double *x, int count, double q)
{
    double sorted[SNAP_COURSE] = {0};

    for (int i = 0; i < count; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > x[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = x[i];
    }
    return sorted[(int)(q * (count - 1) + 0.5)];
}

/* From what a core usually had while it was busy to what it had in a good part of the time
 * afterwards: an idle one may rest, and one that is asked for the first time may be faster for a
 * while. */
static double drop_of(const struct judge *judge, const struct snap_resource *row)
{
    const struct snap_resource *busy =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_CPU_BUSY, row->subject);
    double clock[SNAP_COURSE];
    int count = 0, first = 0;

    for (int i = 0; busy && i < SNAP_COURSE; i++)
        if (busy->course[i] / 1e9 >= core_busy && isfinite(row->course[i]))
            clock[count++] = row->course[i];
    if (count < CLOCK_WINDOWS)
        return NAN;
    const double usual = quantile_of(clock, count, 1 - clock_part);
    while (clock[first] < usual)
        first++;
    return 1 - quantile_of(clock + first, count - first, clock_part) / usual;
}

static void judge_frequency(struct judge *judge)
{
    double drop = NAN;
    bool is_seen = false;

    for (size_t i = 0; i < judge->snapshot->resources.count; i++) {
        const struct snap_resource *row = &judge->snapshot->resources.rows[i];
        if (row->counter != SS_COUNTER_ID_CPU_FREQUENCY || row->state != SS_SYSTEM_VALUE)
            continue;
        is_seen = true;
        drop = fmax(drop, drop_of(judge, row));
    }
    if (!is_seen) {
        unseen(judge, VALIDITY_FREQUENCY, "CPU frequency", SS_COUNTER_ID_CPU_FREQUENCY);
        return;
    }
    drop = isfinite(drop) ? fmax(drop, 0) : 0;
    add(judge, VALIDITY_FREQUENCY, level_of(drop, frequency_limits), drop, "share",
        "the clock of a busy core fell by %.1f %%", 100 * drop);
}

/* In which part of the time a total rose. */
static double part_of_course(const struct snap_resource *row)
{
    int known = 0, rose = 0;

    for (int i = 0; i < SNAP_COURSE; i++) {
        known += isfinite(row->course[i]);
        rose += row->course[i] > 0;
    }
    return known ? (double)rose / known : 0;
}

static void judge_heat(struct judge *judge)
{
    const struct snap_resource *row =
        snapshot_value(judge->snapshot, SS_COUNTER_ID_CPU_THROTTLES, SNAP_ANY);

    if (!row) {
        unseen(judge, VALIDITY_HEAT, "throttling", SS_COUNTER_ID_CPU_THROTTLES);
        return;
    }
    const double times = floor(in_loop(row) + 0.5);
    const double part = part_of_course(row);
    const bool lasts = times >= HEAT_TIMES && part >= heat_part;
    add(judge, VALIDITY_HEAT,
        lasts       ? VALIDITY_WARN
        : times > 0 ? VALIDITY_NOTE
                    : VALIDITY_OK,
        times, "count", "cores were throttled by heat %.0f %s, in %.0f %% of the time", times,
        times == 1 ? "time" : "times", 100 * part);
}

static void judge_cgroup(struct judge *judge)
{
    const struct snap_resource *limit =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_CGROUP_CPU_LIMIT, SNAP_ANY);
    const struct snap_resource *periods =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_CGROUP_PERIODS, SNAP_ANY);
    const struct snap_resource *hit =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, SNAP_ANY);

    if (!limit || limit->state != SS_SYSTEM_VALUE) {
        unseen(judge, VALIDITY_CGROUP, "container (cgroup) limits", SS_COUNTER_ID_CGROUP_CPU_LIMIT);
        return;
    }
    if (limit->last <= 0) {
        add(judge, VALIDITY_CGROUP, VALIDITY_OK, 0, "share", "no container (cgroup) CPU limit");
        return;
    }
    if (!periods || !hit || periods->state != SS_SYSTEM_VALUE || hit->state != SS_SYSTEM_VALUE) {
        char what[64];
        snprintf(what, sizeof what, "how often the container's limit of %.2f cores was hit",
                 limit->last);
        unseen(judge, VALIDITY_CGROUP, what, SS_COUNTER_ID_CGROUP_PERIODS);
        return;
    }
    const double share = in_loop(periods) > 0 ? in_loop(hit) / in_loop(periods) : 0;
    add(judge, VALIDITY_CGROUP, level_of(share, throttle_limits), share, "share",
        "the container's limit of %.2f cores was hit in %.0f %% of its periods", limit->last,
        100 * share);
}

static void judge_swap(struct judge *judge)
{
    const struct snap_resource *in =
        snapshot_value(judge->snapshot, SS_COUNTER_ID_SWAP_IN, SNAP_ANY);
    const struct snap_resource *out =
        snapshot_value(judge->snapshot, SS_COUNTER_ID_SWAP_OUT, SNAP_ANY);
    const struct snap_resource *known =
        snapshot_resource(judge->snapshot, SS_COUNTER_ID_SWAP_IN, SNAP_ANY);

    if (!in && !(known && known->state == SS_SYSTEM_VALUE)) {
        unseen(judge, VALIDITY_SWAP, "swapping", SS_COUNTER_ID_SWAP_IN);
        return;
    }
    const double bytes = floor((in ? in_loop(in) : 0) + (out ? in_loop(out) : 0) + 0.5);
    const double per_s = (in ? in->mean : 0) + (out ? out->mean : 0);
    char text[UNITS_SIZE], rate[UNITS_SIZE];
    add(judge, VALIDITY_SWAP, level_of(per_s, swap_limits), bytes, "bytes",
        "%s went to and from swap, %s per second", units_bytes(text, (uint64_t)bytes),
        units_bytes(rate, (uint64_t)per_s));
}

static void judge_pressure(struct judge *judge, enum validity_id id, const char *what,
                           unsigned counter, struct limits limits)
{
    const struct snap_resource *row = snapshot_value(judge->snapshot, counter, SNAP_ANY);

    if (!row) {
        unseen(judge, id, what, counter);
        return;
    }
    const double share = row->mean / 1e9;
    add(judge, id, level_of(share, limits), share, "share", "%s: %.1f %% of the time", what,
        100 * share);
}

/* Those of the run: what holds the clocks of others is not its matter. */
static void judge_gpus(struct judge *judge)
{
    const struct run_gpus gpus = run_gpus_of(judge->snapshot, judge->run);
    double worst = 0;

    for (size_t i = 0; i < judge->snapshot->resources.count; i++) {
        const struct snap_resource *row = &judge->snapshot->resources.rows[i];
        if (row->counter == SS_COUNTER_ID_GPU_CLOCK && run_gpus_has(&gpus, row->subject))
            worst = fmax(worst, gpu_held_lost(judge->snapshot, row->subject));
    }
    if (!snapshot_value(judge->snapshot, SS_COUNTER_ID_GPU_BUSY, SNAP_ANY))
        return;
    add(judge, VALIDITY_GPU, worst > 1 - gpu_clock_held ? VALIDITY_WARN : VALIDITY_OK, worst,
        "share", "the clock of a busy GPU was held %.0f %% below its highest", 100 * worst);
}

static void judge_losses(struct judge *judge)
{
    uint64_t dropped = 0;

    for (size_t i = 0; i < ss_run_lanes(judge->run); i++) {
        const struct ss_lane *lane = ss_run_lane(judge->run, i);
        if (run_is_training(judge->run, lane->process))
            dropped += lane->lost_records;
    }
    add(judge, VALIDITY_DROPPED, dropped ? VALIDITY_WARN : VALIDITY_OK, (double)dropped, "count",
        "%.0f record%s lost (buffer full)", (double)dropped, dropped == 1 ? " was" : "s were");
}

static void judge_cost(struct judge *judge)
{
    const struct own_cost cost = own_cost_of(judge->snapshot, judge->run);
    /* Our own start counts too much in a short run. */
    const enum validity_level beside =
        is_long(judge) ? level_of(cost.beside, beside_limits) : VALIDITY_OK;

    if (!isfinite(cost.step)) {
        add(judge, VALIDITY_COST, beside > VALIDITY_OK ? beside : VALIDITY_UNSEEN, NAN, "share",
            "the recording cost per step is unknown; it used %.2f %% of a core", 100 * cost.beside);
        return;
    }
    const enum validity_level own = level_of(cost.step, cost_limits);
    add(judge, VALIDITY_COST, own > beside ? own : beside, cost.step, "share",
        "recording took about %.2f %% of a step (an estimate), plus %.2f %% of another core",
        100 * cost.step, 100 * cost.beside);
}

static void judge_perturbed(struct judge *judge)
{
    const struct snap_loop *loop = judge->snapshot->loop_count ? judge->snapshot->loops : NULL;

    if (!loop || loop->steps == 0)
        return;
    const double share = (double)loop->flagged_steps / (double)loop->steps;
    const bool is_usual = loop->flagged_steps <= usual_flagged;
    add(judge, VALIDITY_PERTURBED, is_usual ? VALIDITY_OK : level_of(share, perturbed_limits),
        share, "share", "%.1f %% of the steps are excluded from statistics", 100 * share);
}

void validity_say_programs(char *text, size_t size, const struct validity *validity)
{
    for (size_t i = 0; i < validity->programs; i++) {
        const size_t used = strlen(text);
        char part[OTHER_PROGRAM_NAME + 16];
        snprintf(part, sizeof part, "%s%s %.2f", i ? ", " : ": ", validity->program[i].name,
                 validity->program[i].cores);
        if (used + strlen(part) < size)
            memcpy(text + used, part, strlen(part) + 1);
    }
}

void validity_judge(struct validity *out, const struct snapshot *snapshot, const struct ss_run *run)
{
    struct judge judge = {out, snapshot, run};

    *out = (struct validity){.level = VALIDITY_OK};
    out->programs = other_programs_of(snapshot, run, out->program);
    judge_clock(&judge);
    judge_frequency(&judge);
    judge_heat(&judge);
    judge_cgroup(&judge);
    judge_steal(&judge);
    judge_wait(&judge);
    judge_others(&judge);
    judge_swap(&judge);
    judge_pressure(&judge, VALIDITY_MEMORY, "memory pressure", SS_COUNTER_ID_PSI_MEMORY,
                   memory_limits);
    judge_pressure(&judge, VALIDITY_IO, "all work waited for I/O", SS_COUNTER_ID_PSI_IO_FULL,
                   io_limits);
    judge_gpus(&judge);
    judge_losses(&judge);
    judge_cost(&judge);
    judge_perturbed(&judge);
    judge_watch(&judge);
}

const char *validity_id_text(enum validity_id id)
{
    static const char *const texts[] = {
#define TEXT(upper, text) [VALIDITY_##upper] = text,
        VALIDITY_LIST(TEXT)
#undef TEXT
    };

    return texts[id];
}

const char *validity_level_text(enum validity_level level)
{
    static const char *const texts[] = {"ok", "unseen", "note", "warn"};

    return texts[level];
}
