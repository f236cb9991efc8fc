#include "diagnose/compare.h"

#include <math.h>

#include "diagnose/thresholds.h"
#include "stats/student.h"
#include "stepscope/counters.h"

/* Of a stage half of it: two stages may share what matters. */
static const double stage_matters = 0.01;
/* Batches count as different from 2 % on: the last one of an epoch may be short. */
static const double batch_matters = 0.02;
/* Of the CPU time of the loop's thread: what all others of the command may use, at most, if what it
 * waited for a core is to be left out; and of the time, what is worth it (method 13.2). */
static const double helpers_most = 0.1, waits_matter = 0.01;

/* Medians come from bins that are 0.8 % wide (stats/sketch.h): a standard deviation of
 * that over sqrt(12), and runs of a side are likely rounded alike. */
static const double MEDIAN_RESOLUTION = 0.0023;

/* Behind an interval from within a run stand ten batches (stats/interval.h). */
static const double FREEDOM_OF_BATCHES = 9;

static double error_of(struct interval interval)
{
    const double half = fmax(interval.high - interval.mid, interval.mid - interval.low);

    return half / student_quantile(0.975, FREEDOM_OF_BATCHES);
}

static struct compare_time stage_time(const struct snap_loop *loop, int number)
{
    const struct snap_stage *stage = &loop->stage[number];
    const double of_share = error_of(stage->share) * loop->step_ns.mid;
    const double of_step = error_of(loop->step_ns) * stage->share.mid;

    return (struct compare_time){.measured = stage->measured,
                                 .mean_ns = stage->mean_ns,
                                 .error_ns = hypot(of_share, of_step),
                                 .median_ns = stage->quantiles.p50_ns};
}

/* What takes time away from a run takes another part of the next one: they may differ
 * by as much. What others did beside it (`others`) counts as far as it took a core
 * from it (`preempted`), unless that time is left out. */
static double run_sigma_of(const struct compare_run *run, bool is_quiet)
{
    static const enum validity_id takers[] = {VALIDITY_STEAL,  VALIDITY_PREEMPTED,
                                              VALIDITY_CGROUP, VALIDITY_MEMORY,
                                              VALIDITY_IO,     VALIDITY_FREQUENCY};
    double sigma = COMPARE_RUN_SIGMA;

    for (size_t i = 0; run->watched && i < run->validity.count; i++)
        for (size_t k = 0; k < sizeof takers / sizeof *takers; k++)
            if (run->validity.item[i].id == takers[k] &&
                !(is_quiet && takers[k] == VALIDITY_PREEMPTED))
                sigma = fmax(sigma, run->validity.item[i].value); /* NAN: not seen */
    return sigma;
}

/* Of the time of a loop that computes on its own thread, alone in its command: with others that
 * work for it, what it waited for a core is not what a step lost. */
static double waited_share_of(const struct snapshot *snapshot, const struct snap_loop *loop)
{
    const struct snap_resource *ran =
        snapshot_thread_value(snapshot, SS_COUNTER_ID_THREAD_CPU, loop->tid);
    const struct snap_resource *waited =
        snapshot_thread_value(snapshot, SS_COUNTER_ID_THREAD_WAIT, loop->tid);
    const struct snap_resource *tree = snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);

    if (!ran || !waited || !tree || loop->is_asynchronous ||
        tree->mean - ran->mean > helpers_most * ran->mean)
        return NAN;
    return fmin(waited->mean / 1e9, 1);
}

static double samples_of(const struct snap_loop *loop)
{
    const double samples = loop->samples_per_s.mid / loop->steps_per_s.mid;

    return isfinite(samples) && samples > 0 ? samples : NAN;
}

bool compare_take(struct compare_run *out, const struct snapshot *snapshot,
                  const struct ss_run *run)
{
    if (snapshot->loop_count == 0 || snapshot->loops[0].steps == 0)
        return false;
    const struct snap_loop *loop = &snapshot->loops[0];

    *out = (struct compare_run){.steps = loop->steps,
                                .warmup_steps = loop->warmup_steps,
                                .steady_steps = loop->steady_steps,
                                .class = loop->warmup.class,
                                .samples = samples_of(loop),
                                .watched = snapshot_is_watched(snapshot)};
    if (out->class == WARMUP_TOO_FEW)
        out->missing = snapshot_steps_missing(loop);
    validity_judge(&out->validity, snapshot, run);
    out->run_sigma = run_sigma_of(out, false);
    out->quiet_sigma = run_sigma_of(out, true);
    out->waited_share = waited_share_of(snapshot, loop);
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        out->time[i] = stage_time(loop, i);
    out->time[COMPARE_STEP] = (struct compare_time){
        true, loop->step_ns.mid, error_of(loop->step_ns), loop->quantiles.p50_ns};
    return compare_layers_take(&out->layers, loop);
}

/* The most of all runs; NAN if it is not known of one. */
static double most_waited(const struct compare_side *a, const struct compare_side *b)
{
    double most = 0;

    for (size_t i = 0; i < a->count + b->count; i++) {
        const struct compare_run *run = i < a->count ? &a->runs[i] : &b->runs[i - a->count];
        if (isnan(run->waited_share))
            return NAN;
        most = fmax(most, run->waited_share);
    }
    return most;
}

/* Whether the batches differ, and are all known. */
static bool batches_differ(const struct compare_side *a, const struct compare_side *b)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < a->count + b->count; i++) {
        const struct compare_run *run = i < a->count ? &a->runs[i] : &b->runs[i - a->count];
        if (isnan(run->samples))
            return false;
        least = fmin(least, run->samples);
        most = fmax(most, run->samples);
    }
    return most > least * (1 + batch_matters);
}

static double assumed_of(const struct compare_side *side)
{
    double most = 0;

    for (size_t i = 0; i < side->count; i++)
        most = fmax(most, side->runs[i].run_sigma);
    return most;
}

static bool is_unsteady(const struct compare_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (side->runs[i].class == WARMUP_NO_STEADY_STATE)
            return true;
    return false;
}

/* One row of one side: a value of each run, on the scale that is compared. */
struct column {
    double value[COMPARE_MOST_RUNS], error[COMPARE_MOST_RUNS];
    size_t count;
    bool measured;
    double mean_ns; /* geometric where ratios are compared */
    double resolution;
    double run_sigma; /* a share of what it is about */
};

/* The median has the error of the mean, which has all of its noise, and that of the
 * spikes. */
static void fill_column(struct column *out, const struct compare_side *side, int row,
                        bool per_sample)
{
    const bool is_median = row == COMPARE_MEDIAN, is_quiet = row == COMPARE_QUIET;

    *out = (struct column){.count = side->count};
    for (size_t i = 0; i < side->count; i++) {
        const struct compare_run *run = &side->runs[i];
        const struct compare_time *time = &run->time[row > COMPARE_STEP ? COMPARE_STEP : row];
        const double left = is_quiet ? 1 - run->waited_share : 1;
        const double unit = (per_sample ? run->samples : 1) / left;
        const double sigma = is_quiet ? run->quiet_sigma : run->run_sigma;
        out->value[i] = (is_median ? time->median_ns : time->mean_ns) / unit;
        out->error[i] = time->error_ns / unit;
        out->mean_ns += out->value[i] / (double)side->count;
        out->measured = out->measured || time->measured;
        out->run_sigma = hypot(out->run_sigma, sigma / sqrt((double)side->count));
    }
    out->resolution = is_median ? MEDIAN_RESOLUTION : 0;
}

static void take_logs(struct column *column)
{
    double sum = 0;

    for (size_t i = 0; i < column->count; i++) {
        column->error[i] /= column->value[i];
        column->value[i] = log(column->value[i]);
        sum += column->value[i];
    }
    column->mean_ns = exp(sum / (double)column->count);
}

static struct compare_arm arm_of(const struct column *column, bool is_ratio)
{
    return (struct compare_arm){.value = column->value,
                                .error = column->error,
                                .count = column->count,
                                .run_sigma = column->run_sigma * (is_ratio ? 1 : column->mean_ns),
                                .resolution = column->resolution};
}

/* The gap between the columns and the change that it stands for. Of the step and its
 * median logs are compared; of a stage, which may be 0, times, as a part of `step_ns`. */
static struct compare_gap compare_columns(struct column *a, struct column *b, bool is_ratio,
                                          double step_ns, struct interval *change)
{
    const double scale = is_ratio ? 1 : step_ns;

    if (is_ratio) {
        take_logs(a);
        take_logs(b);
    }
    const struct compare_arm arm_a = arm_of(a, is_ratio);
    const struct compare_arm arm_b = arm_of(b, is_ratio);
    struct compare_gap gap = compare_arms(&arm_a, &arm_b);
    const struct interval found = compare_interval(&gap.difference);
    *change = is_ratio
                  ? (struct interval){expm1(found.low), expm1(found.mid), expm1(found.high)}
                  : (struct interval){found.low / scale, found.mid / scale, found.high / scale};
    gap.sigma /= scale;
    return gap;
}

struct sides {
    const struct compare_side *a, *b;
    double a_step_ns;
    struct compare_gap gap[COMPARE_ROWS];
};

static void fill_row(struct comparison *out, struct sides *sides, int number)
{
    struct compare_row *row = &out->row[number];
    struct column a, b;

    fill_column(&a, sides->a, number, out->per_sample);
    fill_column(&b, sides->b, number, out->per_sample);
    if (number == COMPARE_QUIET && !(out->waited_share >= waits_matter))
        a.measured = b.measured = false;
    *row = (struct compare_row){
        .in_a = a.measured, .in_b = b.measured, .change = {NAN, NAN, NAN}, .chance = NAN};
    if (a.measured && b.measured) {
        sides->gap[number] =
            compare_columns(&a, &b, number >= COMPARE_STEP, sides->a_step_ns, &row->change);
        row->chance = compare_chance(&sides->gap[number].difference);
    }
    row->a_ns = a.measured ? a.mean_ns : NAN;
    row->b_ns = b.measured ? b.mean_ns : NAN;
}

static bool is_compared(const struct compare_row *row)
{
    return row->in_a && row->in_b && (row->a_ns > 0 || row->b_ns > 0);
}

/* Stages that are too small to matter on either side are no question, and make none of
 * the others harder to answer. */
static void correct_stages(struct comparison *out, double step_ns)
{
    double chance[SS_STAGE_COUNT];

    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const struct compare_row *row = &out->row[i];
        const bool asked =
            is_compared(row) && fmax(row->a_ns, row->b_ns) >= stage_matters * step_ns;
        chance[i] = asked ? row->chance : NAN;
    }
    compare_correct(chance, SS_STAGE_COUNT);
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        out->row[i].chance = chance[i];
}

static void judge_row(struct comparison *out, const struct sides *sides, int number)
{
    struct compare_row *row = &out->row[number];
    const double matters = number < SS_STAGE_COUNT ? stage_matters : step_matters;
    const bool blind = out->unsteady && out->level == COMPARE_INDICATION;

    if (!blind && is_compared(row))
        row->word = compare_judge(row->change, row->chance, matters);
    if (row->word == COMPARE_INCONCLUSIVE && is_compared(row))
        row->more_runs = compare_more_runs(&sides->gap[number], sides->a->count, sides->b->count,
                                           fmax(matters, fabs(row->change.mid)));
}

/* What a stage takes in a step of a side: its mean, or its median where that of the
 * step decided. */
static double stage_ns(const struct compare_side *side, int stage,
                       const struct comparison *comparison)
{
    double sum = 0;

    for (size_t i = 0; i < side->count; i++) {
        const struct compare_time *time = &side->runs[i].time[stage];
        const double ns =
            comparison->decided_by == COMPARE_MEDIAN ? time->median_ns : time->mean_ns;
        sum += ns / (comparison->per_sample ? side->runs[i].samples : 1);
    }
    return sum / (double)side->count;
}

static void find_carrier(struct comparison *out, const struct sides *sides)
{
    const struct compare_row *row = &out->row[out->decided_by];

    out->carrier = -1;
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const double more_ns = stage_ns(sides->b, i, out) - stage_ns(sides->a, i, out);
        const double carried = more_ns / (row->b_ns - row->a_ns);
        if ((out->word == COMPARE_SLOWER || out->word == COMPARE_FASTER) &&
            is_compared(&out->row[i]) && carried >= carries) {
            out->carrier = i;
            out->carried = carried;
        }
    }
}

static void find_headline(struct comparison *out)
{
    const enum compare_word mean = out->row[COMPARE_STEP].word;
    const enum compare_word quiet = out->row[COMPARE_QUIET].word;

    out->word = compare_headline(mean, out->row[COMPARE_MEDIAN].word);
    out->decided_by = out->word == mean ? COMPARE_STEP : COMPARE_MEDIAN;
    if (out->word == COMPARE_INCONCLUSIVE && quiet != COMPARE_INCONCLUSIVE) {
        out->word = quiet;
        out->decided_by = COMPARE_QUIET;
    }
}

void compare_sides(struct comparison *out, const struct compare_side *a,
                   const struct compare_side *b)
{
    struct sides sides = {.a = a, .b = b};
    struct column step;

    *out = (struct comparison){.per_sample = batches_differ(a, b),
                               .assumed = fmax(assumed_of(a), assumed_of(b)),
                               .waited_share = most_waited(a, b),
                               .unsteady = is_unsteady(a) || is_unsteady(b)};
    fill_column(&step, a, COMPARE_STEP, out->per_sample);
    sides.a_step_ns = step.mean_ns;
    for (int i = 0; i < COMPARE_ROWS; i++)
        fill_row(out, &sides, i);
    out->level = sides.gap[COMPARE_STEP].level;
    correct_stages(out, sides.a_step_ns);
    for (int i = 0; i < COMPARE_ROWS; i++)
        judge_row(out, &sides, i);
    find_headline(out);
    find_carrier(out, &sides);
}

enum compare_gate compare_gate(const struct comparison *comparison, double limit)
{
    const struct interval change = comparison->row[comparison->decided_by].change;

    if (comparison->level == COMPARE_INDICATION)
        return COMPARE_GATE_UNDECIDED;
    if (change.low > limit)
        return COMPARE_GATE_FAILED;
    return change.high <= limit ? COMPARE_GATE_PASSED : COMPARE_GATE_UNSURE;
}

const char *compare_word_text(enum compare_word word)
{
    static const char *const texts[] = {"inconclusive", "same", "faster", "slower"};

    return texts[word];
}

const char *compare_level_text(enum compare_level level)
{
    return level == COMPARE_TEST ? "test" : "indication";
}

const char *compare_gate_text(enum compare_gate gate)
{
    static const char *const texts[] = {"passed", "unsure", "undecided", "failed"};

    return texts[gate];
}

const char *compare_row_text(int row)
{
    return row == COMPARE_STEP     ? "step"
           : row == COMPARE_MEDIAN ? "median step"
           : row == COMPARE_QUIET  ? "quiet step"
                                   : ss_stage_text((unsigned)row);
}
