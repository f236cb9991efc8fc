/* Cores that the training did not have, or not at full speed: the disturbances of the validity
 * stamp that cost time (method 8.2, 11.11). */
#include <math.h>

#include "diagnose/causes.h"
#include "diagnose/cheap_cures.h"
#include "diagnose/hardware.h"
#include "stepscope/counters.h"

/* Too many threads: more than two a core, and the loop waits (method 11.11) though nearly all that
 * runs is the training's own. A warning if cores are full, or if it waits for a
 * tenth of the time: between what its threads do together only one works, and a little of a wait
 * there is usual with as many threads as cores (ours). */
static const double threads_per_core = 2, crowded_wait = 0.02, crowded_own = 0.9,
                    crowded_cores = 0.9, crowded_surely = 0.1;

/* Who had the cores, as far as the supervisor saw them. */
static void say_others(struct finding *finding, const struct diagnosis_input *input)
{
    const struct validity *validity = &input->out->validity;

    if (validity->programs == 0)
        return;
    cause_more(finding->evidence, "; cores used by other programs");
    validity_say_programs(finding->evidence, sizeof finding->evidence, validity);
}

static void find_preempted(struct diagnosis_input *input)
{
    cause_disturbed(input, FINDING_PREEMPTED,
                    &(struct cause_disturbance){.item = VALIDITY_PREEMPTED,
                                                .counter = SS_COUNTER_ID_THREAD_WAIT,
                                                .is_share = true});
    struct finding *finding = cause_find(input, FINDING_PREEMPTED);
    if (!finding)
        return;
    say_others(finding, input);
    cure_spinning(finding, input);
}

static void find_steal(struct diagnosis_input *input)
{
    cause_disturbed(input, FINDING_STEAL,
                    &(struct cause_disturbance){.item = VALIDITY_STEAL,
                                                .counter = SS_COUNTER_ID_CPU_STEAL,
                                                .is_share = true});
}

/* The kernel counts time without a core, whatever the reason: what the loop waited for is then the
 * limit first of all. */
static void join_throttled(struct diagnosis_input *input)
{
    struct finding *throttled = cause_find(input, FINDING_CGROUP_THROTTLED),
                   *preempted = cause_find(input, FINDING_PREEMPTED);

    if (!throttled || !preempted)
        return;
    throttled->share = preempted->share;
    throttled->kind = SHARE_ESTIMATE;
    cause_more(throttled->evidence, "; %s", preempted->claim);
    preempted->severity = FINDING_INFO;
    cause_text(preempted->unknown, "how much of it is not due to the container's CPU limit");
}

static void find_throttled(struct diagnosis_input *input)
{
    cause_disturbed(input, FINDING_CGROUP_THROTTLED,
                    &(struct cause_disturbance){.item = VALIDITY_CGROUP,
                                                .counter = SS_COUNTER_ID_CGROUP_CPU_LIMIT,
                                                .is_share = true});
    join_throttled(input);
}

static void find_clock_drop(struct diagnosis_input *input)
{
    cause_disturbed(input, FINDING_CLOCK_DROP,
                    &(struct cause_disturbance){.item = VALIDITY_FREQUENCY,
                                                .counter = SS_COUNTER_ID_CPU_FREQUENCY,
                                                .is_share = true});
    cause_disturbed(input, FINDING_CLOCK_DROP,
                    &(struct cause_disturbance){.item = VALIDITY_HEAT,
                                                .counter = SS_COUNTER_ID_CPU_THROTTLES,
                                                .is_second = true});
}

static void find_crowd(struct diagnosis_input *input)
{
    const enum finding_id id = FINDING_CPU_OVERSUBSCRIBED;
    const struct snap_resource *threads = cause_counter(input, id, SS_COUNTER_ID_TREE_THREADS);
    const struct snap_resource *wait = cause_counter(input, id, SS_COUNTER_ID_THREAD_WAIT);
    const struct snap_resource *tree = cause_counter(input, id, SS_COUNTER_ID_TREE_CPU);
    const struct snap_resource *busy = run_cores_of(input->snapshot).busy;
    const double cores = cause_cores(input);

    if (!busy)
        cause_without(input, id, SS_COUNTER_ID_CPU_BUSY);
    if (!threads || !wait || !tree || !busy || cores <= 0)
        return;
    const double share = wait->mean / 1e9;
    /* Its loop waits for a core; it has all that it may have, or there is hardly anybody else who
     * has one. */
    const bool is_full = tree->mean / 1e9 >= crowded_cores * cores;
    if (threads->mean < threads_per_core * cores || share < crowded_wait ||
        (!is_full && tree->mean < crowded_own * busy->mean))
        return;
    struct finding *preempted = cause_find(input, FINDING_PREEMPTED);
    const struct interval range = {share * waited_least, share, fmin(1, share * waited_most)};
    struct finding *finding =
        cause_add(input, id, is_full || share >= crowded_surely ? FINDING_WARN : FINDING_INFO,
                  range, OF_LOOP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if (preempted) { /* the same wait, and it is known whom for */
        preempted->severity = FINDING_INFO;
        cause_text(preempted->unknown, "how much of it is not due to its own threads");
    }
    cause_text(
        finding->claim,
        "%.0f threads of the training share %.0f core%s: the loop waits for a core %.1f %% of the time",
        threads->mean, cores, cores > 1 ? "s" : "", 100 * share);
    cause_text(finding->evidence, "together they use %.1f cores", tree->mean / 1e9);
    cure_spinning(finding, input);
    cause_text(finding->check, "`preempted` under 'Interference' in the next report should fall");
}

static bool has_one_thread(const struct diagnosis_input *input)
{
    const struct ss_text value =
        input->loop ? ss_run_info(input->run, input->loop->process, "env.OMP_NUM_THREADS")
                    : (struct ss_text){0};

    return value.size == 1 && value.data[0] == '1';
}

const struct finding_kind finding_preempted = {
    .name = "preempted",
    .gist = "other programs take the loop thread's core",
    .is_disturbance = true,
    .find = find_preempted,
    .ends = {{"", ENDS_OF_WAIT}},
    .advice =
        "leave a core for the training: use fewer workers and threads, and stop other programs or run them with nice",
    .given = "always",
    .cases =
        {{"threads of OpenMP (libgomp, libiomp) waited for a core, and no variable says how they wait: also OMP_WAIT_POLICY=passive",
          NULL, NULL}},
    .meaning = "The loop thread was ready to run, but other programs or threads had the cores.",
    .computed =
        "The time it waited for a core, as the kernel counts it: reported at 2 % or more. "
        "The cost is an estimate, half to twice the wait, because the framework's helper threads waited as well. "
        "If nearly everything that runs belongs to the training, cpu-oversubscribed is reported instead. "
        "Other programs are named by the CPU time of their processes, which are gone through every 2 seconds or more rarely. "
        "OpenMP's threads are those of the loop's process with the loop thread's name, where libgomp or libiomp is mapped; OMP_WAIT_POLICY=passive is advised if they waited for a core 2 % of the time or more and no variable says how they wait.",
    .fixes =
        "Leave a core for it: fewer other programs, fewer workers. "
        "OMP_WAIT_POLICY=passive keeps OpenMP's threads from spinning at barriers while others need the core.",
};

const struct finding_kind finding_steal = {
    .name = "steal",
    .gist = "the hypervisor gives CPU time to other guests",
    .is_disturbance = true,
    .find = find_steal,
    .ends = {{"", ENDS_LOST}},
    .advice = "use dedicated cores: the hypervisor gives this machine's CPU time to other guests",
    .given = "always",
    .meaning = "This is a virtual machine, and its hypervisor gave the CPU time to other guests.",
    .computed = "The kernel's steal time: reported at 1 % of the CPU time or more. "
                "How much of it the steps lost is unknown: the share is an upper bound.",
    .fixes = "Dedicated cores: another instance type, or another host.",
};

const struct finding_kind finding_cgroup_throttled = {
    .name = "cgroup-throttled",
    .gist = "the container's CPU limit stops the training",
    .is_disturbance = true,
    .find = find_throttled,
    .ends = {{"", ENDS_LOST}},
    .advice =
        "raise the CPU limit of the container (docker run --cpus, resources.limits.cpu), or use no more threads than it allows (OMP_NUM_THREADS)",
    .given = "always",
    .meaning =
        "The training runs in a container (cgroup) with a CPU limit and was stopped each time it reached the limit.",
    .computed =
        "The share of scheduling periods (usually 0.1 s) in which the limit was hit: reported at 1 % or more. "
        "It is an upper bound on the time lost.",
    .fixes =
        "A higher limit (docker run --cpus, resources.limits.cpu of Kubernetes), or no more threads than it has cores.",
};

const struct finding_kind finding_clock_drop = {
    .name = "clock-drop",
    .gist = "the CPU clock falls, or heat throttles it",
    .is_disturbance = true,
    .find = find_clock_drop,
    .ends = {{"", ENDS_LOST}},
    .advice =
        "check cooling and power limits; on your own machine: cpupower frequency-set -g performance",
    .given = "always",
    .meaning = "Cores ran at a lower clock than at the start, or were throttled by heat.",
    .computed =
        "The clock of busy cores fell by 5 % or more from the best quarter of the run to the worst quarter after it, or the kernel counted thermal throttling in a tenth of the time.",
    .fixes =
        "Cooling, power limits, and the CPU frequency governor: cpupower frequency-set -g performance.",
};

const struct finding_kind finding_cpu_oversubscribed = {
    .name = "cpu-oversubscribed",
    .gist = "the training's own threads compete for the cores",
    .find = find_crowd,
    .ends = {{"", ENDS_OF_WAIT}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "fewer threads: OMP_NUM_THREADS=1 for numeric libraries in each of them",
            [FRAMEWORK_TORCH] =
                "fewer workers (DataLoader(num_workers=) below the number of cores), and one compute thread in each: OMP_NUM_THREADS=1, torch.set_num_threads()",
            [FRAMEWORK_KERAS] =
                "fewer workers, and fewer threads (set before the first operation): tf.config.threading.set_intra_op_parallelism_threads(N), set_inter_op_parallelism_threads(1); OMP_NUM_THREADS=1 for numpy",
            [FRAMEWORK_JAX] = "fewer workers, and one numpy thread in each: OMP_NUM_THREADS=1",
        },
    .given = "where OMP_NUM_THREADS is not already 1",
    .cases =
        {{"OMP_NUM_THREADS is 1 already", has_one_thread,
          "fewer workers and processes than cores: each has one compute thread already (OMP_NUM_THREADS=1)"},
         {"threads of OpenMP (libgomp, libiomp) waited for a core, and no variable says how they wait: also OMP_WAIT_POLICY=passive",
          NULL, NULL}},
    .meaning = "The training's own threads compete for the cores.",
    .computed =
        "At least 2 threads per core, at least 90 % of the CPU use is theirs, and the loop thread waits for a core at least 2 % of the time. "
        "A warning if they fill the cores, or if it waits at least 10 % of the time. "
        "The cost is an estimate: half to twice the wait.",
    .fixes =
        "Fewer workers, and one compute thread in each of them (OMP_NUM_THREADS=1). "
        "OMP_WAIT_POLICY=passive where threads of OpenMP (libgomp, libiomp) wait for a core at their barriers.",
};
