#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/robust.h"
#include "stats/steady.h"
#include "summary/snapshot_parts.h"

static const double WANTED_PRECISION = 0.02;

void snapshot_quantiles(const struct sketch *sketch, struct snap_quantiles *out)
{
    out->p50_ns = sketch_quantile(sketch, 0.50);
    out->p90_ns = sketch_quantile(sketch, 0.90);
    out->p95_ns = sketch_quantile(sketch, 0.95);
    out->p99_ns = sketch_quantile(sketch, 0.99);
    out->p999_ns = sketch_quantile(sketch, 0.999);
    out->max_ns = sketch->count ? sketch->max_ns : 0;
}

/* `kept`: NULL, or an empty sketch that has it all from then on. */
static void column_quantiles(const struct series *series, int64_t start, int column,
                             struct snap_quantiles *out, struct sketch *kept)
{
    struct sketch sketch;
    sketch_init(&sketch);
    series_merge_from(series, start, column, &sketch);
    snapshot_quantiles(&sketch, out);
    if (kept)
        *kept = sketch;
    else
        sketch_release(&sketch);
}

/* Mean of a column a step, in the first and in the last third of the cells. */
static void fill_thirds(const struct cells *cells, int64_t start, int column,
                        struct snap_stage *out)
{
    double part[CELLS_MAX], steps[CELLS_MAX], early = 0, late = 0, first = 0, last = 0;
    size_t count = cells_column(cells, start, column, part);
    cells_column(cells, start, CELLS_STEPS, steps);
    for (size_t i = 0; i < count / 3; i++) {
        early += part[i];
        first += steps[i];
        late += part[count - 1 - i];
        last += steps[count - 1 - i];
    }
    out->early_ns = first > 0 ? early / first : NAN;
    out->late_ns = last > 0 ? late / last : NAN;
}

static bool stage_seen(const struct loop *loop, int stage)
{
    return cells_sum(&loop->series.cells, 0, stage) != 0 || loop->between.stage_ns[stage] != 0;
}

static void fill_stages(const struct model *model, const struct loop *loop, struct snap_loop *out)
{
    const struct cells *cells = &loop->series.cells;
    const int64_t start = out->warmup.start;
    if (model->processes[loop->process].facts.rank >= 0)
        out->stage_times = calloc(SS_STAGE_COUNT, sizeof *out->stage_times);
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        struct snap_stage *stage = &out->stage[i];
        stage->measured = i == SS_STAGE_OTHER || stage_seen(loop, i);
        stage->total_ns = cells_sum(cells, start, i);
        stage->mean_ns =
            out->steady_steps ? (double)stage->total_ns / (double)out->steady_steps : NAN;
        stage->share = steady_share(cells, start, i);
        fill_thirds(cells, start, i, stage);
        column_quantiles(&loop->series, start, i, &stage->quantiles,
                         out->stage_times ? &out->stage_times[i] : NULL);
    }
    const char *reason =
        (loop->input & INPUT_HIDDEN) ? "in-graph input, not separable"
        : (loop->input & INPUT_SHARED) && model->processes[loop->process].waits.seen > 0
            ? "two loops computed at once: waits cannot be separated"
            : NULL;
    if (reason) {
        out->stage[SS_STAGE_DATA].measured = false;
        out->stage[SS_STAGE_DATA].reason = reason;
    } else if (loop->input & INPUT_BESIDE) {
        out->stage[SS_STAGE_DATA].at_most =
            "calls fetched several batches, and may have computed while they waited";
    }
}

struct interval snapshot_chunk_share(const struct loop *loop, int64_t start,
                                     const int64_t chunk_ns[SERIES_CHUNKS])
{
    double part[SERIES_CHUNKS], whole[SERIES_CHUNKS], scratch[4 * SERIES_CHUNKS];
    size_t count = 0;
    for (int i = series_chunk_from(&loop->series, start);
         i <= loop->series.chunks && i < SERIES_CHUNKS; i++) {
        part[count] = (double)chunk_ns[i];
        whole[count++] = (double)loop->series.chunk[i][SERIES_STEP].sum_ns;
    }
    struct interval result = interval_ratio(part, whole, count, scratch);
    result.low = result.low > 0 ? result.low : 0;
    return result;
}

static void fill_device(const struct model *model, const struct loop *loop, struct snap_loop *out)
{
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        out->device[i] = (struct interval){NAN, NAN, NAN};
    for (uint32_t i = 0; i < loop->calls.count; i++) {
        const struct name_calls *calls = &loop->calls.row[i];
        const struct model_name *name = &model->names.name[calls->name];
        if (name->is_beside) {
            out->device[name->stage] =
                snapshot_chunk_share(loop, out->warmup.start, calls->chunk_ns);
        }
    }
}

static double mad_of(const struct loop *loop, int64_t first_step)
{
    double values[SAMPLE_SIZE], scratch[SAMPLE_SIZE];
    size_t count = sample_values(&loop->series.sample, first_step, values);
    if (count == 0)
        return NAN;
    double centre = robust_median(values, count, scratch);
    return robust_sigma(values, count, centre, scratch) / 1.4826;
}

static void fill_modes(const struct loop *loop, struct snap_loop *out)
{
    double values[SAMPLE_SIZE], scratch[2 * SAMPLE_SIZE];
    size_t count = sample_values(&loop->series.sample, out->warmup_steps, values);
    modes_find(values, count, scratch, &out->modes);
    if (!out->modes.are_two)
        return;
    turns_find(values, count, (out->modes.low + out->modes.high) / 2, &out->turns);
    /* Levels that take turns more often than shifts could make them are none that last: where
     * medians of few steps are of one or the other, chance looks like a shift. */
    const double stretches = out->modes.high_share * (double)count / out->turns.stretch;
    if (out->change.kind == CHANGE_SHIFT &&
        (out->turns.order != TURNS_STRETCHES || stretches > 2 * CHANGE_MAX_SHIFTS)) {
        out->change.kind = CHANGE_NONE;
        out->change.shift_count = 0;
    }
    out->turns.stretch *= (double)out->steady_steps / (double)count;
}

/* Windows of equally many cells: replicas with as many steps have them at the same ones. */
static void fill_own_work(const struct loop *loop, struct snap_loop *out)
{
    const struct cells *cells = &loop->series.cells;
    const int64_t start = out->warmup.start;
    double steps[CELLS_MAX], time[CELLS_MAX], comm[CELLS_MAX];
    size_t count = cells_column(cells, start, CELLS_STEPS, steps);
    cells_column(cells, start, CELLS_TIME, time);
    cells_column(cells, start, SS_STAGE_COMM, comm);
    size_t together = (count + SNAP_OWN_WINDOWS - 1) / SNAP_OWN_WINDOWS;
    for (size_t i = 0; together && i + together <= count; i += together) {
        double work = 0, all = 0;
        for (size_t k = i; k < i + together; k++) {
            work += time[k] - comm[k];
            all += steps[k];
        }
        out->own_ns[out->own_windows++] = all > 0 ? work / all : 0;
    }
}

static void fill_shared(const struct loop *loop, struct snap_loop *out)
{
    const int64_t steady_ns = cells_start_ns(&loop->series.cells, out->warmup.start);

    if (out->steady_steps > 0)
        out->shared = shared_steps_since(&loop->shared, steady_ns, &out->shared_count);
}

static void fill_periods(const struct loop *loop, struct snap_loop *out)
{
    int64_t spikes[SPIKES_KEPT];
    size_t count = spikes_list(&loop->series.spikes, spikes);
    int64_t first = cells_step_at(&loop->series.cells, out->warmup.start);
    int64_t from =
        loop->series.spikes.complete_from > first ? loop->series.spikes.complete_from : first;
    size_t skip = 0;
    while (skip < count && spikes[skip] < from)
        skip++;
    int64_t known[1] = {(int64_t)loop->plan[2]};
    size_t known_count = loop->plan[2] > 1 ? 1 : 0;
    if (first >= 0) {
        out->periods = (int)period_find(spikes + skip, count - skip, from, loop->series.steps,
                                        known, known_count, out->period, SNAP_PERIODS);
    }
}

static void fill_slowest(const struct loop *loop, struct snap_loop *out)
{
    for (int i = 0; i < loop->series.slow_count && out->slow_count < SNAP_SLOWEST; i++)
        if (loop->series.slowest[i].number >= out->warmup_steps)
            out->slowest[out->slow_count++] = loop->series.slowest[i];
}

static bool fill_epochs(const struct loop *loop, struct snap_loop *out)
{
    size_t count = loop->epoch_count < EPOCHS_KEPT ? (size_t)loop->epoch_count : EPOCHS_KEPT;
    out->epochs_seen = loop->epoch_count;
    out->epochs = calloc(count ? count : 1, sizeof *out->epochs);
    if (!out->epochs)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct epoch_row *row =
            &loop->epochs[(loop->epoch_count - (int64_t)count + (int64_t)i) % EPOCHS_KEPT];
        out->epochs[i] = (struct snap_epoch){row->number, row->start_ns, row->end_ns,
                                             row->steps,  row->step_ns,  row->eval_ns};
    }
    out->epoch_count = count;
    return true;
}

static bool fill_parts(const struct loop *loop, struct snap_loop *out)
{
    const int64_t kept = loop->parts < PARTS_KEPT ? loop->parts : PARTS_KEPT;
    out->part_count = loop->parts > 1 ? (size_t)kept : 0;
    out->part = calloc(out->part_count ? out->part_count : 1, sizeof *out->part);
    for (size_t i = 0; out->part && i < out->part_count; i++) {
        const int64_t number = loop->parts - kept + (int64_t)i;
        const struct loop_part *part = &loop->part[number % PARTS_KEPT];
        out->part[i] = (struct snap_part){number + 1, part->start_ns, part->end_ns, part->steps,
                                          part->step_ns};
    }
    return out->part != NULL;
}

/* The loop's own books: from its begin to its end, or to its last step. */
static void fill_books(const struct thread *thread, const struct loop *loop, struct snap_loop *out)
{
    out->begin_ns = loop_first_ns(loop);
    out->end_ns = loop->ended ? loop->end_ns : thread_booked_ns(thread);
    out->wall_ns = out->end_ns - out->begin_ns;
    out->segment_ns[SEGMENT_COMPILE_NS] = loop->compile_ns;
    out->segment_ns[SEGMENT_WARMUP_NS] = out->warmup_ns;
    out->segment_ns[SEGMENT_STEADY_NS] = loop->step_ns - out->warmup_ns;
    out->segment_ns[SEGMENT_BETWEEN_NS] = loop->between_ns;
    out->segment_ns[SEGMENT_EVAL_NS] = loop->cut_ns[CUT_EVAL];
    out->segment_ns[SEGMENT_INFER_NS] = loop->cut_ns[CUT_INFER];
    out->segment_ns[SEGMENT_CHECKPOINT_NS] = loop->cut_ns[CUT_CHECKPOINT];
    int64_t rest = out->wall_ns;
    for (int i = 0; i < MODEL_SEGMENT_COUNT; i++)
        rest -= out->segment_ns[i];
    out->segment_ns[SEGMENT_STARTUP_NS] = rest;
}

static struct interval time_left(const struct loop *loop, const struct snap_loop *out)
{
    uint64_t planned = loop->plan[0];
    if (!planned && loop->plan[1] && loop->plan[2])
        planned = loop->plan[1] * loop->plan[2];
    if (!planned || out->steady_steps == 0)
        return (struct interval){NAN, NAN, NAN};
    int64_t left = (int64_t)planned > loop->steps ? (int64_t)planned - loop->steps : 0;
    double done = (double)loop->steps;
    double apart = (double)(out->wall_ns - loop->step_ns); /* cuts and what is between */
    struct eta_part parts[2] = {
        {.seen = out->steady_steps, .left = left, .mean_ns = out->step_ns},
        {.seen = loop->steps, .left = left, .mean_ns = {apart / done, apart / done, apart / done}}};
    return eta_left(parts, 2);
}

static void fill_change(const struct cells *cells, int64_t start, struct snap_loop *out)
{
    double medians[CELLS_MAX];
    size_t count = cells_medians(cells, start, medians);
    change_find(medians, count, &out->change);
    for (size_t i = 0; i < out->change.shift_count; i++) {
        int64_t cell = (int64_t)out->change.shifts[i].at;
        out->shift_step[i] =
            cells_step_at(cells, cells_first_whole(cells, start) + cell * cells->size);
    }
}

static void fill_rates(const struct loop *loop, int64_t start, struct snap_loop *out)
{
    const struct cells *cells = &loop->series.cells;
    const struct interval unknown = {NAN, NAN, NAN};
    out->steps_per_s = steady_rate(cells, start, CELLS_STEPS);
    out->samples_per_s = unknown;
    if (loop->samples > 0) {
        out->samples_per_s = steady_rate(cells, start, SERIES_SAMPLES);
    } else if (loop->plan[3] > 0) {
        double batch = (double)loop->plan[3];
        out->samples_per_s =
            (struct interval){out->steps_per_s.low * batch, out->steps_per_s.mid * batch,
                              out->steps_per_s.high * batch};
    }
    out->batches_per_s = out->bytes_per_s = unknown;
    if (loop->input & INPUT_SHARED) /* whose they are is unknown */
        return;
    if (cells_sum(cells, start, SERIES_BATCHES) > 0)
        out->batches_per_s = steady_rate(cells, start, SERIES_BATCHES);
    if (cells_sum(cells, start, SERIES_BYTES) > 0)
        out->bytes_per_s = steady_rate(cells, start, SERIES_BYTES);
}

static void fill_steady(const struct loop *loop, struct snap_loop *out)
{
    const struct cells *cells = &loop->series.cells;
    warmup_find(cells, &out->warmup);
    const int64_t start = out->warmup.start;
    out->steady_steps = cells_sum(cells, start, CELLS_STEPS);
    out->steady_ns = cells_sum(cells, start, CELLS_TIME);
    out->warmup_steps = loop->series.steps - out->steady_steps;
    out->warmup_ns = cells_sum(cells, 0, CELLS_TIME) - out->steady_ns;
    out->window_steps = loop->window_steps_max > 0 ? loop->window_steps_max : 1;
    out->step_ns = steady_step_ns(cells, start);
    series_merge_from(&loop->series, start, SERIES_STEP, &out->times);
    snapshot_quantiles(&out->times, &out->quantiles);
    out->quantiles.max_ns = cells_max(cells, start, &out->max_step);
    out->mad_ns = mad_of(loop, out->warmup_steps);
    out->spike_tax = out->quantiles.p50_ns > 0 ? out->step_ns.mid / out->quantiles.p50_ns - 1 : NAN;
    out->more_steps_needed = steady_more_needed(cells, start, WANTED_PRECISION) * out->window_steps;
    fill_rates(loop, start, out);
    fill_change(cells, start, out);
}

bool snapshot_fill_loop(const struct model *model, const struct thread *thread,
                        const struct loop *loop, struct snap_loop *out)
{
    out->process = loop->process;
    out->tid = loop->tid;
    out->lane = loop->lane;
    out->parts = loop->parts;
    out->name = strdup(loop->name ? model->names.name[loop->name].text : "");
    out->source = loop->source;
    out->ended = loop->ended;
    out->is_awaited = loop->synced;
    out->negative_ns = loop->negative_ns;
    out->steps = loop->steps;
    out->updates = loop->updates;
    out->batches = loop->batches;
    out->samples = loop->samples;
    out->usual_samples = loop->usual_samples;
    out->flagged_steps = loop->flagged_steps;
    memcpy(out->plan, loop->plan, sizeof out->plan);
    memcpy(out->between_ns, loop->between.stage_ns, sizeof out->between_ns);
    out->recompiles = loop->recompiles;
    out->batches_from = loop->batches_from;
    fill_steady(loop, out);
    fill_stages(model, loop, out);
    fill_device(model, loop, out);
    fill_books(thread, loop, out);
    fill_periods(loop, out);
    fill_modes(loop, out);
    fill_own_work(loop, out);
    fill_shared(loop, out);
    snapshot_fill_windows(&loop->series.cells, out->warmup.start, &out->windows);
    fill_slowest(loop, out);
    out->overall_steps_per_s =
        out->wall_ns > 0 ? (double)loop->steps * 1e9 / (double)out->wall_ns : NAN;
    out->left_ns = time_left(loop, out);
    const char *no_windows = model->processes[loop->process].no_windows;
    out->no_windows = no_windows ? strdup(no_windows) : NULL;
    return out->name && (out->no_windows || !no_windows) && fill_epochs(loop, out) &&
           fill_parts(loop, out) &&
           snapshot_fill_layers(loop->layers, model->processes[loop->process].no_layers,
                                model->processes[loop->process].no_backward, out) &&
           snapshot_fill_arms(thread->arms, &out->arms);
}
