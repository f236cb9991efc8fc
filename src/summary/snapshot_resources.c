
#include <math.h>
#include <stdlib.h>

#include "model/processes.h"
#include "read/counter_table.h"
#include "stats/robust.h"
#include "summary/snapshot_parts.h"

/* One of which it is known that it was on the loop's machine is better than one of which it is not;
 * then the one that started last before the loop did. */
static bool is_better(const struct model *model, const struct snap_loop *loop,
                      const struct resource_set *set, const struct resource_set *best)
{
    const enum model_likeness own = model_same_machine(model, loop->process, set->process),
                              other = model_same_machine(model, loop->process, best->process);
    const bool is_before = set->origin_ns <= loop->begin_ns,
               best_is_before = best->origin_ns <= loop->begin_ns;

    return own != other ? own > other
                        : is_before && (!best_is_before || set->origin_ns > best->origin_ns);
}

/* The supervisor that watched the primary loop: there is one a machine, but a run may be put
 * together from several. Without a loop the last one. */
static const struct resource_set *set_for(const struct model *model, const struct snap_loop *loop)
{
    const struct resource_set *best = NULL;
    for (const struct resource_set *set = model->resources.sets; set; set = set->next)
        if (!loop)
            best = !best || set->origin_ns > best->origin_ns ? set : best;
        else if (model_same_machine(model, loop->process, set->process) != MODEL_OTHER &&
                 (!best || is_better(model, loop, set, best)))
            best = set;
    return best;
}

static int64_t last_sample_ns(const struct resource_set *set)
{
    int64_t last_ns = set->origin_ns;
    for (size_t i = 0; i < set->row_count; i++)
        last_ns = set->rows[i]->last_ns > last_ns ? set->rows[i]->last_ns : last_ns;
    return last_ns;
}

/* Of a length that may be any number. */
static int64_t part_of(int64_t length_ns, int64_t place)
{
    return (int64_t)((__int128)length_ns * place / SNAP_COURSE);
}

static void fill_row(const struct resource_set *set, const struct resource_row *row,
                     const struct snap_resources *all, struct snap_resource *out)
{
    const bool is_total = counter_table[row->counter].kind == SS_COUNTER_TOTAL;
    const double scale = is_total ? 1e9 : 1; /* a second instead of a nanosecond */
    const int64_t length_ns = all->end_ns - all->begin_ns;
    const struct resource_answer answer = resources_ask(set, row, all->begin_ns, all->end_ns);
    *out = (struct snap_resource){.counter = (uint8_t)row->counter,
                                  .state = SS_SYSTEM_VALUE,
                                  .subject = row->subject,
                                  .mean = answer.mean * scale,
                                  .min = answer.min * scale,
                                  .max = answer.max * scale,
                                  .known = length_ns > 0 ? answer.known_ns / (double)length_ns : 0,
                                  .gained = is_total ? row->last - row->first : NAN,
                                  .in_loop = answer.mean * answer.known_ns,
                                  .last = row->last};
    for (int64_t i = 0; i < SNAP_COURSE; i++) {
        out->course[i] = scale * resources_ask(set, row, all->begin_ns + part_of(length_ns, i),
                                               all->begin_ns + part_of(length_ns, i + 1))
                                     .mean;
    }
}

/* Of processes that came and went, those that were there for a while. */
static bool is_worth(const struct resource_row *row, const struct snap_resources *all)
{
    const int64_t length_ns = all->end_ns - all->begin_ns;
    return counter_table[row->counter].subject != SS_SUBJECT_PID ||
           row->last_ns - row->first_ns >= length_ns / 20;
}

static int compare_rows(const void *a, const void *b)
{
    const struct snap_resource *x = a, *y = b;
    const int order = (x->counter > y->counter) - (x->counter < y->counter);
    return order ? order : (x->subject > y->subject) - (x->subject < y->subject);
}

/* Counters without a value: absent or denied, one row each. */
static void add_missing(const struct resource_set *set, struct snap_resources *out)
{
    for (unsigned i = 0; i < SS_COUNTER_IDS; i++) {
        if (set->state[i] > SS_SYSTEM_VALUE + 1) {
            out->rows[out->count++] = (struct snap_resource){.counter = (uint8_t)i,
                                                             .state = (uint8_t)(set->state[i] - 1),
                                                             .mean = NAN,
                                                             .min = NAN,
                                                             .max = NAN,
                                                             .gained = NAN,
                                                             .last = NAN};
        }
    }
}

/* A second; what is not known of the beginning and the end is left out. */
static double slope_of(const double *course, double point_s)
{
    double known[SNAP_COURSE], scratch[SNAP_COURSE * SNAP_COURSE / 2];
    size_t count = 0;
    for (int i = 0; i < SNAP_COURSE; i++)
        if (isfinite(course[i]))
            known[count++] = course[i];
    return count >= SNAP_COURSE / 2 ? robust_slope(known, count, scratch) / point_s : NAN;
}

static void add_states(const struct hot *hot,
                       bool (*is_loop)(const void *context, const struct hot_thread *),
                       struct snapshot *snapshot)
{
    for (const struct hot_thread *thread = hot->threads; thread; thread = thread->next) {
        if (!is_loop(snapshot, thread))
            continue;
        for (unsigned stage = 0; stage < SS_STAGE_COUNT; stage++)
            for (unsigned state = 0; state < HOT_STATES; state++)
                snapshot->resources.states[stage][state] += thread->states[stage][state];
    }
}

bool snapshot_fill_resources(const struct model *model,
                             bool (*is_loop)(const void *context, const struct hot_thread *),
                             struct snapshot *snapshot)
{
    struct snap_resources *out = &snapshot->resources;
    const struct snap_loop *loop = snapshot->loop_count ? snapshot->loops : NULL;
    const struct resource_set *set = set_for(model, loop);
    out->growth_per_s = NAN;
    if (!set)
        return true;
    out->begin_ns = loop ? loop->begin_ns : set->origin_ns;
    out->end_ns = loop ? loop->end_ns : last_sample_ns(set);
    out->rows = calloc(set->row_count + SS_COUNTER_IDS, sizeof *out->rows);
    if (!out->rows)
        return false;
    for (size_t i = 0; i < set->row_count; i++) {
        if (is_worth(set->rows[i], out)) {
            struct snap_resource *row = &out->rows[out->count++];
            fill_row(set, set->rows[i], out, row);
            snapshot_fill_row_windows(set, set->rows[i], loop ? &loop->windows : NULL, row);
        }
    }
    out->unplaced = set->unplaced;
    out->watcher = set->process;
    add_missing(set, out);
    qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
    const struct snap_resource *memory =
        snapshot_resource(snapshot, SS_COUNTER_ID_TREE_RSS, SNAP_ANY);
    if (memory && memory->state == SS_SYSTEM_VALUE) {
        out->growth_per_s =
            slope_of(memory->course, (double)(out->end_ns - out->begin_ns) / 1e9 / SNAP_COURSE);
    }
    add_states(&model->hot, is_loop, snapshot);
    return true;
}

const struct snap_resource *snapshot_resource(const struct snapshot *snapshot, unsigned counter,
                                              uint64_t subject)
{
    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == counter && (subject == SNAP_ANY || row->subject == subject))
            return row;
    }
    return NULL;
}

const struct snap_resource *snapshot_value(const struct snapshot *snapshot, unsigned counter,
                                           uint64_t subject)
{
    const struct snap_resource *row = snapshot_resource(snapshot, counter, subject);
    return row && row->state == SS_SYSTEM_VALUE && isfinite(row->mean) ? row : NULL;
}

const struct snap_resource *snapshot_thread_value(const struct snapshot *snapshot, unsigned counter,
                                                  uint32_t tid)
{
    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == counter && (uint32_t)row->subject == tid && isfinite(row->mean))
            return row;
    }
    return NULL;
}

bool snapshot_is_watched(const struct snapshot *snapshot)
{
    return snapshot->resources.count > 0;
}

size_t snapshot_cores(const struct snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        count += row->counter == SS_COUNTER_ID_CPU_BUSY && row->subject != SS_ALL_CPUS &&
                 row->state == SS_SYSTEM_VALUE;
    }
    return count;
}

size_t snapshot_allowed_cores(const struct snapshot *snapshot)
{
    const struct snap_resource *row =
        snapshot_resource(snapshot, SS_COUNTER_ID_CPU_ALLOWED, SNAP_ANY);
    const size_t all = snapshot_cores(snapshot);
    return row && row->state == SS_SYSTEM_VALUE && row->last >= 1 && row->last < (double)all &&
                   snapshot_value(snapshot, SS_COUNTER_ID_CPU_ALLOWED_BUSY, SNAP_ANY)
               ? (size_t)row->last
               : all;
}

const struct snap_resource *snapshot_allowed_busy(const struct snapshot *snapshot)
{
    const struct snap_resource *row =
        snapshot_value(snapshot, SS_COUNTER_ID_CPU_ALLOWED_BUSY, SNAP_ANY);
    return row ? row : snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS);
}

const struct snap_resource *snapshot_allowed_steal(const struct snapshot *snapshot, size_t *cores)
{
    const struct snap_resource *row =
        snapshot_value(snapshot, SS_COUNTER_ID_CPU_ALLOWED_STEAL, SNAP_ANY);
    *cores = row ? snapshot_allowed_cores(snapshot) : snapshot_cores(snapshot);
    *cores = *cores > 0 ? *cores : 1;
    return row ? row : snapshot_value(snapshot, SS_COUNTER_ID_CPU_STEAL, SNAP_ANY);
}
