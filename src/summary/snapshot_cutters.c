#include <stdlib.h>
#include <string.h>

#include "summary/snapshot_parts.h"

/* Samples that are needed, and the part of them that one function or line has (ours). */
enum { SAMPLES_LEAST = 3 };
static const double most_part = 0.5;
/* A line trains if samples of training have it, and not twice as many of what is cut out:
 * evaluations before the first step and after the last one are cut out of nothing (ours). */
enum { CUT_TIMES = 2 };

struct tally {
    uint64_t trains, cut; /* samples that have it */
};

struct cutters {
    const struct hot *hot;
    struct tally *line,
        *function;   /* by number of the frame; of a function: that of its first one */
    uint32_t *first; /* of each frame: the first one of its function */
    uint64_t *count; /* of a cut: functions, then lines */
};

static uint32_t number_of(const struct hot *hot, const struct hot_frame *frame)
{
    return (uint32_t)(frame - hot->frames) + 1;
}

static bool init(struct cutters *cutters, const struct hot *hot)
{
    const size_t frames = hot->frame_count + 1;
    *cutters = (struct cutters){.hot = hot,
                                .line = calloc(frames, sizeof *cutters->line),
                                .function = calloc(frames, sizeof *cutters->function),
                                .first = calloc(frames, sizeof *cutters->first),
                                .count = calloc(2 * frames, sizeof *cutters->count)};
    return cutters->line && cutters->function && cutters->first && cutters->count;
}

static void release(struct cutters *cutters)
{
    free(cutters->line);
    free(cutters->function);
    free(cutters->first);
    free(cutters->count);
}

static bool find_functions(struct cutters *cutters)
{
    const struct hot *hot = cutters->hot;
    const struct hot_frame **frames = calloc(hot->frame_count + 1, sizeof(*frames));
    if (!frames)
        return false;
    for (size_t i = 0; i < hot->frame_count; i++)
        frames[i] = &hot->frames[i];
    qsort((void *)frames, hot->frame_count, sizeof(*frames), snapshot_compare_functions);
    for (size_t i = 0, first = 0; i < hot->frame_count; i++) {
        if (snapshot_compare_functions(&frames[first], &frames[i]) != 0)
            first = i;
        cutters->first[number_of(hot, frames[i])] = number_of(hot, frames[first]);
    }
    free((void *)frames);
    return true;
}

static bool computes(uint32_t place)
{
    return place == SS_STAGE_FORWARD || place == SS_STAGE_BACKWARD || place == SS_STAGE_OPTIMIZER ||
           place == SS_STAGE_COMPUTE;
}

static void add_row(struct cutters *cutters, const struct hot_thread *thread,
                    const struct hot_row *row)
{
    uint64_t cut = 0;
    if (row->place >= HOT_IN_CUT)
        cut = row->count;
    else if (computes(row->place))
        for (uint32_t i = 0; i < CUT_COUNT; i++)
            cut += hot_count(thread, HOT_IN_CUT + i, &row->stack);
    const bool trains = computes(row->place) && row->count > cut;
    for (size_t i = 0; i < HOT_OUTER && row->stack.outer[i]; i++) {
        const uint32_t number = row->stack.outer[i];
        struct tally *const both[] = {&cutters->line[number],
                                      &cutters->function[cutters->first[number]]};
        for (size_t k = 0; k < 2; k++) {
            both[k]->trains += trains ? row->count - cut : 0;
            both[k]->cut += row->place >= HOT_IN_CUT ? cut : 0;
        }
    }
}

static bool is_training(const struct tally *tally)
{
    return tally->trains > 0 && tally->trains * CUT_TIMES >= tally->cut;
}

/* The place in `count` of what has this stack evaluate: where it leaves the training, the function
 * that is called there, if that one does not train as well. 0: nothing. */
static size_t cutter_of(const struct cutters *cutters, const struct hot_stack *stack)
{
    size_t i = 0;
    while (i < HOT_OUTER && stack->outer[i] && is_training(&cutters->line[stack->outer[i]]))
        i++;
    if (i == HOT_OUTER || !stack->outer[i])
        return 0;
    const uint32_t called = i + 1 < HOT_OUTER ? stack->outer[i + 1] : 0;
    if (called && !is_training(&cutters->function[cutters->first[called]]))
        return cutters->first[called];
    return cutters->hot->frame_count + 1 + stack->outer[i];
}

static bool name_most(const struct cutters *cutters, uint64_t all, struct snap_cutter *out)
{
    const size_t frames = cutters->hot->frame_count + 1;
    size_t most = 0;
    for (size_t i = 1; i < 2 * frames; i++)
        most = i != frames && cutters->count[i] > cutters->count[most] ? i : most;
    if (most == 0 || all < SAMPLES_LEAST || (double)cutters->count[most] < most_part * (double)all)
        return true;
    out->share = snapshot_share(cutters->count[most], all);
    const bool is_done = snapshot_copy_place(&cutters->hot->frames[(most % frames) - 1], &out->at);
    out->at.line = most < frames ? 0 : out->at.line;
    return is_done;
}

struct question {
    bool (*is_loop)(const void *context, const struct hot_thread *thread);
    const void *context;
};

/* Calls for each row of the threads that hold loops: adds it up, or counts it for a cut. */
static uint64_t go_through(struct cutters *cutters, const struct question *question, int cut)
{
    uint64_t all = 0;
    for (const struct hot_thread *thread = cutters->hot->threads; thread; thread = thread->next) {
        const bool is_loop = question->is_loop(question->context, thread);
        for (size_t i = 0; is_loop && i < thread->row_slots; i++) {
            const struct hot_row *row = &thread->rows[i];
            if (row->count > 0 && cut < 0)
                add_row(cutters, thread, row);
            if (row->count == 0 || cut < 0 || row->place != HOT_IN_CUT + (uint32_t)cut)
                continue;
            cutters->count[cutter_of(cutters, &row->stack)] += row->count;
            all += row->count;
        }
    }
    return all;
}

bool snapshot_fill_cutters(const struct hot *hot,
                           bool (*is_loop)(const void *context, const struct hot_thread *),
                           const void *context, struct snap_hot *out)
{
    const struct question question = {is_loop, context};
    struct cutters cutters;
    bool is_done = init(&cutters, hot) && find_functions(&cutters);
    if (is_done)
        (void)go_through(&cutters, &question, -1);
    for (int cut = 0; is_done && cut < CUT_COUNT; cut++) {
        memset(cutters.count, 0, 2 * (hot->frame_count + 1) * sizeof *cutters.count);
        const uint64_t all = go_through(&cutters, &question, cut);
        cutters.count[0] = 0;
        is_done = name_most(&cutters, all, &out->cutter[cut]);
    }
    release(&cutters);
    return is_done;
}
