/* What the machine did to the training: the disturbances of the validity stamp that cost time, and memory
 * that grows (rule book 8, 10.2). */
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"
#include "diagnose/run_cores.h"
#include "stats/robust.h"
#include "stepscope/counters.h"

static const double megabyte = 1048576;

static const struct cause {
    const char *item, *id; /* of the stamp, of the finding */
    unsigned counter;
    bool is_second; /* adds to the one before: its counter may be missing */
} causes[] = {
    {"preempted", "preempted", SS_COUNTER_ID_THREAD_WAIT, false},
    {"steal", "steal", SS_COUNTER_ID_CPU_STEAL, false},
    {"cgroup", "cgroup-throttled", SS_COUNTER_ID_CGROUP_CPU_LIMIT, false},
    {"swap", "swap", SS_COUNTER_ID_SWAP_IN, false},
    {"frequency", "clock-drop", SS_COUNTER_ID_CPU_FREQUENCY, false},
    {"heat", "clock-drop", SS_COUNTER_ID_CPU_THROTTLES, true},
};

static void add_item(struct patient *patient, const struct cause *cause,
                     const struct validity_item *item)
{
    const bool is_share = strcmp(item->unit, "share") == 0;
    const bool is_wait = strcmp(cause->id, "preempted") == 0;
    const double share = is_share ? fmin(item->value, 1) : NAN;
    /* How much of it the steps lost is not known: the share is of the time, not of the step. But what the loop
     * itself waited for is lost to it, at least where others had the core, and its helpers waited too. */
    const struct interval range = {!is_share ? NAN
                                   : is_wait ? share * waited_least
                                             : 0,
                                   share, is_wait ? fmin(1, share * waited_most) : share};

    struct finding *finding = cause_find(patient, cause->id);
    if (finding) {
        cause_more(finding->evidence, "; %s", item->text);
        return;
    }
    finding = cause_add(patient, cause->id, FINDING_WARN, range, "the loop");
    if (!finding)
        return;
    finding->kind = is_wait ? SHARE_ESTIMATE : SHARE_BOUND;
    cause_text(finding->claim, "%s", item->text);
    cause_text(finding->evidence, "counted by the kernel while the loop ran");
    cause_say_slow(finding, patient);
    cause_text(finding->check, "the line 'valid' or 'doubt' of the next summary");
    cause_text(finding->unknown, "how much time the steps have lost by it");
}

/* The kernel counts time without a core, whatever the reason: what the loop waited for is then the limit first of all. */
static void join_throttled(struct patient *patient)
{
    struct finding *throttled = cause_find(patient, "cgroup-throttled"),
                   *preempted = cause_find(patient, "preempted");

    if (!throttled || !preempted)
        return;
    throttled->share = preempted->share;
    throttled->kind = SHARE_ESTIMATE;
    cause_more(throttled->evidence, "; %s", preempted->claim);
    preempted->severity = FINDING_INFO;
    cause_text(preempted->unknown, "how much of it is not by the limit of its cgroup");
}

static void find_disturbances(struct patient *patient)
{
    const struct validity *validity = &patient->out->validity;

    for (size_t k = 0; k < sizeof causes / sizeof causes[0]; k++)
        for (size_t i = 0; i < validity->count; i++) {
            const struct validity_item *item = &validity->item[i];
            if (strcmp(item->id, causes[k].item) != 0)
                continue;
            if (item->level == VALIDITY_WARN)
                add_item(patient, &causes[k], item);
            else if (item->level == VALIDITY_UNSEEN && !causes[k].is_second)
                cause_without(patient, causes[k].id, causes[k].counter);
        }
    join_throttled(patient);
}

double cause_major_faults(const struct patient *patient, double *all)
{
    const struct snap_resources *resources = &patient->snapshot->resources;
    double per_s = 0;

    *all = 0;
    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->counter == SS_COUNTER_ID_PROCESS_MAJOR_FAULTS && isfinite(row->mean)) {
            per_s += row->mean;
            *all += row->gained;
        }
    }
    return per_s;
}

/* In all processes: what a worker waits for, the loop waits for sooner or later. */
static void find_faults(struct patient *patient)
{
    double all;
    const double per_s = cause_major_faults(patient, &all);

    if (!cause_counter(patient, "page-faults", SS_COUNTER_ID_PROCESS_MAJOR_FAULTS))
        return;
    const double share = per_s * fault_ns / 1e9;
    if (share < faults_share)
        return;
    struct finding *finding =
        cause_add(patient, "page-faults", FINDING_WARN,
                  (struct interval){fmin(1, share * fault_least), fmin(1, share),
                                    fmin(1, share * fault_most)},
                  "the loop");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim,
               "memory has to be read from the disk while it trains, %.0f times a second",
               per_s);
    cause_text(finding->evidence,
               "%.0f such reads in all (the kernel calls them major faults)", all);
    cause_say_slow(finding, patient);
    cause_text(finding->check, "fewer of them in the next run");
    cause_text(finding->unknown,
               "how long each took: a disk answers within 0.05 to 10 ms");
}

/* What the training may still get: of the machine, or up to the limit of its cgroup if that is nearer. Files that
 * the kernel keeps in memory count for a cgroup too, but it gives them back: so what the training has itself counts. */
struct room {
    double left, limit;
    bool is_container;
};

static struct room find_room(const struct snapshot *snapshot, double used,
                             double available)
{
    const struct snap_resource *limit =
        snapshot_value(snapshot, SS_COUNTER_ID_CGROUP_MEMORY_LIMIT, SNAP_ANY);
    const struct room machine = {available, used + available, false};

    if (!limit || !(limit->last > 0) || limit->last - used >= available)
        return machine;
    return (struct room){fmax(0, limit->last - used), limit->last, true};
}

/* It grows all the time, and still does at last: rule book 10.2. */
static bool is_growing(const struct snap_resource *memory, double growth, double length_s)
{
    double known[SNAP_COURSE];
    size_t count = 0;

    for (int i = 0; i < SNAP_COURSE; i++)
        if (isfinite(memory->course[i]))
            known[count++] = memory->course[i];
    if (count == 0)
        return false;
    const double at_last = known[count - 1] - known[2 * count / 3];
    return growth > 0 && robust_trend_z(known, count, 1) > leak_trend &&
           at_last > leak_at_last * growth * length_s / 3;
}

/* The last sample may be from after the loop, when all is given back. */
static double at_end_of_loop(const struct snap_resource *row)
{
    const double last = row->course[SNAP_COURSE - 1];

    return isfinite(last) ? last : row->last;
}

static void find_leak(struct patient *patient)
{
    const struct snap_resources *resources = &patient->snapshot->resources;
    const struct snap_resource *memory =
        cause_counter(patient, "memory-leak", SS_COUNTER_ID_TREE_RSS);
    const struct snap_resource *available =
        cause_counter(patient, "memory-leak", SS_COUNTER_ID_MEMORY_AVAILABLE);
    const double growth = resources->growth_per_s,
                 length_s = (double)(resources->end_ns - resources->begin_ns) / 1e9;

    if (!memory || !available)
        return;
    const double used = at_end_of_loop(memory);
    const struct room room =
        find_room(patient->snapshot, used, at_end_of_loop(available));
    if (!is_growing(memory, growth, length_s) ||
        growth * length_s < leak_of_limit * room.limit)
        return;
    struct finding *finding = cause_add(patient, "memory-leak", FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, "the run");
    if (!finding)
        return;
    cause_text(finding->claim,
               "memory grows by %.1f MB a minute and would be full in %.0f minutes",
               growth * 60 / megabyte, room.left / growth / 60);
    cause_text(finding->evidence, "%.0f MB at the end, %.0f MB left %s", used / megabyte,
               room.left / megabyte,
               room.is_container ? "below the limit of the container" : "on the machine");
    cause_text(finding->check,
               "the row memory of 'The machine while it trained' in the next report");
}

static void find_crowd(struct patient *patient)
{
    const char *id = "cpu-oversubscribed";
    const struct snap_resource *threads =
        cause_counter(patient, id, SS_COUNTER_ID_TREE_THREADS);
    const struct snap_resource *wait =
        cause_counter(patient, id, SS_COUNTER_ID_THREAD_WAIT);
    const struct snap_resource *tree = cause_counter(patient, id, SS_COUNTER_ID_TREE_CPU);
    const struct snap_resource *busy = run_cores_of(patient->snapshot).busy;
    const double cores = cause_cores(patient);

    if (!busy)
        cause_without(patient, id, SS_COUNTER_ID_CPU_BUSY);
    if (!threads || !wait || !tree || !busy || cores <= 0)
        return;
    const double share = wait->mean / 1e9;
    /* Its loop waits for a core; it has all that it may have, or there is hardly anybody else who has one. */
    const bool is_full = tree->mean / 1e9 >= crowded_cores * cores;
    if (threads->mean < threads_per_core * cores || share < crowded_wait ||
        (!is_full && tree->mean < crowded_own * busy->mean))
        return;
    struct finding *preempted = cause_find(patient, "preempted");
    const struct interval range = {share * waited_least, share,
                                   fmin(1, share * waited_most)};
    struct finding *finding = cause_add(
        patient, id, is_full || share >= crowded_surely ? FINDING_WARN : FINDING_INFO,
        range, "the loop");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if (preempted) { /* the same wait, and it is known whom for */
        preempted->severity = FINDING_INFO;
        cause_text(preempted->unknown, "how much of it is not for its own threads");
    }
    cause_text(
        finding->claim,
        "%.0f threads of the training share %.0f core%s, so that its loop waits for "
        "one %.1f %% of the time",
        threads->mean, cores, cores > 1 ? "s" : "", 100 * share);
    cause_text(finding->evidence, "together they use %.1f cores", tree->mean / 1e9);
    cause_text(finding->check,
               "`preempted` under 'What disturbed it' of the next report is less");
}

void causes_of_machine(struct patient *patient)
{
    find_disturbances(patient);
    find_faults(patient);
    find_leak(patient);
    find_crowd(patient);
}
