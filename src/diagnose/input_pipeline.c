#include "diagnose/input_pipeline.h"

#include <math.h>
#include <string.h>

#include "diagnose/hardware.h"
#include "diagnose/hot_function.h"
#include "diagnose/input_workers.h"
#include "summary/snapshot.h"

/* Of the samples of threads that make batches, this many decide what they do; a fifth of them
 * waiting for a lock is more than handing over takes (ours). */
static const double making_part = 0.5, lock_part = 0.2;
/* Threads that only wait: more than 16 help few disks (ours). */
enum { WAITING_MOST = 16 };

enum making { MAKING_UNKNOWN, MAKING_COMPUTES, MAKING_ONLY_WAITS };

static const struct input_source *source_of(const struct diagnosis_input *input)
{
    return &input->loop->batches_from;
}

static bool has(const struct diagnosis_input *input, unsigned what)
{
    return source_of(input)->has & what;
}

bool input_pipeline_is_known(const struct diagnosis_input *input)
{
    return source_of(input)->kind != INPUT_UNKNOWN;
}

static uint64_t count_looks(const struct diagnosis_input *input)
{
    const uint64_t *looks = input->snapshot->input.looks;

    return looks[MAKING_WAITS] + looks[MAKING_RUNS] + looks[MAKING_WAITS_FOR_LOCK];
}

/* A thread that waits for the interpreter has something to compute. */
static enum making find_making(const struct diagnosis_input *input)
{
    const uint64_t *looks = input->snapshot->input.looks, all = count_looks(input);

    if (snapshot_share(all - looks[MAKING_WAITS], all).low >= making_part)
        return MAKING_COMPUTES;
    return snapshot_share(looks[MAKING_WAITS], all).low >= making_part ? MAKING_ONLY_WAITS
                                                                       : MAKING_UNKNOWN;
}

static bool is_held_by_lock(const struct diagnosis_input *input)
{
    return snapshot_share(input->snapshot->input.looks[MAKING_WAITS_FOR_LOCK], count_looks(input))
               .low >= lock_part;
}

static int idle_cores(const struct diagnosis_input *input)
{
    const double cores = cause_cores(input);
    const struct snap_resource *busy = run_cores_of(input->snapshot).busy;

    if (cores <= 0)
        return 1;
    return (int)fmax(0, floor(busy ? cores - busy->mean / 1e9 + core_nearly : cores - 1));
}

static int workers_of(const struct diagnosis_input *input)
{
    const int workers = source_of(input)->workers;

    return workers > 1 ? workers : 1;
}

/* As they are what the loop waits for, each takes as many steps for a batch as there are of them:
 * this many keep up with the rest of the step. */
static int workers_needed(const struct diagnosis_input *input)
{
    const double rest = 1 - input->loop->stage[SS_STAGE_DATA].share.mid;

    return (int)fmin(WAITING_MOST, ceil(workers_of(input) / fmax(rest, 0.01)));
}

static bool makes_small_batches(const struct diagnosis_input *input)
{
    return input->loop->step_ns.mid * workers_of(input) < worker_worth_ns;
}

static const char *kind_text(enum input_kind kind)
{
    static const char *const texts[] = {[INPUT_UNKNOWN] = "",
                                        [INPUT_TF_DATA] = "a tf.data.Dataset",
                                        [INPUT_PY_DATASET] = "a PyDataset",
                                        [INPUT_GENERATOR] = "a Python generator, in one thread",
                                        [INPUT_ARRAYS] = "arrays in memory"};

    return texts[kind];
}

static void add_part(char out[FINDING_TEXT_SIZE], bool *is_first, const char *text)
{
    cause_more(out, "%s%s", *is_first ? ": " : ", ", text);
    *is_first = false;
}

static void say_parts(struct finding *finding, const struct diagnosis_input *input)
{
    static const struct {
        unsigned has;
        const char *text;
    } parts[] = {{INPUT_HAS_GENERATOR, "from_generator()"},
                 {INPUT_HAS_PYTHON_MAP, "map() with Python code (py_function or numpy_function)"},
                 {INPUT_HAS_SERIAL_MAP, "map() without num_parallel_calls"},
                 {INPUT_HAS_SERIAL_INTERLEAVE, "interleave() without num_parallel_calls"},
                 {INPUT_HAS_CACHE, "cache()"}};
    bool is_first = true;

    cause_more(finding->evidence, "; the batches come from %s", kind_text(source_of(input)->kind));
    if (source_of(input)->kind == INPUT_PY_DATASET) {
        cause_more(finding->evidence, " with workers=%d%s", workers_of(input),
                   has(input, INPUT_HAS_PROCESSES) ? ", use_multiprocessing=True" : "");
    } else if (source_of(input)->kind == INPUT_TF_DATA) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            if (has(input, parts[i].has))
                add_part(finding->evidence, &is_first, parts[i].text);
        add_part(finding->evidence, &is_first,
                 has(input, INPUT_HAS_PREFETCH) ? "prefetch() at its end"
                                                : "no prefetch() at its end");
    }
}

static struct hot_function find_maker(const struct diagnosis_input *input)
{
    return hot_function_most(input, SNAP_HOT_MAKING, hot_count_all);
}

void input_say_maker(struct finding *finding, const struct diagnosis_input *input)
{
    const struct hot_function maker = find_maker(input);
    const uint64_t all = input->snapshot->hot.place_samples[SNAP_HOT_MAKING];

    if (!maker.line)
        return;
    const uint64_t count = hot_function_is_whole(&maker) ? maker.samples : maker.at_line;
    const struct interval share = snapshot_share(count, all);
    if (share.low < line_share)
        return;
    cause_more(finding->evidence, "; %.0f %% of the time in which batches are made goes into ",
               100 * share.mid);
    hot_function_say(finding->evidence, input, &maker, hot_count_all);
}

void input_pipeline_say(struct finding *finding, const struct diagnosis_input *input)
{
    const enum making making = find_making(input);

    say_parts(finding, input);
    input_say_maker(finding, input);
    if (making == MAKING_ONLY_WAITS)
        cause_more(finding->evidence, "; that code mostly waits");
    else if (making == MAKING_COMPUTES && is_held_by_lock(input))
        cause_more(
            finding->evidence,
            "; its threads take turns, as the interpreter lets one of them run at a time (the GIL)");
    else if (making == MAKING_COMPUTES)
        cause_more(finding->evidence, "; that code computes");
}

/* A generator has to become a PyDataset first. */
static const char *place_of_workers(const struct diagnosis_input *input)
{
    return source_of(input)->kind == INPUT_GENERATOR
               ? "make the generator a keras.utils.PyDataset with "
               : "give the PyDataset ";
}

static void advise_processes(struct finding *finding, const struct diagnosis_input *input)
{
    const bool has_them = has(input, INPUT_HAS_PROCESSES);
    const int most = idle_cores(input) + (has_them ? workers_of(input) : 1),
              needed = workers_needed(input), workers = needed < most ? needed : most;

    if (makes_small_batches(input))
        cause_text(
            finding->advice,
            "make a batch with fewer and larger operations: numpy on the whole batch instead of Python on each sample, or what tf.data has for it; "
            "no more workers: it takes longer to hand such a small batch over than to make it");
    else if (workers <= (has_them ? workers_of(input) : 1))
        cause_text(finding->advice, "%s", input_workers_text(WORKERS_NO_CORE));
    else
        cause_text(
            finding->advice,
            "%sworkers=%d, use_multiprocessing=True: threads of Python compute one at a time",
            place_of_workers(input), workers);
}

static void advise_workers(struct finding *finding, const struct diagnosis_input *input)
{
    switch (find_making(input)) {
    case MAKING_COMPUTES:
        advise_processes(finding, input);
        break;
    case MAKING_ONLY_WAITS:
        cause_text(finding->advice, "%sworkers=%d: its code waits, so that threads need no core",
                   place_of_workers(input), workers_needed(input));
        break;
    default:
        if (has(input, INPUT_HAS_PROCESSES)) /* what they do is not seen from here */
            advise_processes(finding, input);
        else
            cause_text(finding->advice,
                       "%sworkers=%d, and if it computes in Python use_multiprocessing=True",
                       place_of_workers(input), workers_needed(input));
    }
}

static void add_step(struct finding *finding, const char *text)
{
    cause_more(finding->advice, "%s%s", finding->advice[0] ? "; " : "", text);
}

/* What Python code is in the way, and what takes its place. */
static void advise_python(struct finding *finding, const struct diagnosis_input *input)
{
    const enum making making = find_making(input);
    const bool waits = making == MAKING_ONLY_WAITS;
    const struct hot_function maker = find_maker(input);

    if (has(input, INPUT_HAS_GENERATOR) && waits)
        add_step(
            finding,
            "several generators in parallel: tf.data.Dataset.range(8).interleave(one, num_parallel_calls=8), where one(i) is a from_generator() for its part of the data");
    else if (has(input, INPUT_HAS_GENERATOR))
        add_step(
            finding,
            "let the generator give whole batches that numpy makes at once, or read with tf.data itself (from_tensor_slices(), TFRecordDataset) and .map(f, num_parallel_calls=tf.data.AUTOTUNE)");
    if (!has(input, INPUT_HAS_PYTHON_MAP))
        return;
    if (!waits)
        cause_more(
            finding->advice,
            "%s%swrite %s with operations of TensorFlow: py_function and numpy_function run one at a time, whatever num_parallel_calls says",
            finding->advice[0] ? "; " : "",
            making == MAKING_COMPUTES ? "" : "unless it only waits, ",
            maker.line ? maker.line->at.function : "its function");
    else if (!has(input, INPUT_HAS_SERIAL_MAP))
        add_step(finding,
                 "num_parallel_calls=16 in the map() that waits, as AUTOTUNE counts cores");
}

static void advise_dataset(struct finding *finding, const struct diagnosis_input *input)
{
    const bool has_core = idle_cores(input) >= 1 || find_making(input) == MAKING_ONLY_WAITS;

    finding->advice[0] = '\0';
    advise_python(finding, input);
    if (has(input, INPUT_HAS_SERIAL_MAP) && has_core &&
        (!has(input, INPUT_HAS_PYTHON_MAP) || find_making(input) == MAKING_ONLY_WAITS))
        add_step(finding, ".map(f, num_parallel_calls=tf.data.AUTOTUNE)");
    if (has(input, INPUT_HAS_SERIAL_INTERLEAVE) && has_core)
        add_step(finding, ".interleave(f, num_parallel_calls=tf.data.AUTOTUNE)");
    if (!has(input, INPUT_HAS_PREFETCH))
        add_step(finding, ".prefetch(tf.data.AUTOTUNE) at its end");
    if (finding->advice[0])
        return;
    if (!has(input, INPUT_HAS_CACHE))
        add_step(
            finding,
            "it is parallel and runs ahead already: .cache() what is the same in each epoch, if it fits into memory, or store batches that are made ahead of time (dataset.save())");
    else
        add_step(
            finding,
            "it is parallel, cached and runs ahead already: batches that are cheaper to make, larger ones, or data in memory");
}

void input_pipeline_advise(struct finding *finding, const struct diagnosis_input *input)
{
    switch (source_of(input)->kind) {
    case INPUT_TF_DATA:
        advise_dataset(finding, input);
        break;
    case INPUT_PY_DATASET:
    case INPUT_GENERATOR:
        advise_workers(finding, input);
        break;
    case INPUT_ARRAYS:
        cause_text(
            finding->advice,
            "larger batches (batch_size=): each one is gathered from the arrays and handed over at a cost that hardly depends on its size");
        break;
    default:
        break;
    }
}
