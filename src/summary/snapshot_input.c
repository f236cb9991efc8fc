/* Waits for batches against what made them, by the number of the batch (method 5.2).
 *
 *     wait         |------------------------|
 *     its batch        ...------------|        until then it was being made
 *     a later one  ...----|                    from here on it only waited for its turn */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/other_threads.h"
#include "stats/robust.h"
#include "summary/snapshot_parts.h"

enum { WORKERS_MOST = 256, WORKER_BATCHES = 8, FURTHEST = 64 };

static const int64_t LONGEST_WAIT_NS = INT64_C(1) << 50; /* 13 days; more is damage */

struct made {
    struct batch_time time;
    int worker;
};

struct makers {
    struct made *made;
    size_t count;
    int workers;
    double mean_ns[WORKERS_MOST]; /* of a batch, of those with enough of them */
    int means;
};

/* A thread that made batches for the same rank since a time. */
static bool is_worker(const struct model *model, const struct thread *thread,
                      const struct thread *loop, int64_t since_ns)
{
    const struct model_process_facts *own = &model->processes[thread->process];
    const struct model_process_facts *its = &model->processes[loop->process];
    const struct batch_log *log = thread->log;
    return log && log->is_producer &&
           batch_log_at(log, batch_log_kept(log) - 1)->end_ns >= since_ns &&
           (!own->known || !its->known || own->facts.rank == its->facts.rank);
}

static void take_worker(struct makers *makers, const struct batch_log *log)
{
    const uint32_t kept = batch_log_kept(log);
    double sum = 0;
    for (uint32_t i = 0; i < kept; i++) {
        const struct batch_time *time = batch_log_at(log, i);
        makers->made[makers->count++] = (struct made){*time, makers->workers};
        sum += (double)(time->end_ns - time->start_ns);
    }
    if (kept >= WORKER_BATCHES)
        makers->mean_ns[makers->means++] = sum / kept;
    makers->workers++;
}

static bool collect(const struct model *model, const struct thread *loop, struct makers *makers)
{
    const int64_t since_ns = batch_log_at(loop->log, 0)->start_ns;
    const struct thread *thread;
    struct thread_walk walk = {0};
    makers->made = malloc(sizeof(struct made[WORKERS_MOST][BATCH_LOG_MADE]));
    while (makers->made && makers->workers < WORKERS_MOST &&
           (thread = model_next_thread(model, &walk)))
        if (is_worker(model, thread, loop, since_ns))
            take_worker(makers, thread->log);
    return makers->made != NULL;
}

/* Numbers start over with each iterator: the newest one that was there when the wait ended. 0 is
 * none. */
static const struct made *find_made(const struct makers *makers, const struct batch_time *wait)
{
    const struct made *found = NULL;
    const size_t count = wait->number == 0 ? 0 : makers->count;
    for (size_t i = 0; i < count; i++) {
        const struct made *made = &makers->made[i];
        if (made->time.number == wait->number && made->time.end_ns <= wait->end_ns &&
            (!found || made->time.end_ns > found->time.end_ns))
            found = made;
    }
    return found;
}

/* When the first of the later ones was ready, of those that the same iterator made since
 * `since_ns`. */
static int64_t later_ready_ns(const struct makers *makers, const struct batch_time *own,
                              int64_t since_ns)
{
    int64_t ready_ns = own->end_ns;
    for (size_t i = 0; i < makers->count; i++) {
        const struct batch_time *time = &makers->made[i].time;
        if (time->number > own->number && time->number - own->number <= FURTHEST &&
            time->end_ns >= since_ns && time->end_ns < ready_ns)
            ready_ns = time->end_ns;
    }
    return ready_ns;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_wait(const struct makers *makers, const struct batch_time *wait,
                     const struct batch_time *own, int64_t since_ns, struct snap_input *out)
{
    const int64_t ready_ns = own->end_ns;
    if (wait->end_ns - wait->start_ns > LONGEST_WAIT_NS)
        return;
    out->batches++;
    out->wait_ns += wait->end_ns - wait->start_ns;
    out->making_ns += larger(ready_ns - wait->start_ns, 0);
    if (ready_ns > wait->start_ns)
        out->turn_ns += ready_ns - larger(wait->start_ns, later_ready_ns(makers, own, since_ns));
}

static void add_waits(const struct makers *makers, const struct batch_log *waits,
                      struct snap_input *out)
{
    bool is_seen[WORKERS_MOST] = {false};
    int64_t last = INT64_MAX, since_ns = 0;
    for (uint32_t i = 0; i < batch_log_kept(waits); i++) {
        const struct batch_time *wait = batch_log_at(waits, i);
        const struct made *own = find_made(makers, wait);
        if (own && wait->number <= last) { /* another iterator: its workers count */
            since_ns = own->time.start_ns;
            memset(is_seen, 0, sizeof is_seen);
            out->workers = 0;
        }
        if (own) {
            last = wait->number;
            out->workers += !is_seen[own->worker];
            is_seen[own->worker] = true;
            add_wait(makers, wait, &own->time, since_ns, out);
        }
    }
}

/* The slowest worker against all others. */
static void compare_workers(struct makers *makers, struct snap_input *out)
{
    double scratch[WORKERS_MOST], *mean = makers->mean_ns;
    const int last = makers->means - 1;
    if (last < 1)
        return;
    for (int i = 0; i < last; i++) {
        if (mean[i] > mean[last]) {
            const double slower = mean[i];
            mean[i] = mean[last];
            mean[last] = slower;
        }
    }
    out->slowest_ns = mean[last];
    out->usual_ns = robust_median(mean, (size_t)last, scratch);
}

bool snapshot_fill_input(const struct model *model, const struct snap_loop *loop,
                         struct snap_input *out)
{
    const struct thread *thread;
    struct makers makers = {0};
    struct thread_walk walk = {0};
    memcpy(out->looks, model->processes[loop->process].making, sizeof out->looks);
    while ((thread = model_next_thread(model, &walk)) &&
           (thread->process != loop->process || thread->lane != loop->lane ||
            thread->tid != loop->tid)) {
    }
    if (!thread || !thread->log || thread->log->is_producer)
        return true;
    if (!collect(model, thread, &makers))
        return false;
    add_waits(&makers, thread->log, out);
    compare_workers(&makers, out);
    free(makers.made);
    return true;
}
