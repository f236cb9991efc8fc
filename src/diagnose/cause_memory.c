/* Memory: too little of it, read from a disk, growing, or taken from the kernel and given back in
 * every step (method 11.10). */
#include <math.h>

#include "diagnose/causes.h"
#include "diagnose/cheap_cures.h"
#include "read/run.h"
#include "render/units.h"
#include "stats/robust.h"
#include "stepscope/counters.h"

/* Minor faults: 2 % of the step at 0.25 us each, or at 0.5 us where they are 10,000 a step
 * (method 11.10: 0.1 to 0.5 us). In this many windows of steady steps their number has to be known
 * (ours). */
static const double fresh_share = 0.02, fresh_page_least_ns = 100, fresh_page_ns = 250,
                    fresh_page_most_ns = 500, fresh_pages_a_step = 1e4;
enum { FRESH_WINDOWS = 8 };
/* A leak: this part of all memory in one run, a trend at 1 % (method 11.10), and in the last
 * third still a quarter of the growth before (ours). */
static const double leak_of_limit = 0.05, leak_trend = 2.58, leak_at_last = 0.25;

static const double megabyte = 1048576;

static void find_swap(struct diagnosis_input *input)
{
    cause_disturbed(
        input, FINDING_SWAP,
        &(struct cause_disturbance){.item = VALIDITY_SWAP, .counter = SS_COUNTER_ID_SWAP_IN});
}

/* In all processes: what a worker waits for, the loop waits for sooner or later. */
static void find_faults(struct diagnosis_input *input)
{
    double all;
    const double per_s = cause_major_faults(input, &all);

    if (!cause_counter(input, FINDING_PAGE_FAULTS, SS_COUNTER_ID_PROCESS_MAJOR_FAULTS))
        return;
    const double share = per_s * fault_ns / 1e9;
    if (share < faults_share)
        return;
    struct finding *finding =
        cause_add(input, FINDING_PAGE_FAULTS, FINDING_WARN,
                  (struct interval){fmin(1, share * fault_least), fmin(1, share),
                                    fmin(1, share * fault_most)},
                  OF_LOOP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim, "memory is read from disk during training, %.0f %s per second",
               per_s, round(per_s) == 1 ? "time" : "times");
    cause_text(finding->evidence, "%.0f major page fault%s in all", all, all == 1 ? "" : "s");
    cause_say_slow(finding, input);
    cause_text(finding->check, "there should be fewer in the next run");
    cause_text(finding->unknown, "how long each took: a disk answers within 0.05 to 10 ms");
}

/* What the training may still get: of the machine, or up to the limit of its cgroup if that is
 * nearer. Files that the kernel keeps in memory count for a cgroup too, but it gives them back: so
 * what the training has itself counts. */
struct room {
    double left, limit;
    bool is_container;
};

static struct room find_room(const struct snapshot *snapshot, double used, double available)
{
    const struct snap_resource *limit =
        snapshot_value(snapshot, SS_COUNTER_ID_CGROUP_MEMORY_LIMIT, SNAP_ANY);
    const struct room machine = {available, used + available, false};

    if (!limit || !(limit->last > 0) || limit->last - used >= available)
        return machine;
    return (struct room){fmax(0, limit->last - used), limit->last, true};
}

/* It grows all the time, and still does at last (method 11.10). */
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

static void find_leak(struct diagnosis_input *input)
{
    const struct snap_resources *resources = &input->snapshot->resources;
    const struct snap_resource *memory =
        cause_counter(input, FINDING_MEMORY_LEAK, SS_COUNTER_ID_TREE_RSS);
    const struct snap_resource *available =
        cause_counter(input, FINDING_MEMORY_LEAK, SS_COUNTER_ID_MEMORY_AVAILABLE);
    const double growth = resources->growth_per_s,
                 length_s = (double)(resources->end_ns - resources->begin_ns) / 1e9;

    if (!memory || !available)
        return;
    const double used = at_end_of_loop(memory);
    const struct room room = find_room(input->snapshot, used, at_end_of_loop(available));
    if (!is_growing(memory, growth, length_s) || growth * length_s < leak_of_limit * room.limit)
        return;
    struct finding *finding = cause_add(input, FINDING_MEMORY_LEAK, FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, OF_RUN);
    char left[UNITS_SIZE];
    if (!finding)
        return;
    cause_text(finding->claim, "memory grows by %.1f MB per minute and would be full in %s",
               growth * 60 / megabyte, units_duration(left, (int64_t)(room.left / growth * 1e9)));
    cause_text(finding->evidence, "%.0f MB at the end, %.0f MB left %s", used / megabyte,
               room.left / megabyte,
               room.is_container ? "below the limit of the container" : "on the machine");
    cause_text(finding->check, "the row memory of 'Machine' in the next report");
}

/* Fresh pages a second of the loop's process, in half of the windows of its steady steps or more:
 * what is taken once, at the start or when a buffer grows, is none of this. NAN: not known. */
static double steady_pages(const struct diagnosis_input *input)
{
    const struct snap_windows *windows = &input->loop->windows;
    const struct snap_resource *row =
        snapshot_value(input->snapshot, SS_COUNTER_ID_PROCESS_MINOR_FAULTS,
                       run_pid(input->run, input->loop->process));
    double known[SNAP_WINDOWS], scratch[SNAP_WINDOWS];
    size_t count = 0;

    for (size_t i = 0; row && i < windows->count; i++)
        if (isfinite(row->window[i]))
            known[count++] = row->window[i];
    return count >= FRESH_WINDOWS ? robust_median(known, count, scratch) : NAN;
}

static void find_fresh_memory(struct diagnosis_input *input)
{
    const enum finding_id id = FINDING_FRESH_MEMORY;
    const double per_s = steady_pages(input), step_ns = input->loop->step_ns.mid,
                 per_step = per_s * step_ns / 1e9;
    const struct interval share = {per_s * fresh_page_least_ns / 1e9, per_s * fresh_page_ns / 1e9,
                                   per_s * fresh_page_most_ns / 1e9};
    char pages[UNITS_SIZE];

    if (!cause_counter(input, id, SS_COUNTER_ID_PROCESS_MINOR_FAULTS))
        return;
    if (!(share.mid >= fresh_share) &&
        !(share.high >= fresh_share && per_step >= fresh_pages_a_step))
        return;
    struct finding *finding = cause_add(
        input, id, share.low >= stage_bands.warn ? FINDING_WARN : FINDING_INFO,
        (struct interval){fmin(1, share.low), fmin(1, share.mid), fmin(1, share.high)}, OF_STEP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(
        finding->claim,
        "each step takes %s fresh memory pages from the kernel, which costs about %.1f %% of the step",
        units_integer(pages, (uint64_t)per_step), 100 * fmin(1, share.mid));
    cause_text(finding->evidence, "%s minor page faults per second, most of the time",
               units_integer(pages, (uint64_t)per_s));
    cause_say_slow(finding, input);
    cure_fresh_memory(finding, input);
    cause_text(finding->check, "fewer `process.minor_faults` in the next report (--json)");
    cause_text(
        finding->unknown,
        "how long each page took (0.1 to 0.5 us are assumed), and how many were for threads other than the loop thread");
}

const struct finding_kind finding_swap = {
    .name = "swap",
    .gist = "the machine is short of memory and swaps",
    .find = find_swap,
    .ends = {{"", ENDS_NONE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "use less memory or a machine with more: smaller batches, smaller caches",
            [FRAMEWORK_TORCH] =
                "use less memory or a machine with more: smaller batches, fewer workers (DataLoader(num_workers=), prefetch_factor=2)",
            [FRAMEWORK_KERAS] =
                "use less memory or a machine with more: smaller batches, a smaller .shuffle(buffer_size), no .cache() of all data",
            [FRAMEWORK_JAX] =
                "use less memory or a machine with more: smaller batches, donate_argnums for the state",
        },
    .given = "always",
    .meaning = "The machine is short of memory: it moves memory to disk (swap) and back.",
    .computed =
        "At least 400 KB per second to and from swap while the loop ran: about 1 % of the time with a fast disk.",
    .fixes = "Less memory: smaller batches, fewer workers, smaller caches and shuffle buffers.",
};

const struct finding_kind finding_page_faults = {
    .name = "page-faults",
    .gist = "memory is read from disk during training",
    .find = find_faults,
    .ends = {{"", "estimate: 0.05 to 10 ms for each"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "keep the data in memory, or read it ahead in few large pieces",
            [FRAMEWORK_TORCH] =
                "keep the data in memory, or let DataLoader workers read it ahead; numpy: "
                "np.load(file) instead of np.load(file, mmap_mode=\"r\")",
            [FRAMEWORK_KERAS] =
                "dataset.cache() if it fits into memory, otherwise .prefetch(tf.data.AUTOTUNE)",
            [FRAMEWORK_JAX] =
                "keep the data in memory, or read it ahead in another thread; numpy: np.load(file) "
                "instead of np.load(file, mmap_mode=\"r\")",
        },
    .given = "always",
    .meaning =
        "Memory that the training touches has to be read from disk first: a memory-mapped file, or memory that was swapped out.",
    .computed = "Major page faults at an assumed 1 ms each: reported at 2 % of the time or more. "
                "How long each took is unknown: the share is an estimate, for 0.05 to 10 ms each.",
    .fixes = "More memory, or read data ahead of its use.",
};

const struct finding_kind finding_memory_leak = {
    .name = "memory-leak",
    .gist = "the training's memory grows and will run out",
    .find = find_leak,
    .ends = {{"", ENDS_NONE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "look for allocations in each step that are never freed, and for lists that only grow",
            [FRAMEWORK_TORCH] =
                "keep numbers, not tensors: losses.append(loss.item()), total += loss.item(); look for lists that only grow",
            [FRAMEWORK_KERAS] =
                "keep numbers, not tensors: losses.append(float(loss)); "
                "create no layers, datasets or tf.functions inside the loop; keras.backend.clear_session() between models",
            [FRAMEWORK_JAX] =
                "keep numbers, not arrays: losses.append(float(loss)); "
                "call jax.jit outside the loop, since each new function stays in its cache",
        },
    .given = "always",
    .meaning = "The memory of the training grows steadily and will run out.",
    .computed =
        "The median slope of the memory of all training processes, if it is a clear trend, would fill 5 % of the limit over such a run, and still rises in its last third. "
        "The limit is the machine's memory or the container's (cgroup) limit, whichever is lower.",
    .fixes =
        "Lists that keep tensors or arrays instead of numbers, unbounded caches, functions and layers created in each step.",
};

const struct finding_kind finding_fresh_memory = {
    .name = "fresh-memory",
    .gist = "each step takes fresh memory from the kernel",
    .find = find_fresh_memory,
    .ends =
        {{"",
          "estimate: 0.1 to 0.5 us per page, as if all were for the loop thread; reported at 2 % of the step or more, a warning if the lower bound is at least 5 %"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "reuse buffers instead of allocating them in each step",
            [FRAMEWORK_TORCH] = "reuse tensors (out=, in-place operations)",
            [FRAMEWORK_KERAS] = "with numpy in the input, use out= and in-place operations",
            [FRAMEWORK_JAX] = "reuse arrays (out=, donated buffers)",
        },
    .given = "always",
    .cases =
        {{"the run used glibc, and none of its variables nor another allocator was set: also how glibc keeps freed memory",
          NULL, NULL}},
    .meaning =
        "Each step takes memory from the kernel and gives it back: the kernel has to clear each page when it is first touched.",
    .computed =
        "Minor page faults of the loop's process, in at least half of the steady run, at an assumed 0.25 us each: reported at 2 % of the step or more; "
        "at 0.5 us where there are 10,000 per step. "
        "A warning at 5 % or more for 0.1 us each. "
        "How long each took is unknown, and huge pages take longer: the share is an estimate, for 0.1 to 0.5 us.",
    .fixes =
        "Reused buffers, in-place operations, an allocator that keeps freed memory. "
        "glibc's malloc keeps it with MALLOC_TRIM_THRESHOLD_=-1, MALLOC_MMAP_THRESHOLD_=1073741824 and MALLOC_TOP_PAD_=268435456 in the environment; that is advised where the run used glibc and none of its variables, nor another allocator (LD_PRELOAD), was set.",
};
