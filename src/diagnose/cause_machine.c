/* What the machine did to the training: the disturbances of the validity stamp that cost time, and memory
 * that grows (rule book 8, 10.2). */
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"
#include "stepscope/counters.h"

static const struct cause {
    const char *item, *id, *advice;
} causes[] = {
    {"preempted", "preempted",
     "leave a core to the training: fewer workers and threads, or other work elsewhere"},
    {"steal", "steal", "ask for cores of one's own: the host gives their time to others"},
    {"cgroup", "cgroup-throttled",
     "raise the CPU limit of the container, or use fewer threads than it allows"},
    {"swap", "swap",
     "use less memory or a machine with more: smaller batches, fewer workers"},
    {"frequency", "clock-drop",
     "see to cooling and power limits, or set the governor performance"},
    {"heat", "clock-drop", "see to cooling and power limits"},
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

    for (size_t i = 0; i < patient->out->count; i++)
        if (strcmp(patient->out->finding[i].id, cause->id) == 0)
            return;
    struct finding *finding =
        cause_add(patient, cause->id, FINDING_WARN, range, "the loop");
    if (!finding)
        return;
    cause_text(finding->claim, "%s", item->text);
    cause_text(finding->evidence,
               "sampled by the kernel's own counters while the loop ran");
    cause_text(finding->advice, "%s", cause->advice);
    cause_text(finding->check, "the last lines of the next summary");
    cause_text(finding->unknown, "how much of it the steps would have had");
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
            else if (item->level == VALIDITY_UNSEEN)
                cause_unobservable(patient, causes[k].id);
        }
}

static void find_faults(struct patient *patient)
{
    const struct snap_resource *row =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_PROCESS_MAJOR_FAULTS, SNAP_ANY);

    if (!row) {
        cause_unobservable(patient, "page-faults");
        return;
    }
    const double share = row->mean * fault_ns / 1e9;
    if (share < faults_share)
        return;
    struct finding *finding =
        cause_add(patient, "page-faults", FINDING_WARN,
                  (struct interval){0, fmin(share, 1), 1}, "the loop");
    if (!finding)
        return;
    cause_text(finding->claim,
               "pages are read from the disk while it trains: %.0f a second", row->mean);
    cause_text(finding->evidence, "%.0f major faults in all", row->gained);
    cause_text(finding->advice,
               "keep the data in memory, or read it ahead (fewer, larger reads)");
    cause_text(finding->unknown,
               "how long each took: a disk answers within 0.1 to 10 ms");
}

/* It grows steadily, and would reach the limit: rule book 10.2. */
static void find_leak(struct patient *patient)
{
    const struct snap_resources *resources = &patient->snapshot->resources;
    const struct snap_resource *memory =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_TREE_RSS, SNAP_ANY);
    const struct snap_resource *left =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_MEMORY_AVAILABLE, SNAP_ANY);
    const double length_s = (double)(resources->end_ns - resources->begin_ns) / 1e9;

    if (!memory || !left) {
        cause_unobservable(patient, "memory-leak");
        return;
    }
    const double growth = resources->growth_per_s;
    const double limit = memory->last + left->last;
    const bool still_rises = memory->course[SNAP_COURSE - 1] >
                             memory->course[2 * SNAP_COURSE / 3] + growth * length_s / 12;
    if (!(growth > 0) || growth * length_s < leak_of_limit * limit || !still_rises)
        return;
    struct finding *finding = cause_add(patient, "memory-leak", FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, "the run");
    if (!finding)
        return;
    cause_text(finding->claim,
               "memory grows by %.1f MB a minute and would be full in %.0f minutes",
               growth * 60 / 1048576, left->last / growth / 60);
    cause_text(finding->evidence, "%.0f MB at the end, %.0f MB left on the machine",
               memory->last / 1048576, left->last / 1048576);
    cause_text(
        finding->advice,
        "keep numbers, not tensors (loss.item()), and look for lists that only grow");
    cause_text(finding->check, "the row memory of the next report");
}

static void find_crowd(struct patient *patient)
{
    const struct snap_resource *threads =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_TREE_THREADS, SNAP_ANY);
    const struct snap_resource *wait =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_THREAD_WAIT, SNAP_ANY);
    const struct snap_resource *tree =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const double cores = (double)snapshot_cores(patient->snapshot);

    if (!threads || !wait || !tree || cores <= 0) {
        cause_unobservable(patient, "cpu-oversubscribed");
        return;
    }
    const double share = wait->mean / 1e9;
    /* Its own processes fill the cores, and its loop waits for one. */
    if (threads->mean < threads_per_core * cores || share < crowded_wait ||
        tree->mean / 1e9 < crowded_cores * cores)
        return;
    struct finding *preempted = cause_find(patient, "preempted");
    const struct interval range = {share * waited_least, share,
                                   fmin(1, share * waited_most)};
    struct finding *finding =
        cause_add(patient, "cpu-oversubscribed", FINDING_WARN, range, "the loop");
    if (!finding)
        return;
    if (preempted) { /* the same wait, and it is known whom for */
        preempted->severity = FINDING_INFO;
        cause_text(preempted->unknown, "how much of it is not for its own threads");
    }
    cause_text(finding->claim, "%.0f threads of the training share %.0f cores",
               threads->mean, cores);
    cause_text(finding->evidence,
               "they use %.1f cores, and the loop's thread waits %.1f %% of the time "
               "for one",
               tree->mean / 1e9, 100 * share);
    cause_text(finding->advice,
               "fewer workers, and one thread for the mathematics in each: "
               "OMP_NUM_THREADS=1, torch.set_num_threads(1)");
    cause_text(finding->check, "the row loop thread of the next report: it waits less");
}

void causes_of_machine(struct patient *patient)
{
    find_disturbances(patient);
    find_faults(patient);
    find_leak(patient);
    find_crowd(patient);
}
