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

/* Ranks of the world that no process has. */
static bool fill_missing(const struct model *model, struct snap_job *job)
{
    uint32_t *seen = calloc((size_t)model->process_count + 1, sizeof *seen);
    uint32_t count = 0, next = 0;

    if (!seen)
        return false;
    for (uint32_t i = 0; i < model->process_count; i++) {
        const struct model_process_facts *process = &model->processes[i];
        if (!process->known || process->facts.rank < 0)
            continue;
        seen[count++] = (uint32_t)process->facts.rank;
        job->world = process->facts.world > job->world ? process->facts.world : job->world;
    }
    qsort(seen, count, sizeof *seen, by_number);
    for (uint32_t i = 0; i < count && seen[i] < job->world; i++) {
        if (seen[i] < next)
            continue;
        add_missing(job, next, seen[i]);
        next = seen[i] + 1;
    }
    add_missing(job, next, job->world > next ? job->world : next);
    free(seen);
    return true;
}

static const uint8_t *boot_of(const struct model *model, const struct snap_rank *rank)
{
    return model->processes[rank->loop->process].facts.boot_id;
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
    return rank->loop->stage[stage].mean_ns;
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
    return (x->loop->rank > y->loop->rank) - (x->loop->rank < y->loop->rank);
}

/* Those to blame for something; all others differ by too little to be worth the time. */
enum { EXPLAINED = 16 };

static bool compare_ranks(struct snap_job *job, const struct snap_loop *const *loops)
{
    struct blame_rank *ranks = calloc(job->rank_count, sizeof *ranks);
    double *room = calloc(2 * job->rank_count, sizeof *room);
    bool is_known = ranks && room, sees_comm = true;

    for (size_t i = 0; is_known && i < job->rank_count; i++) {
        ranks[i].steps = loops[i]->shared;
        ranks[i].count = loops[i]->shared_count;
        sees_comm &= loops[i]->stage[SS_STAGE_COMM].measured;
    }
    if (is_known && sees_comm)
        is_known = blame_find(ranks, job->rank_count, &job->blame);
    for (size_t i = 0; is_known && job->blame.steps > 0 && i < job->rank_count; i++) {
        if (ranks[i].is_left_out)
            continue;
        struct snap_rank *rank = &job->ranks[i];
        rank->own_ns = ranks[i].own_ns;
        rank->wait_ns = ranks[i].wait_ns;
        rank->last_share = ranks[i].last_share;
        rank->blame = ranks[i].blame;
        job->compared++;
    }
    if (is_known) {
        qsort(job->ranks, job->rank_count, sizeof *job->ranks, by_blame);
        for (size_t i = 0; i < job->compared && i < EXPLAINED; i++)
            fill_difference(job, i, room);
    }
    free(ranks);
    free(room);
    return is_known;
}

bool snapshot_fill_job(const struct model *model, struct snapshot *snapshot)
{
    struct snap_job *job = &snapshot->job;
    const struct snap_loop **loops = calloc(snapshot->loop_count + 1, sizeof *loops);

    if (!loops)
        return false;
    job->rank_count = main_loops(snapshot, loops);
    job->ranks = calloc(job->rank_count + 1, sizeof *job->ranks);
    bool is_known = job->ranks != NULL;
    for (size_t i = 0; is_known && i < job->rank_count; i++)
        job->ranks[i] = (struct snap_rank){.loop = loops[i],
                                           .stage = -1,
                                           .own_ns = NAN,
                                           .wait_ns = NAN,
                                           .last_share = NAN,
                                           .excess = NAN};
    if (is_known && job->rank_count > 0) {
        is_known = fill_missing(model, job);
        job->hosts = count_hosts(model, job);
    }
    if (is_known && job->rank_count > 1)
        is_known = compare_ranks(job, loops);
    free(loops);
    return is_known;
}

void snapshot_release_job(struct snapshot *snapshot)
{
    free(snapshot->job.ranks);
    for (size_t i = 0; i < snapshot->loop_count; i++)
        free(snapshot->loops[i].shared);
}
