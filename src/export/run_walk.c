#include "export/run_walk.h"

#include <stdlib.h>
#include <string.h>

#include "load/feed.h"
#include "model/observe.h"
#include "stepscope/reader.h"

enum { PORTION = 16384 }; /* records between two looks at the progress and the output */

/* A step whose window has not ended. */
struct held_step {
    struct model_step step;
    int64_t stage_ns[SS_STAGE_COUNT];
};

struct held_lane {
    struct held_step *steps;
    size_t count, capacity;
    size_t loop; /* that of its last step: place + 1; 0: none */
};

struct run_walk {
    const struct export_job *job;
    const struct run_walk_reader *reader;
    const struct snapshot *snapshot;
    int64_t *counted; /* by loop: steps in its statistics so far */
    struct held_lane *lanes;
    size_t lane_count;
    int error;
};

const char *run_walk_part_text(enum run_walk_part part)
{
    static const char *const texts[] = {"warmup", "steady", "left_out"};

    return texts[part];
}

ss_ns run_walk_begin_ns(const struct export_job *job)
{
    ss_ns begin_ns = job->facts->started_ns;

    for (size_t i = 0; i < ss_run_processes(job->run); i++) {
        const ss_ns start_ns = ss_run_process(job->run, i)->start_ns;
        if (begin_ns == 0 || start_ns < begin_ns)
            begin_ns = start_ns;
    }
    return begin_ns;
}

struct run_walk_extent run_walk_extent(const struct export_job *job, double before, double share)
{
    struct run_walk_extent extent = {run_walk_begin_ns(job), 0, before, share};

    for (size_t i = 0; i < ss_run_processes(job->run); i++)
        if (ss_run_process(job->run, i)->end_ns > extent.end_ns)
            extent.end_ns = ss_run_process(job->run, i)->end_ns;
    return extent;
}

void run_walk_show(const struct export_job *job, const struct run_walk_extent *extent, ss_ns now_ns)
{
    const double whole = (double)extent->end_ns - (double)extent->begin_ns;
    double done = whole > 0 ? ((double)now_ns - (double)extent->begin_ns) / whole : 1;

    if (job->progress && now_ns > 0) {
        done = done < 0 ? 0 : done > 1 ? 1 : done;
        job->progress(job->context, extent->before + extent->share * done);
    }
}

static bool is_in(const struct model_step *step, const struct snap_loop *loop)
{
    return loop->lane == step->lane && loop->tid == step->tid &&
           loop->begin_ns == step->loop_begin_ns;
}

/* The loop of the report that the step is in; SIZE_MAX: none. */
static size_t loop_of(const struct snapshot *snapshot, struct held_lane *lane,
                      const struct model_step *step)
{
    if (lane->loop > 0 && is_in(step, &snapshot->loops[lane->loop - 1]))
        return lane->loop - 1;
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        if (is_in(step, &snapshot->loops[i])) {
            lane->loop = i + 1;
            return i;
        }
    }
    return SIZE_MAX;
}

/* A source that won later made it start-up; with that, also the begin of its loop may have
 * moved. */
static bool was_none(const struct snapshot *snapshot, const struct run_walk_step *step)
{
    if (step->loop == SIZE_MAX)
        return snapshot->forgotten_loops == 0;
    return snapshot->loops[step->loop].source != step->step->source;
}

static void give(struct run_walk *walk, struct held_lane *lane, const struct held_step *held,
                 bool counted)
{
    struct run_walk_step out = {.step = &held->step,
                                .loop = loop_of(walk->snapshot, lane, &held->step),
                                .part = RUN_WALK_LEFT_OUT};

    if (was_none(walk->snapshot, &out))
        return;
    if (out.loop != SIZE_MAX && counted) {
        int64_t *steps = &walk->counted[out.loop];
        const bool warms_up = *steps < walk->snapshot->loops[out.loop].warmup_steps;
        out.part = warms_up ? RUN_WALK_WARMUP : RUN_WALK_STEADY;
        *steps += held->step.steps;
    }
    walk->reader->step(walk->reader->context, &out);
}

static struct held_lane *lane_at(struct run_walk *walk, uint32_t lane)
{
    if (lane >= walk->lane_count) {
        const size_t count = (size_t)lane + 16;
        struct held_lane *grown = realloc(walk->lanes, count * sizeof *grown);
        if (!grown) {
            walk->error = SS_E_NOMEM;
            return NULL;
        }
        memset(grown + walk->lane_count, 0, (count - walk->lane_count) * sizeof *grown);
        walk->lanes = grown;
        walk->lane_count = count;
    }
    return &walk->lanes[lane];
}

static void hold(void *context, const struct model_step *step)
{
    struct run_walk *walk = context;
    struct held_lane *lane = lane_at(walk, step->lane);

    if (!lane)
        return;
    if (lane->count == lane->capacity) {
        const size_t capacity = lane->capacity ? 2 * lane->capacity : 4;
        struct held_step *grown = realloc(lane->steps, capacity * sizeof *grown);
        if (!grown) {
            walk->error = SS_E_NOMEM;
            return;
        }
        lane->steps = grown;
        lane->capacity = capacity;
    }
    struct held_step *held = &lane->steps[lane->count++];
    held->step = *step;
    memcpy(held->stage_ns, step->stage_ns, sizeof held->stage_ns);
}

static void give_lane(struct run_walk *walk, struct held_lane *lane, size_t from, bool counted)
{
    for (size_t i = from; i < lane->count; i++) {
        lane->steps[i].step.stage_ns = lane->steps[i].stage_ns;
        give(walk, lane, &lane->steps[i], counted);
    }
    lane->count = 0;
}

/* Its steps are the last ones; those before them were given up with the source that made them. */
static void give_window(void *context, const struct model_window *window)
{
    struct run_walk *walk = context;
    struct held_lane *lane = lane_at(walk, window->loop.lane);
    int64_t steps = window->window->steps;

    if (!lane)
        return;
    size_t from = lane->count;
    while (from > 0 && steps > 0)
        steps -= lane->steps[--from].step.steps;
    give_lane(walk, lane, from, window->counted);
}

struct clock_watch {
    ss_ns now_ns;
    const struct run_walk_reader *reader; /* NULL: of the first pass */
};

static void watch(void *context, uint32_t process, const struct ss_record *record)
{
    struct clock_watch *clock = context;

    clock->now_ns = record->time_ns;
    if (clock->reader && clock->reader->record)
        clock->reader->record(clock->reader->context, process, record);
}

/* One pass through the run, which `clock` watches. 0 or an SS_E code. */
static int pass(struct feed *feed, const struct clock_watch *clock, const struct export_job *job,
                const struct sink *out, const struct run_walk_extent *extent)
{
    bool all = false;
    int failed = 0;

    feed_processes(feed);
    while (!failed && !all && !out->error) {
        failed = feed_some(feed, PORTION, &all);
        run_walk_show(job, extent, clock->now_ns);
    }
    if (!failed && !out->error)
        feed_finish(feed);
    return failed;
}

static int first_pass(const struct export_job *job, const struct sink *out,
                      struct snapshot **snapshot)
{
    const struct run_walk_extent extent = run_walk_extent(job, 0, 0.4);
    struct clock_watch clock = {0};
    struct feed feed;
    int failed = feed_init(&feed, job->run, job->facts);

    if (!failed) {
        feed.watch = watch;
        feed.watch_context = &clock;
        failed = pass(&feed, &clock, job, out, &extent);
    }
    *snapshot = failed ? NULL : model_snapshot(feed.model);
    feed_release(&feed);
    return failed ? failed : *snapshot ? 0 : SS_E_NOMEM;
}

static int second_pass(struct run_walk *walk)
{
    const struct export_job *job = walk->job;
    const struct run_walk_extent extent = run_walk_extent(job, 0.4, 0.6);
    struct clock_watch clock = {.reader = walk->reader};
    struct feed feed;
    int failed = feed_init(&feed, job->run, job->facts);

    if (!failed) {
        feed.watch = watch;
        feed.watch_context = &clock;
        if (walk->reader->step) {
            model_observe(feed.model, hold, walk);
            model_observe_windows(feed.model, give_window, walk);
        }
        failed = pass(&feed, &clock, job, walk->reader->out, &extent);
    }
    for (size_t i = 0; i < walk->lane_count; i++) {
        if (!failed) /* of a run that goes on: their window has not ended */
            give_lane(walk, &walk->lanes[i], 0, false);
        free(walk->lanes[i].steps);
    }
    free(walk->lanes);
    feed_release(&feed);
    return failed ? failed : walk->error;
}

int run_walk_steps(const struct export_job *job, const struct run_walk_reader *reader)
{
    struct snapshot *snapshot;
    struct run_walk walk = {.job = job, .reader = reader};
    int failed = first_pass(job, reader->out, &snapshot);

    if (!failed) {
        walk.snapshot = snapshot;
        walk.counted = calloc(snapshot->loop_count + 1, sizeof *walk.counted);
        failed = walk.counted ? 0 : SS_E_NOMEM;
    }
    if (!failed) {
        if (reader->begin)
            reader->begin(reader->context, snapshot);
        failed = second_pass(&walk);
    }
    free(walk.counted);
    snapshot_free(snapshot);
    return failed;
}

int run_walk_records(const struct export_job *job, const struct run_walk_reader *reader)
{
    const struct run_walk_extent extent = run_walk_extent(job, 0, 1);
    struct ss_cursor *cursor = ss_cursor_new(job->run, SS_ALL_LANES);
    struct ss_record record;
    uint32_t until_look = 0;

    if (!cursor)
        return SS_E_NOMEM;
    while (!reader->out->error && ss_cursor_next(cursor, &record)) {
        reader->record(reader->context, ss_run_lane(job->run, record.lane)->process, &record);
        if (++until_look == PORTION) {
            run_walk_show(job, &extent, record.time_ns);
            until_look = 0;
        }
    }
    ss_cursor_free(cursor);
    return 0;
}

/* All of them together, each with the space before it; the 0 takes the place of the first space. */
#define WORD_SIZE(id, bit, text) +sizeof(text)
_Static_assert(FLAG_WORDS_SIZE >= 0 SS_FLAGS(WORD_SIZE), "all flags must fit");

size_t flag_words(char out[FLAG_WORDS_SIZE], unsigned flags)
{
    size_t size = 0;

    for (unsigned bit = 0; SS_FLAG_ALL >> bit; bit++) {
        if (!(flags >> bit & 1))
            continue;
        const char *word = ss_flag_text(bit);
        if (size > 0)
            out[size++] = ' ';
        memcpy(out + size, word, strlen(word));
        size += strlen(word);
    }
    out[size] = '\0';
    return size;
}

static struct name_slot_row *row_at(struct name_slots *slots, uint32_t process)
{
    if (process >= slots->row_count) {
        const size_t count = (size_t)process + 1;
        struct name_slot_row *grown = realloc(slots->rows, count * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + slots->row_count, 0, (count - slots->row_count) * sizeof *grown);
        slots->rows = grown;
        slots->row_count = count;
    }
    return &slots->rows[process];
}

struct name_slot *name_slots_at(struct name_slots *slots, uint32_t process, uint32_t name)
{
    struct name_slot_row *row = row_at(slots, process);

    if (!row)
        return NULL;
    if (name >= row->count) {
        const uint32_t count = name < 32 ? 64 : 2 * name;
        struct name_slot *grown = realloc(row->slots, count * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + row->count, 0, (count - row->count) * sizeof *grown);
        row->slots = grown;
        row->count = count;
    }
    return &row->slots[name];
}

void name_slots_release(struct name_slots *slots)
{
    for (size_t i = 0; i < slots->row_count; i++) {
        for (uint32_t k = 0; k < slots->rows[i].count; k++)
            free(slots->rows[i].slots[k].text);
        free(slots->rows[i].slots);
    }
    free(slots->rows);
    *slots = (struct name_slots){0};
}
