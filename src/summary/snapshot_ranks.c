#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_state.h"
#include "model/processes.h"
#include "stats/robust.h"
#include "summary/snapshot_parts.h"

/* In this order the loop of a rank with most time comes first, as in the snapshot. */
static int by_rank(const void *a, const void *b)
{
    const struct snap_loop *x = *(const struct snap_loop *const *)a;
    const struct snap_loop *y = *(const struct snap_loop *const *)b;

    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x > y) - (x < y);
}

/* The main loop of each rank, by rank; how many there are. */
static size_t main_loops(const struct snapshot *snapshot, const struct snap_loop **out)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < snapshot->loop_count; i++)
        if (snapshot->loops[i].rank >= 0)
            out[count++] = &snapshot->loops[i];
    qsort(out, count, sizeof *out, by_rank);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || out[kept - 1]->rank != out[i]->rank)
            out[kept++] = out[i];
    return kept;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void add_missing(struct snap_job *job, uint32_t from, uint32_t until)
{
    for (uint32_t rank = from; rank < until; rank++) {
        if ((uint64_t)job->missing_count + rank - from >= SNAP_MISSING)
            break;
        job->missing[job->missing_count + rank - from] = rank;
    }
    job->missing_count += until - from;
}

void snapshot_note_missing(struct snap_job *job, uint32_t *seen, size_t count)
{
    uint32_t next = 0;

    qsort(seen, count, sizeof *seen, by_number);
    for (size_t i = 0; i < count && seen[i] < job->world; i++) {
        if (seen[i] < next)
            continue;
        add_missing(job, next, seen[i]);
        next = seen[i] + 1;
    }
    add_missing(job, next, job->world > next ? job->world : next);
}

/* Ranks of the world that no process has. */
static bool fill_missing(const struct model *model, struct snap_job *job)
{
    uint32_t *seen = calloc((size_t)model->process_count + 1, sizeof *seen);
    size_t count = 0;

    if (!seen)
        return false;
    for (uint32_t i = 0; i < model->process_count; i++) {
        const struct model_process_facts *process = &model->processes[i];
        if (!process->known || process->facts.rank < 0)
            continue;
        seen[count++] = (uint32_t)process->facts.rank;
        job->world = process->facts.world > job->world ? process->facts.world : job->world;
    }
    snapshot_note_missing(job, seen, count);
    free(seen);
    return true;
}

static const uint8_t *boot_of(const struct model *model, const struct snap_rank *rank)
{
    return model->processes[rank->process].facts.boot_id;
}

static size_t count_hosts(const struct model *model, const struct snap_job *job)
{
    const size_t size = sizeof model->processes[0].facts.boot_id;
    size_t hosts = 0;

    for (size_t i = 0; i < job->rank_count; i++) {
        bool is_new = true;
        for (size_t k = i; k-- > 0 && is_new;)
            is_new =
                memcmp(boot_of(model, &job->ranks[i]), boot_of(model, &job->ranks[k]), size) != 0;
        hosts += is_new;
    }
    return hosts;
}

/* The median of something of all compared ranks but one. `room`: 2 values a rank. */
static double median_of_others(const struct snap_job *job, size_t rank,
                               double (*value)(const struct snap_rank *, int), int argument,
                               double *room)
{
    size_t count = 0;

    for (size_t i = 0; i < job->compared; i++)
        if (i != rank)
            room[count++] = value(&job->ranks[i], argument);
    return robust_median(room, count, room + count);
}

static double own_work(const struct snap_rank *rank, int argument)
{
    (void)argument;
    return rank->own_ns;
}

static double stage_time(const struct snap_rank *rank, int stage)
{
    return rank->mean_ns[stage];
}

/* Less of a step is no difference between ranks (method 9.3). */
static const double stage_matters = 0.01;

/* How a rank differs from the others. */
static void fill_difference(struct snap_job *job, size_t number, double *room)
{
    struct snap_rank *rank = &job->ranks[number];
    const double usual_ns = median_of_others(job, number, own_work, 0, room);
    double most_ns = stage_matters * job->blame.step_ns;

    rank->excess = usual_ns > 0 ? rank->own_ns / usual_ns - 1 : 0;
    for (int stage = 0; stage < SS_STAGE_COUNT; stage++) {
        if (stage == SS_STAGE_COMM)
            continue;
        const double others_ns = median_of_others(job, number, stage_time, stage, room);
        const double more_ns = stage_time(rank, stage) - others_ns;
        if (more_ns > most_ns) {
            most_ns = more_ns;
            rank->stage = stage;
            rank->stage_ns = stage_time(rank, stage);
            rank->stage_usual_ns = others_ns;
        }
    }
}

static int by_blame(const void *a, const void *b)
{
    const struct snap_rank *x = a, *y = b;

    if (isnan(x->own_ns) != isnan(y->own_ns))
        return isnan(x->own_ns) ? 1 : -1;
    if (x->blame.mid != y->blame.mid)
        return x->blame.mid < y->blame.mid ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those to blame for something; all others differ by too little to be worth the time. */
enum { EXPLAINED = 16 };

bool snapshot_compare_ranks(struct snap_job *job, struct blame_rank *steps)
{
    double *room = calloc(2 * job->rank_count + 1, sizeof *room);
    bool is_known = room, sees_comm = true;

    for (size_t i = 0; i < job->rank_count; i++)
        sees_comm &= job->ranks[i].sees_comm;
    if (is_known && sees_comm)
        is_known = blame_find(steps, job->rank_count, &job->blame);
    for (size_t i = 0; is_known && job->blame.steps > 0 && i < job->rank_count; i++) {
        if (steps[i].is_left_out)
            continue;
        struct snap_rank *rank = &job->ranks[i];
        rank->own_ns = steps[i].own_ns;
        rank->wait_ns = steps[i].wait_ns;
        rank->last_share = steps[i].last_share;
        rank->blame = steps[i].blame;
        job->compared++;
    }
    if (is_known) {
        qsort(job->ranks, job->rank_count, sizeof *job->ranks, by_blame);
        for (size_t i = 0; i < job->compared && i < EXPLAINED; i++)
            fill_difference(job, i, room);
    }
    free(room);
    return is_known;
}

struct snap_rank snapshot_rank(int rank)
{
    return (struct snap_rank){
        .rank = rank, .stage = -1, .own_ns = NAN, .wait_ns = NAN, .last_share = NAN, .excess = NAN};
}

static struct snap_rank rank_of(const struct snap_loop *loop)
{
    struct snap_rank rank = snapshot_rank(loop->rank);

    rank.process = loop->process;
    rank.sees_comm = loop->stage[SS_STAGE_COMM].measured;
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        rank.mean_ns[i] = loop->stage[i].mean_ns;
    rank.windows = loop->own_windows;
    memcpy(rank.window_ns, loop->own_ns, sizeof rank.window_ns);
    return rank;
}

bool snapshot_fill_job(const struct model *model, struct snapshot *snapshot)
{
    struct snap_job *job = &snapshot->job;
    const struct snap_loop **loops = calloc(snapshot->loop_count + 1, sizeof *loops);
    struct blame_rank *steps = calloc(snapshot->loop_count + 1, sizeof *steps);
    bool is_known = loops && steps;

    if (is_known) {
        job->rank_count = main_loops(snapshot, loops);
        job->ranks = calloc(job->rank_count + 1, sizeof *job->ranks);
        is_known = job->ranks != NULL;
    }
    for (size_t i = 0; is_known && i < job->rank_count; i++) {
        job->ranks[i] = rank_of(loops[i]);
        steps[i].steps = loops[i]->shared;
        steps[i].count = loops[i]->shared_count;
    }
    if (is_known && job->rank_count > 0) {
        is_known = fill_missing(model, job);
        job->hosts = count_hosts(model, job);
    }
    if (is_known && job->rank_count > 1)
        is_known = snapshot_compare_ranks(job, steps);
    free(loops);
    free(steps);
    return is_known;
}

void snapshot_take_job(struct snapshot *snapshot, const struct snap_job *job)
{
    if (!snapshot->job.is_borrowed)
        free(snapshot->job.ranks);
    snapshot->job = *job;
    snapshot->job.is_borrowed = true;
}

void snapshot_release_job(struct snapshot *snapshot)
{
    if (!snapshot->job.is_borrowed)
        free(snapshot->job.ranks);
    for (size_t i = 0; i < snapshot->loop_count; i++)
        free(snapshot->loops[i].shared);
}
