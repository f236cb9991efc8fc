/* All numbers by which something is said or not, in one table, each with its reason. "Rule book" is the
 * method that Stepscope follows (docs/diagnosis.md says which part is used); where a number is ours alone, it says
 * so. Shares are parts of 1; a band is compared with the lower end of a share's 95 % interval. */
#ifndef DIAGNOSE_THRESHOLDS_H
#define DIAGNOSE_THRESHOLDS_H

#include <stdint.h>

/* Shares from which on something is said: info, warn, high. */
struct bands {
    double info, warn, high;
};

/* From which share on a disturbance is worth a word, and from which on it changes times. */
struct limits {
    double note, warn;
};

/* Stages of a step. Rule book 11.2 and 12: a candidate from 3 %, moderate from 5 %, high from 20 %. */
static const struct bands stage_bands = {0.03, 0.05, 0.2};
/* A callback is there by choice, so less of it is too much: rule book 3.1. */
static const struct bands callback_bands = {0.01, 0.03, 0.1};
/* The script's own code, as stages. */
static const struct bands own_bands = {0.03, 0.05, 0.2};
/* Of the script's own code, one line must have so much for it to be that line; else all of it has to be worth as
 * much as what nothing names (ours). And samples of what no span covers, for these to say anything (ours). */
static const double own_line_least = 0.5;
enum { OWN_SAMPLES = 4 };
/* What nothing names: coverage below 90 % (rule book 11.1). It is a trainer's own if most of its samples are below a
 * call of that (ours). */
static const struct bands unnamed_bands = {0.1, 0.1, 0.5};
static const double unnamed_trainer = 0.5;
/* Compiling in steady steps: a little below callbacks, as it is never wanted there (ours). */
static const struct bands storm_bands = {0.02, 0.03, 0.2};
/* Compilations of one function that make a storm: two shapes and a rest are usual. Where they are a high
 * share of the step, three are enough (ours). */
enum { STORM_LEAST = 5, STORM_SURE = 3 };
/* Compiling at the start, of the run: short runs have much of it, so a warning comes late (ours). */
static const struct bands start_bands = {0.1, 0.2, 0.5};
static const double start_least_ns =
    5e9; /* and not for some seconds, which only a trial has */
/* The first run of what was just compiled is slow as well, and goes with it: a tenth more (ours). */
static const double start_most = 1.1;
/* Evaluation and saving, of the loop: both are useful, so more of it is accepted (ours). */
static const struct bands cut_bands = {0.05, 0.1, 0.3};
/* A cut that was seen n times may have been cut off, or just begun: a quarter of one more or less on
 * average (ours). */
static const double cut_unsure = 0.25;
/* A callback is named as a part of a cut from a fifth of it on, and what to change if it is most of it (ours). */
static const double cut_part = 0.2, cut_most = 0.5;
/* Of a callback's time, what has another name is said from such a part on (ours). */
static const double callback_part_said = 0.05;
/* A callback is blocked if its thread ran less than half of the time, else busy, as far as the 95 % interval of the
 * looks at it is on one side: 4 of 4 are enough (rule book 3.1). */
static const double callback_blocked = 0.5, callback_busy = 0.5;
/* Calls for a p95 and for a p99: one of them is beyond it (ours). */
enum { P95_CALLS = 20, P99_CALLS = 100 };
/* A callback with so much of the time of all of them has their interval (ours). */
static const double callback_alone = 0.9;
/* A callback with so many steps a call is called now and then, not in each (ours). */
static const double now_and_then = 1.5;

/* What follows a wait is slower for it: cores were asleep, caches are cold, clocks low; a garbage collection leaves
 * caches cold, too. Without the wait that goes as well: up to 0.3 of the wait itself, and up to 0.4 of the rest (ours; in
 * two runs of the fault matrix, with sleeps of 2 to 12 ms beside 3 to 8 ms of computing, 193 of 197 gains are below that,
 * and 141 are not above the share alone). */
static const double after_wait_more = 0.3, after_wait_rest = 0.4;

/* With too few steps for an interval: from such a share on a cause is named, and may be half or twice as
 * large (ours: a fifth is far above every other band, even halved). */
static const double few_least = 0.2, few_times_least = 0.5, few_times_most = 2;

/* A share that may or may not warn is worth more steps if it may be as much as twice what does; one of 4 to 6 % is
 * not. How many steps is said where that is less than a hundred times as many as there were; at least a tenth more (ours). */
static const double unsure_from = 0.1, unsure_nearest = 0.1, unsure_more_least = 0.1;

/* A line is named from such a share of its stage's samples on, by the lower end of Wilson's interval, so
 * that 4 of 4 samples are more than half and 1 of 2 is nothing (ours). */
static const double line_share = 0.2;
/* Looks at a thread, for the part of the time in which it ran to be known (ours). */
enum { LOOKS_NEEDED = 20 };
/* Looks at a thread in which it ran: works itself, or waits (rule book 8.2: below 0.5 it waits; 0.1 to
 * either side is left open). */
static const double mostly_busy = 0.6, mostly_waiting = 0.4;
/* Compute-bound is a positive claim: rule book 11.5. */
static const double compute_share = 0.8, really_busy = 0.9;
/* What is named as heaviest has so much of the step (ours). */
static const double heavy_least = 0.02;

/* Fixed cost of a step: from half on more samples a step are nearly free (B below a / b, rule book 4.1). */
static const struct bands fixed_bands = {0, 0.5, 0.8};
/* Sizes must differ by so much, and have so many steps, for their times to say anything (ours). */
static const double sizes_apart = 1.5;
/* The size of a loop's batches is that of most steps, if the mean is so near (ours). */
static const double usual_apart = 0.1;
enum { SIZE_STEPS = 10 };

/* Drift: rule book 10.1 has a trend from 2 % on; but machines that are shared differ by 5 % within a run
 * without any counter that shows it (the fault matrix), so a warning comes from 10 % on. */
static const struct bands drift_bands = {0.05, 0.1, 0.25};
/* A stage carries a drift with 60 % of it (`carries`). It is not the machine's doing if other stages that compute grew by
 * less than half as much, which can be told if they have 5 % of the time of the two or more (ours). */
static const double drift_alike = 0.5, drift_rest = 0.05;
/* What a drift costs depends on what steps would have taken without it, which nobody knows: half to three times of
 * what they take more than in the first third (ours; the fault matrix has the evidence). Of a straight line the first
 * third has a third of the growth itself, hence 1.5; and from its middle to that of the last third are two thirds of it, so
 * that twice the difference of the two is surely more than all of it. */
static const double drift_times_least = 0.5, drift_times_most = 3, drift_line = 1.5,
                    drift_lasting = 2;
/* Pauses: from 2 % of the mean on (rule book 12, practical effect); a warning from 10 %. */
static const double pause_info = 0.02, pause_warn = 0.1;
/* Half of a share: so much of what no span covers must be pauses for these to be its name; and so much of
 * them must be something else for that to be theirs (ours). */
static const double pause_part = 0.5;
/* Two levels of step times: how far apart and how rare the rarer one may be is in stats/modes.h; what the slow ones cost
 * is worth a word from twice as much on as a stage, since caches and neighbours make two speeds by themselves (ours). */
static const struct bands modes_bands = {0.06, 0.1, 0.4};
/* A tail of predictions: p99 over p50, and calls for a p99. From three slow ones on they are surely more than the
 * first call, which is slow by nature (ours). */
static const double tail_ratio = 3;
enum { TAIL_CALLS = 100, TAIL_CALLS_SURE = 300 };

/* Ranks: rule book 9.3: 5 % slower in the middle, 2.5 % in 80 % of 10 windows or more. */
static const double straggler_excess = 0.05, straggler_each = 0.025, straggler_part = 0.8;
enum { STRAGGLER_WINDOWS = 10 };

/* Replay of the input (rule book 2.5): it has to reproduce the step that was seen within 5 %. */
static const double replay_error = 0.05;
/* PyTorch's own: two batches ahead for each worker. Batches for their times to be known. Workers to begin with. As many as make
 * batches at a time, but for a tenth of one that is noise (ours). */
enum { AHEAD_EACH = 2, REPLAY_CALLS = 20, WORKERS_USUAL = 4 };
static const double workers_unsure = 0.1;
/* So much of the wait for batches makes it the reason: most of it. A worker is slow if it takes so many times as
 * long as the others (ours: 5 to 15 % is usual, rule book 2.4). */
static const double input_part = 0.5, worker_slow = 1.5;
/* Workers that make a batch less than so much of the time wait for the loop, not the loop for them (ours). */
static const double workers_idle = 0.7;

/* Major faults: 2 % of the time at 1 ms each, which is between a disk and a fast one (rule book 8.2): ten times of it, or,
 * with the fastest, a twentieth (ours: here they took 65 to 85 us). */
static const double faults_share = 0.02, fault_ns = 1e6, fault_least = 0.05,
                    fault_most = 10;
/* Minor faults: 2 % of the step at 0.25 us each, or at 0.5 us where they are 10,000 a step (rule book 8.2: 0.1 to 0.5 us). In
 * so many windows of steady steps their number has to be known (ours). */
static const double fresh_share = 0.02, fresh_page_least_ns = 100, fresh_page_ns = 250,
                    fresh_page_most_ns = 500, fresh_pages_a_step = 1e4;
enum { FRESH_WINDOWS = 8 };
/* A leak: so much of what there is in one run, a trend at 1 % (rule book 10.2), and in the last third still a quarter of
 * the growth before (ours). */
static const double leak_of_limit = 0.05, leak_trend = 2.58, leak_at_last = 0.25;
/* Of the time that the loop was ready and waited for a core: so much was surely others' doing, and with its
 * helper threads, which waited as well, it may have lost so much (ours; the fault matrix has the evidence). */
static const double waited_least = 0.5, waited_most = 2;
/* Too many threads: more than two a core, and the loop waits (rule book 8.2) though nearly all that runs is the training's
 * own. A warning if cores are full (rule book 8.2), or if it waits for a tenth of the time: between what its threads do
 * together only one works, and a little of a wait there is usual with as many threads as cores (ours). */
static const double threads_per_core = 2, crowded_wait = 0.02, crowded_own = 0.9,
                    crowded_cores = 0.9, crowded_surely = 0.1;

/* A counter of the machine explains slow steps from 30 % of what they take more on, and goes with them below p = 0.01
 * (rule book 8.3). */
static const double attribution_least = 0.3, attribution_p = 0.01;

/* GPUs: idle 30 % of the time is worth a look, 70 % is high; full from 95 % on, and that says something if it rose by 1 %
 * or more while the loop ran: frameworks reserve memory and keep it; 10 % of the clock (ours). */
static const double gpu_idle_below = 0.7, gpu_idle_high = 0.3, gpu_full_from = 0.95,
                    gpu_memory_moves = 0.01;
static const double gpu_clock_held = 0.9;
/* A reason to hold its clock counts if it was there in so many of the samples (rule book 8.2). */
static const double gpu_held_part = 0.05;
/* A GPU that is busy so much does its work while the host waits: then the wait is no loss (ours). */
static const double gpu_working = 0.7;

/* A change below 2 % of the step is not worth a word, and machines that are not kept
 * quiet differ by as much from day to day (rule book 6.2). */
static const double step_matters = 0.02;
/* Of a stage half of it: two stages may share what matters. */
static const double stage_matters = 0.01;
/* A stage that has so much of the step's change is named as its carrier (rule book
 * 10.1). */
static const double carries = 0.6;
/* Batches count as different from 2 % on: the last one of an epoch may be short. */
static const double batch_matters = 0.02;

/* Disturbances of the validity stamp. The second number is the rule book's (8.2, 3.3); the first is what can be
 * told from nothing in a short run. */
static const struct limits steal_limits = {0.002, 0.01};
static const struct limits wait_limits = {0.005, 0.02};
static const struct limits throttle_limits = {0, 0.01};
static const struct limits memory_limits = {0.002, 0.01};
static const struct limits io_limits = {0.005, 0.02};
static const struct limits frequency_limits = {0.02, 0.05};
/* A clock falls from what a core had in the best quarter of its busy time to what it had in the worst quarter after
 * that: a boost at the start is usual and shorter, single looks stray, and what is slower by a fifth for less than a
 * quarter of the time is less than the limit on average. So many of 32 stretches of time must be busy (ours). */
static const double clock_part = 0.25;
enum { CLOCK_WINDOWS = 4 };
/* Heat: the kernel counts short spikes, too, of which it drops the time (rule book 8.2). What lasts comes again and again;
 * the clock is about a third lower meanwhile, so that a tenth of the time is some 3 % (ours). */
static const double heat_part = 0.1;
enum { HEAT_TIMES = 3 };
/* Swap, in bytes a second: 100 pages of 4 KB, each of which takes 0.1 ms from a fast disk, are 1 % of the time, as with
 * memory (rule book 8.2 has any of it while the run is slow; a page of somebody else's is none of that). */
static const struct limits swap_limits = {0, 409600};
static const struct limits others_limits = {0.05, 0.25};
/* The command has more time than the cores of its loops have worked: by more than looks at two moments differ (ours). */
static const double tree_elsewhere = 1.1;
static const struct limits cost_limits = {0.003, 0.005};
static const struct limits beside_limits = {0.01, 0.03}; /* we allow ourselves 0.45 % */
/* What a span costs inside of a step, in spans as a process measures them at its start, one after the other. In C, 53 to
 * 31 ns by the median of single spans, and 2.4 by pairs of steps. In Python it is a call of ours around one of somebody
 * else's: 2.4 us for the 5 of a step of PyTorch where one after the other takes 18 ns, by pairs (bench/README.md, steps of
 * frameworks). */
static const double span_in_step = 2, python_span_in_step = 27;
static const struct limits perturbed_limits = {0.01, 0.1};
static const double watched_least = 0.9, core_busy = 0.9, gpu_busy = 0.3;
/* Long enough for the supervisor to have looked several times: its own start counts too much before (ours). */
static const int64_t watch_least_ns = INT64_C(5000000000);
static const int64_t usual_flagged = 2; /* the last step of a loop is often cut short */

#endif
