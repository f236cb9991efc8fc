#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_view.h"

static void release_launch(struct job_launch *launch)
{
    free(launch->job);
    free(launch->launcher);
    free(launch->host);
    free(launch->directory);
    free(launch->path);
}

void job_view_release(struct job_view *view)
{
    for (size_t i = 0; i < view->launch_count; i++)
        release_launch(&view->launches[i]);
    for (size_t i = 0; i < view->rank_count; i++)
        free(view->ranks[i].shared);
    for (size_t i = 0; i < view->skipped_count; i++) {
        free(view->skipped[i].path);
        free(view->skipped[i].why);
    }
    free(view->launches);
    free(view->launch_ids);
    free(view->ranks);
    free(view->hosts);
    free(view->skipped);
    free(view->compared.ranks);
    *view = (struct job_view){0};
}

/* Room for one more of `count` items; false: memory is short. */
static bool grow(void **items, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    const size_t wanted = *room ? 2 * *room : 16;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

int job_view_skip(struct job_view *view, const char *path, const char *why)
{
    struct job_skipped *more =
        realloc(view->skipped, (view->skipped_count + 1) * sizeof *view->skipped);

    if (!more)
        return SS_E_NOMEM;
    view->skipped = more;
    struct job_skipped *skipped = &view->skipped[view->skipped_count++];
    *skipped = (struct job_skipped){strdup(path), strdup(why)};
    return skipped->path && skipped->why ? 0 : SS_E_NOMEM;
}

static bool fill_launch(struct job_launch *out, const struct job_part *part)
{
    *out = (struct job_launch){
        .id = part->launch,
        .sequence = part->sequence,
        .job = strdup(part->job),
        .launcher = strdup(part->launcher),
        .host = strdup(part->host),
        .directory = strdup(part->directory),
        .path = strdup(part->path),
        .has_ended = part->has_ended,
        .exit_code = part->exit_code,
        .signal = part->signal,
        .begin_raw_ns = part->begin_raw_ns,
        .begin_realtime_ns = part->begin_realtime_ns,
        .last_raw_ns = part->last_raw_ns,
        .last_realtime_ns = part->last_realtime_ns,
        .clock_error_ns = part->clock_error_ns,
        .lost_records = part->lost_records,
        .counters = part->counters,
        .finding_count = part->finding_count,
        .first_rank = -1,
    };
    memcpy(out->boot_id, part->boot_id, sizeof out->boot_id);
    memcpy(out->machine, part->machine, sizeof out->machine);
    memcpy(out->findings, part->findings, sizeof out->findings);
    return out->job && out->launcher && out->host && out->directory && out->path;
}

static bool fill_rank(struct job_rank *out, const struct part_rank *rank, size_t launch)
{
    const struct sketch *times = &rank->times[SERIES_STEP];

    *out = (struct job_rank){.rank = (int)rank->rank,
                             .world = rank->world,
                             .pid = rank->pid,
                             .launch = launch,
                             .started_ns = rank->started_ns,
                             .steps = rank->steps,
                             .steady_steps = rank->steady_steps,
                             .steady_ns = rank->steady_ns,
                             .wall_ns = rank->wall_ns,
                             .measured = rank->measured,
                             .windows = rank->windows,
                             .p50_ns = sketch_quantile(times, 0.5),
                             .p95_ns = sketch_quantile(times, 0.95),
                             .max_ns = times->count > 0 ? (double)times->max_ns : NAN};
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        out->mean_ns[i] =
            rank->steady_steps > 0 ? (double)rank->stage_ns[i] / (double)rank->steady_steps : NAN;
    for (int i = 0; i < rank->windows; i++)
        out->window_ns[i] = (double)rank->window_ns[i];
    if (rank->shared_count == 0)
        return true;
    out->shared = malloc(rank->shared_count * sizeof *out->shared);
    if (!out->shared)
        return false;
    memcpy(out->shared, rank->shared, rank->shared_count * sizeof *out->shared);
    out->shared_count = rank->shared_count;
    return true;
}

/* In a row of their own: there may be ten thousand, each of which is looked for. */
static struct job_launch *find_launch(const struct job_view *view, uint64_t id)
{
    for (size_t i = 0; i < view->launch_count; i++)
        if (view->launch_ids[i] == id && !view->launches[i].is_replaced)
            return &view->launches[i];
    return NULL;
}

int job_view_add(struct job_view *view, const struct job_part *part)
{
    struct job_launch *const known = find_launch(view, part->launch);

    if (known && known->sequence >= part->sequence)
        return 0;
    if (known)
        known->is_replaced = true;
    if (!grow((void **)&view->launches, &view->launch_room, view->launch_count,
              sizeof *view->launches) ||
        !grow((void **)&view->launch_ids, &view->id_room, view->launch_count,
              sizeof *view->launch_ids))
        return SS_E_NOMEM;
    view->launch_ids[view->launch_count] = part->launch;
    if (!fill_launch(&view->launches[view->launch_count++], part))
        return SS_E_NOMEM;
    for (size_t i = 0; i < part->rank_count; i++)
        if (!grow((void **)&view->ranks, &view->rank_room, view->rank_count, sizeof *view->ranks) ||
            !fill_rank(&view->ranks[view->rank_count++], &part->ranks[i], view->launch_count - 1))
            return SS_E_NOMEM;
    return 0;
}

/* In an order that does not depend on the one in which parts came. */
static int by_job(const void *a, const void *b)
{
    const struct job_launch *x = *(const struct job_launch *const *)a;
    const struct job_launch *y = *(const struct job_launch *const *)b;

    return strcmp(x->job, y->job);
}

/* The job with most launches, of several the first by name. */
static const char *usual_job(const struct job_view *view)
{
    const struct job_launch **sorted = calloc(view->launch_count + 1, sizeof *sorted);
    const char *best = "";
    size_t most = 0, same = 0, count = 0;

    for (size_t i = 0; sorted && i < view->launch_count; i++)
        if (!view->launches[i].is_replaced)
            sorted[count++] = &view->launches[i];
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, by_job);
    for (size_t i = 0; i < count; i++) {
        same = i > 0 && strcmp(sorted[i]->job, sorted[i - 1]->job) == 0 ? same + 1 : 1;
        if (same > most) {
            most = same;
            best = sorted[i]->job;
        }
    }
    free(sorted);
    return best;
}

static int drop_others(struct job_view *view, const char *id)
{
    struct buf why = {0};
    int failed = 0;

    for (size_t i = 0; i < view->launch_count && !failed; i++) {
        struct job_launch *launch = &view->launches[i];
        if (launch->is_replaced || strcmp(launch->job, id) == 0)
            continue;
        buf_reset(&why);
        buf_printf(&why, "it is of another job, %s", launch->job);
        failed = why.failed ? SS_E_NOMEM : job_view_skip(view, launch->directory, buf_text(&why));
        launch->is_replaced = true;
    }
    buf_release(&why);
    return failed;
}

static int by_rank_then_newest(const void *a, const void *b)
{
    const struct job_rank *x = a, *y = b;

    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    if (x->started_ns != y->started_ns)
        return x->started_ns < y->started_ns ? 1 : -1;
    if (x->steps != y->steps)
        return x->steps < y->steps ? 1 : -1;
    return (x->pid < y->pid) - (x->pid > y->pid);
}

static void keep_newest(struct job_view *view)
{
    size_t kept = 0, count = 0;

    for (size_t i = 0; i < view->rank_count; i++)
        if (view->launches[view->ranks[i].launch].is_replaced)
            free(view->ranks[i].shared);
        else
            view->ranks[count++] = view->ranks[i];
    if (count > 1)
        qsort(view->ranks, count, sizeof *view->ranks, by_rank_then_newest);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && view->ranks[kept - 1].rank == view->ranks[i].rank) {
            free(view->ranks[i].shared);
            view->repeated++;
        } else {
            view->ranks[kept++] = view->ranks[i];
        }
    }
    view->rank_count = kept;
}

static bool same_host(const struct job_host *host, const struct job_launch *launch)
{
    return host->name && memcmp(host->boot_id, launch->boot_id, sizeof launch->boot_id) == 0 &&
           strcmp(host->name, launch->host) == 0;
}

static int by_first_rank(const void *a, const void *b)
{
    const struct job_launch *x = a, *y = b;
    const unsigned x_rank = (unsigned)x->first_rank, y_rank = (unsigned)y->first_rank;

    if (x->is_replaced != y->is_replaced)
        return x->is_replaced ? 1 : -1;
    if (x_rank != y_rank) /* -1 comes last */
        return (x_rank > y_rank) - (x_rank < y_rank);
    return (x->id > y->id) - (x->id < y->id);
}

/* Launches by their lowest rank; those that do not count are released. */
static bool order_launches(struct job_view *view)
{
    size_t *place = calloc(view->launch_count + 1, sizeof *place);
    size_t kept = 0;

    for (size_t i = 0; i < view->rank_count; i++) {
        struct job_launch *launch = &view->launches[view->ranks[i].launch];
        if (launch->ranks++ == 0)
            launch->first_rank = view->ranks[i].rank;
    }
    for (size_t i = 0; place && i < view->launch_count; i++)
        view->launches[i].host_at = (uint32_t)i;
    if (place && view->launch_count > 1)
        qsort(view->launches, view->launch_count, sizeof *view->launches, by_first_rank);
    for (size_t i = 0; place && i < view->launch_count; i++)
        place[view->launches[i].host_at] = i;
    for (size_t i = 0; place && i < view->rank_count; i++)
        view->ranks[i].launch = place[view->ranks[i].launch];
    for (size_t i = 0; place && i < view->launch_count; i++)
        if (view->launches[i].is_replaced)
            release_launch(&view->launches[i]);
        else
            kept = i + 1;
    if (place)
        view->launch_count = kept;
    free(place);
    return place != NULL;
}

static bool find_hosts(struct job_view *view)
{
    view->hosts = calloc(view->launch_count + 1, sizeof *view->hosts);
    if (!view->hosts)
        return false;
    for (size_t i = 0; i < view->launch_count; i++) {
        struct job_launch *launch = &view->launches[i];
        size_t at = view->host_count;
        while (at > 0 && !same_host(&view->hosts[at - 1], launch))
            at--;
        if (at == 0) {
            at = ++view->host_count;
            struct job_host *host = &view->hosts[at - 1];
            *host = (struct job_host){.name = launch->host, .first_rank = launch->first_rank};
            memcpy(host->boot_id, launch->boot_id, sizeof host->boot_id);
        }
        view->hosts[at - 1].launches++;
        view->hosts[at - 1].ranks += launch->ranks;
        launch->host_at = (uint32_t)(at - 1);
    }
    return true;
}

/* From the first begin to the last end: on one host by its own clock, else by those that are set to
 * the time of day. */
static void find_times(struct job_view *view)
{
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    const bool is_one = view->host_count == 1;
    bool is_set = true;
    int64_t error_ns = 0;

    for (size_t i = 0; i < view->launch_count; i++) {
        const struct job_launch *launch = &view->launches[i];
        const int64_t from_ns = is_one ? launch->begin_raw_ns : launch->begin_realtime_ns;
        const int64_t until_ns = is_one ? launch->last_raw_ns : launch->last_realtime_ns;
        begin_ns = from_ns < begin_ns ? from_ns : begin_ns;
        end_ns = until_ns > end_ns ? until_ns : end_ns;
        view->is_live |= !launch->has_ended;
        if (is_one)
            continue;
        is_set &= launch->clock_error_ns >= 0;
        error_ns = launch->clock_error_ns > error_ns ? launch->clock_error_ns : error_ns;
    }
    view->clock_error_ns = is_set ? 2 * (double)error_ns : NAN; /* each of two may be wrong */
    view->took_ns = view->launch_count > 0 && end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static struct snap_rank compared_rank(const struct job_view *view, const struct job_rank *row)
{
    struct snap_rank rank = snapshot_rank(row->rank);

    rank.host = view->launches[row->launch].host;
    rank.process = UINT32_MAX;
    rank.sees_comm = (row->measured >> SS_STAGE_COMM) & 1;
    memcpy(rank.mean_ns, row->mean_ns, sizeof rank.mean_ns);
    memcpy(rank.window_ns, row->window_ns, sizeof rank.window_ns);
    rank.windows = row->windows;
    return rank;
}

static bool note_missing(struct job_view *view)
{
    struct snap_job *job = &view->compared;
    uint32_t *seen = calloc(view->rank_count + 1, sizeof *seen);

    for (size_t i = 0; seen && i < view->rank_count; i++) {
        seen[i] = (uint32_t)view->ranks[i].rank;
        job->world = view->ranks[i].world > job->world ? view->ranks[i].world : job->world;
    }
    if (seen)
        snapshot_note_missing(job, seen, view->rank_count);
    free(seen);
    return seen != NULL;
}

/* Ranks with steps, beside each other. */
static bool compare_ranks(struct job_view *view)
{
    struct snap_job *job = &view->compared;
    struct blame_rank *steps = calloc(view->rank_count + 1, sizeof *steps);
    bool is_known = steps != NULL;

    job->ranks = calloc(view->rank_count + 1, sizeof *job->ranks);
    is_known &= job->ranks != NULL;
    for (size_t i = 0; is_known && i < view->rank_count; i++) {
        const struct job_rank *row = &view->ranks[i];
        if (row->steps == 0)
            continue;
        job->ranks[job->rank_count] = compared_rank(view, row);
        steps[job->rank_count].steps = row->shared;
        steps[job->rank_count++].count = row->shared_count;
    }
    if (is_known && job->rank_count > 1)
        is_known = snapshot_compare_ranks(job, steps);
    free(steps);
    return is_known;
}

int job_view_finish(struct job_view *view, const char *id)
{
    struct snap_job *job = &view->compared;
    const int failed = drop_others(view, id ? id : usual_job(view));

    if (failed)
        return failed;
    keep_newest(view);
    if (!order_launches(view) || !find_hosts(view) || !note_missing(view) || !compare_ranks(view))
        return SS_E_NOMEM;
    find_times(view);
    view->id = view->launch_count > 0 ? view->launches[0].job : "";
    view->launcher = view->launch_count > 0 ? view->launches[0].launcher : "";
    for (size_t i = 0; i < job->rank_count; i++)
        for (size_t low = 0, high = view->rank_count; low < high;) {
            const size_t mid = (low + high) / 2;
            if (view->ranks[mid].rank == job->ranks[i].rank)
                view->ranks[mid].compared_at = i;
            low = view->ranks[mid].rank < job->ranks[i].rank ? mid + 1 : low;
            high = view->ranks[mid].rank < job->ranks[i].rank ? high : mid;
        }
    job->hosts = view->host_count;
    job->id = view->id;
    job->took_ns = view->took_ns;
    job->clock_error_ns = view->clock_error_ns;
    return 0;
}

const struct job_rank *job_view_rank(const struct job_view *view, int rank)
{
    for (size_t i = 0; i < view->rank_count; i++)
        if (view->ranks[i].rank == rank)
            return &view->ranks[i];
    return NULL;
}

const struct snap_rank *job_view_compared(const struct job_view *view, const struct job_rank *rank)
{
    return rank->steps > 0 ? &view->compared.ranks[rank->compared_at] : NULL;
}
