/* Loops: their steps as series, their epochs, and the books of their thread. */
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { WINDOW_LONGEST = 1000 }; /* steps without a sync: the window ends all the same */

static struct loop *new_loop(struct track *track, int64_t begin_ns)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop || series_init(&loop->series, track->thread->lane) != SS_E_OK) {
        free(loop);
        track->thread->model->error = SS_E_NOMEM;
        return NULL;
    }
    loop->process = track->thread->process;
    loop->lane = track->thread->lane;
    loop->tid = track->thread->tid;
    loop->begin_ns = begin_ns;
    memcpy(loop->plan, track->plan, sizeof loop->plan);
    *(track->last_loop ? &track->last_loop->next : &track->loops) = loop;
    track->last_loop = loop;
    track->loop = loop;
    track->loop_count++;
    return loop;
}

/* A script that trains thousands of models must not fill the memory: the shortest loop goes, its
 * time stays in the books of the thread. */
static void forget_shortest(struct track *track)
{
    struct loop **shortest = &track->loops;
    for (struct loop **link = &track->loops; *link; link = &(*link)->next) {
        shortest = (*link)->step_ns < (*shortest)->step_ns ? link : shortest;
    }
    struct loop *loop = *shortest;
    if (!loop) {
        return;
    }
    *shortest = loop->next;
    if (track->last_loop == loop) {
        track->last_loop = NULL;
        for (struct loop *last = track->loops; last; last = last->next) {
            track->last_loop = last;
        }
    }
    loop_free(loop);
    track->loop_count--;
    track->thread->model->forgotten_loops++;
}

void loop_free(struct loop *loop)
{
    series_release(&loop->series);
    free(loop->names);
    free(loop->name_place);
    free(loop);
}

struct loop *loop_current(struct track *track, int64_t start_ns)
{
    return track->loop ? track->loop : new_loop(track, start_ns);
}

bool loop_has_owner(const struct loop *loop, uint32_t owner)
{
    for (int i = 0; i < loop->owner_count; i++) {
        if (loop->owners[i] == owner) {
            return true;
        }
    }
    return false;
}

void loop_add_owner(struct loop *loop, uint32_t owner)
{
    if (owner && loop->owner_count < OWNERS_MAX && !loop_has_owner(loop, owner)) {
        loop->owners[loop->owner_count++] = owner;
    }
}

/* Puts the time from the cursor on into the books: cuts and compilation by what they are, the rest
 * as `kind`. */
void loop_close_gap(struct track *track, int64_t until_ns, enum model_segment kind)
{
    static const enum model_segment cut_segment[CUT_COUNT] = {
        SEGMENT_EVAL_NS, SEGMENT_INFER_NS, SEGMENT_CHECKPOINT_NS};
    int64_t left = until_ns - track->cursor_ns;
    bool before_steps = kind == SEGMENT_STARTUP_NS || kind == SEGMENT_IDLE_NS;
    for (int i = 0; i < CUT_COUNT; i++) {
        int64_t cut = track->gap.cut_ns[i];
        cut = cut < left ? cut : left;
        track->books[cut_segment[i]] += cut;
        left -= cut;
        if (track->loop && !before_steps) {
            track->loop->cut_ns[i] += cut;
        }
    }
    int64_t compile = before_steps ? track->gap.stage_ns[SS_STAGE_COMPILE] : 0;
    compile = compile < left ? compile : left;
    track->books[SEGMENT_COMPILE_NS] += compile;
    left -= compile;
    track->books[kind] += left;
    if (track->loop) {
        struct loop *loop = track->loop;
        loop->compile_ns += compile;
        loop->between_ns += kind == SEGMENT_BETWEEN_NS ? left : 0;
        loop->idle_before_ns += kind == SEGMENT_IDLE_NS ? left : 0;
        if (kind == SEGMENT_BETWEEN_NS) {
            work_add(&loop->between, &track->gap);
        }
    }
    work_clear(&track->gap);
    track->cursor_ns = until_ns;
}

/* A source that wins later makes what was counted before it start-up. */
void loop_raise_source(struct track *track, enum step_source source)
{
    struct loop *loop = track->loop;
    if (source <= loop->source) {
        return;
    }
    if (loop->steps > 0) {
        bool first = !track->had_loop;
        track->books[SEGMENT_STEADY_NS] -= loop->step_ns;
        track->books[first ? SEGMENT_STARTUP_NS : SEGMENT_IDLE_NS] += loop->step_ns;
        series_release(&loop->series);
        if (series_init(&loop->series, track->thread->lane) != SS_E_OK) {
            track->thread->model->error = SS_E_NOMEM;
        }
        loop->steps = loop->updates = loop->batches = loop->samples = 0;
        loop->flagged_steps = loop->flagged_ns = loop->step_ns = 0;
    }
    loop->source = source;
    loop->async = source == SOURCE_JIT;
}

void loop_begin(struct track *track, const struct ss_record *record)
{
    struct model *model = track->thread->model;
    if (track->loop && track->loop->explicit_begin) {
        track->loop_depth++; /* a loop inside a loop is part of it */
        return;
    }
    phase_settle(track);
    step_finish(track);
    loop_end(track, track->cursor_ns, false);
    struct loop *loop = new_loop(track, record->time_ns);
    if (loop) {
        loop->explicit_begin = true;
        loop->name =
            model_names_find(&model->names, track->thread->process, record->name);
        track->loop_depth = 0;
    }
}

static void close_window(struct loop *loop)
{
    if (loop->window.steps > 0) {
        if (loop->window.steps > loop->window_steps_max) {
            loop->window_steps_max = loop->window.steps;
        }
        if (series_add(&loop->series, &loop->window)) {
            for (uint32_t i = 0; i < loop->name_count; i++) {
                int64_t *chunk = loop->names[i].chunk_ns;
                for (int k = 0; k < SERIES_CHUNKS / 2; k++) {
                    chunk[k] = chunk[2 * k] + chunk[2 * k + 1];
                }
                memset(chunk + SERIES_CHUNKS / 2, 0, SERIES_CHUNKS / 2 * sizeof *chunk);
            }
        }
        memset(&loop->window, 0, sizeof loop->window);
    }
}

void loop_end(struct track *track, int64_t now_ns, bool is_explicit)
{
    struct loop *loop = track->loop;
    if (!loop) {
        return;
    }
    if (is_explicit && track->loop_depth > 0) {
        track->loop_depth--;
        return;
    }
    close_window(loop);
    loop->end_ns = now_ns;
    loop->ended = true;
    track->had_loop = track->had_loop || loop->steps > 0;
    if (is_explicit && loop->steps > 0) {
        loop_close_gap(track, now_ns, SEGMENT_BETWEEN_NS);
    }
    track->loop = NULL;
    if (track->loop_count > LOOPS_KEPT) {
        forget_shortest(track);
    }
    track->saw_update = track->seen_setup = false;
    memset(&track->jit, 0, sizeof track->jit);
}

static void add_to_window(struct loop *loop, const struct step *step, int64_t time_ns,
                          const int64_t *stage_ns, int64_t steps)
{
    struct series_window *window = &loop->window;
    if (window->steps == 0) {
        window->start_ns = step->start_ns;
    }
    window->steps += steps;
    window->time_ns += time_ns;
    window->stages |= step->work.stages | 1u << SS_STAGE_OTHER;
    for (uint32_t left = window->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        window->stage_ns[i] += stage_ns[i];
    }
    window->samples += step->samples;
    window->batches += step->work.batches;
    if (!loop->async || (step->work.marks & WORK_SYNC) ||
        window->steps >= WINDOW_LONGEST) {
        close_window(loop);
    }
}

/* Stages that are more than their step are an error of ours: shown, and taken off the largest. */
static void balance(struct loop *loop, uint32_t stages, int64_t *stage_ns,
                    int64_t time_ns)
{
    int64_t rest = time_ns;
    int largest = 1;
    for (uint32_t left = stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        rest -= stage_ns[i];
        largest = stage_ns[i] > stage_ns[largest] ? i : largest;
    }
    stage_ns[SS_STAGE_OTHER] = rest;
    if (rest < 0) {
        loop->negative_ns -= rest;
        stage_ns[largest] += rest;
        stage_ns[SS_STAGE_OTHER] = 0;
    }
}

static void count_epoch(struct loop *loop, int64_t steps, int64_t time_ns,
                        int64_t eval_ns)
{
    if (loop->epoch_open) {
        struct epoch_row *row = &loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT];
        row->steps += steps;
        row->step_ns += time_ns;
        row->eval_ns += eval_ns;
    }
}

static enum model_segment gap_before(const struct track *track, const struct loop *loop)
{
    if (loop->steps > 0) {
        return SEGMENT_BETWEEN_NS;
    }
    return track->had_loop ? SEGMENT_IDLE_NS : SEGMENT_STARTUP_NS;
}

static void show_step(const struct model *model, const struct loop *loop,
                      const struct step *step, int64_t steps, int64_t time_ns,
                      const int64_t *stage_ns, bool counted)
{
    const struct model_step seen = {
        .process = loop->process,
        .lane = loop->lane,
        .tid = loop->tid,
        .loop_begin_ns = loop->explicit_begin ? loop->begin_ns : loop->first_step_ns,
        .number = loop->steps,
        .steps = steps,
        .start_ns = step->start_ns,
        .time_ns = time_ns,
        .stage_ns = stage_ns,
        .counted = counted};
    model->seen(model->seen_context, &seen);
}

void loop_add_step(struct track *track, const struct step *step, bool has_end)
{
    struct loop *loop = loop_current(track, step->start_ns);
    if (!loop) {
        return;
    }
    loop_close_gap(track, step->start_ns, gap_before(track, loop));
    if (loop->steps == 0) {
        loop->first_step_ns = step->start_ns;
    }
    int64_t stage_ns[SS_STAGE_COUNT];
    memcpy(stage_ns, step->work.stage_ns, sizeof stage_ns);
    int64_t time_ns = step->end_ns - step->start_ns;
    for (int i = 0; i < CUT_COUNT; i++) {
        track->books[SEGMENT_EVAL_NS + i] += step->work.cut_ns[i];
        loop->cut_ns[i] += step->work.cut_ns[i];
        time_ns -= step->work.cut_ns[i];
    }
    if (loop->steps == 0) { /* rule 11 */
        track->books[SEGMENT_COMPILE_NS] += stage_ns[SS_STAGE_COMPILE];
        loop->compile_ns += stage_ns[SS_STAGE_COMPILE];
        time_ns -= stage_ns[SS_STAGE_COMPILE];
        stage_ns[SS_STAGE_COMPILE] = 0;
    }
    balance(loop, step->work.stages, stage_ns, time_ns);
    int64_t steps = loop->source == SOURCE_TRAINER && step->work.train_steps > 0
                        ? step->work.train_steps
                        : 1;
    bool counted = has_end && !(step->work.marks & (WORK_PERTURBED | WORK_UNFINISHED));
    if (track->thread->model->seen) {
        show_step(track->thread->model, loop, step, steps, time_ns, stage_ns, counted);
    }
    track->books[SEGMENT_STEADY_NS] += time_ns;
    track->cursor_ns = step->end_ns;
    loop->steps += steps;
    loop->step_ns += time_ns;
    loop->updates += step->work.updates;
    loop->batches += step->work.batches;
    loop->samples += step->samples;
    count_epoch(loop, steps, time_ns, step->work.cut_ns[CUT_EVAL]);
    if (counted) {
        add_to_window(loop, step, time_ns, stage_ns, steps);
    } else {
        loop->flagged_steps += steps;
        loop->flagged_ns += time_ns;
    }
}

void loop_epoch(struct track *track, const struct ss_record *record)
{
    struct loop *loop;
    if (record->kind == SS_KIND_EPOCH_END) {
        phase_settle(track);
        step_early_end(track, record->time_ns);
        loop = track->loop;
        if (loop && loop->epoch_open) {
            loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT].end_ns = record->time_ns;
            loop->epoch_open = false;
        }
        return;
    }
    loop = loop_current(track, record->time_ns);
    if (loop) {
        struct epoch_row row = {.number = (int64_t)record->u.epoch,
                                .start_ns = record->time_ns};
        loop->epochs[loop->epoch_count++ % EPOCHS_KEPT] = row;
        loop->epoch_open = true;
    }
}

/* Makes sure that the name has a place among the loop's names. */
static bool add_place(struct loop *loop, uint32_t name, uint32_t names)
{
    if (name >= loop->name_places) {
        uint32_t *grown = realloc(loop->name_place, names * sizeof *grown);
        if (!grown) {
            return false;
        }
        memset(grown + loop->name_places, 0, (names - loop->name_places) * sizeof *grown);
        loop->name_place = grown;
        loop->name_places = names;
    }
    if (loop->name_count == loop->name_capacity) {
        uint32_t capacity = loop->name_capacity ? loop->name_capacity * 2 : 16;
        struct name_share *grown = realloc(loop->names, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        loop->names = grown;
        loop->name_capacity = capacity;
    }
    loop->names[loop->name_count++] = (struct name_share){.name = name};
    loop->name_place[name] = loop->name_count;
    return true;
}

bool loop_new_name(struct track *track, uint32_t name)
{
    struct model *model = track->thread->model;
    if (!add_place(track->loop, name, model->names.count)) {
        model->error = SS_E_NOMEM;
        return false;
    }
    return true;
}
