#include "experiment/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "experiment/ground.h"
#include "experiment/sweep_sum.h"
#include "experiment/trial.h"
#include "stats/mix.h"
#include "supervise/cgroup_limits.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"
#include "supervise/run_place.h"

enum {
    WARM_UP_STEPS = 15,
    SLICE_STEPS = 20,
    SLICE_STEPS_FEWEST = 5,
    SLICES_WANTED = 6,     /* of each, in the time that there is */
    FIRST_LOOK_ROUNDS = 6, /* before a value may be dropped */
    ROUNDS_LIMIT = 2000,
    SERIAL_ROUNDS = 2,
    SERIAL_SLICES = 12, /* of one training in one round */
    MEMORY_TEXT = 8192
};
static const int64_t shortest_slice_ns = 50000000, look_ns = 20000000, warm_up_ns = 50000000,
                     start_up_ns = 60000000000;
static const double memory_share = 0.7, certainly_slower = 0.97, clearly_other = 0.9;

struct sweep {
    const struct sweep_wish *wish;
    struct sweep_result *result;
    struct ground ground;
    struct trial *trials;
    struct sweep_sum sum;
    uint64_t random;
    int64_t started_ns;
    uint64_t memory_bytes; /* free when it began */
    int64_t slice_most_ns;
};

static bool is_over(struct sweep *s)
{
    if (!s->result->signal)
        s->result->signal = ground_signal(&s->ground);
    return s->result->signal || now_ns() - s->started_ns > s->wish->most_ns;
}

static void show_progress(struct sweep *s, double done)
{
    if (s->wish->progress)
        s->wish->progress(s->wish->context, done);
}

/* Why it ended by itself. */
static void note_failure(struct sweep_row *row, const struct trial *trial)
{
    const bool has_ended = trial->has_ended && !trial->was_ended;
    const bool has_failed =
        has_ended && WIFEXITED(trial->status) && WEXITSTATUS(trial->status) != 0;
    struct buf words = {0};

    if (row->error.size > 0)
        return;
    if (has_failed)
        trial_last_words(trial, &words);
    if (words.size > 0)
        buf_printf(&row->error, "exit code %d: %s", WEXITSTATUS(trial->status), buf_text(&words));
    else if (trial->is_unstoppable)
        buf_add_text(&row->error, "could not be stopped for the turns of others");
    else if (!has_ended && trial->steps_seen == 0)
        buf_add_text(&row->error, "recorded no step in its time");
    else if (!has_ended)
        buf_printf(&row->error, "only %lld steps in its time", (long long)trial->steps_seen);
    else if (WIFSIGNALED(trial->status))
        buf_printf(&row->error, "ended by signal %d", WTERMSIG(trial->status));
    else
        buf_printf(&row->error, "ended with exit code %d after %lld steps",
                   WEXITSTATUS(trial->status), (long long)trial->steps_seen);
    buf_release(&words);
}

static bool takes_part(const struct sweep *s, size_t i)
{
    return s->trials[i].pid && !s->trials[i].has_ended;
}

static void drop(struct sweep *s, size_t i)
{
    trial_end(&s->trials[i]);
    (void)trial_read(&s->trials[i]);
    sweep_sum_take(&s->sum, i, &s->trials[i]);
}

/* Until it has made its first steps; then it stands still. 0, or errno of a command that cannot be
 * run at all. */
static int warm_up(struct sweep *s, size_t i)
{
    struct trial *const trial = &s->trials[i];
    bool cannot_run;
    const int failed = trial_start(trial, &s->ground.protect, &s->ground.signals, &cannot_run);

    if (failed) {
        buf_printf(&s->result->rows[i].error, "cannot be started: %s", strerror(failed));
        return cannot_run ? failed : 0;
    }
    /* One that makes no steps must not take the time of all. */
    const int64_t share_ns = s->wish->most_ns / (int64_t)(s->result->count + 1);
    const int64_t until_ns = now_ns() + (share_ns > start_up_ns ? share_ns : start_up_ns);
    while (!is_over(s) && !trial_has_ended(trial) && trial->count < WARM_UP_STEPS &&
           now_ns() < until_ns) {
        ground_pause(&s->ground, warm_up_ns);
        (void)trial_read(trial);
    }
    const bool is_in_group = trial_is_in_group(trial);
    if (!is_in_group)
        buf_add_text(&s->result->rows[i].error,
                     "runs in a session of its own, which cannot be stopped");
    else
        trial_stop(trial);
    if (!is_in_group || trial->has_ended || trial->count < WARM_UP_STEPS) {
        note_failure(&s->result->rows[i], trial);
        trial_end(trial);
    }
    return 0;
}

/* So that each of `parts` gets enough turns, however slow its steps. */
static void share_time(struct sweep *s, size_t parts)
{
    const int64_t left_ns = s->wish->most_ns - (now_ns() - s->started_ns);

    s->slice_most_ns = left_ns / (int64_t)(parts * SLICES_WANTED);
}

static int64_t slice_ns(const struct sweep *s, const struct trial *trial)
{
    const int64_t usual_ns = trial_usual_ns(trial), steps_ns = SLICE_STEPS * usual_ns;
    const int64_t wanted_ns = steps_ns > shortest_slice_ns ? steps_ns : shortest_slice_ns;
    const int64_t fewest_ns = SLICE_STEPS_FEWEST * usual_ns;
    const int64_t capped_ns = earlier(wanted_ns, s->slice_most_ns);

    return capped_ns > fewest_ns ? capped_ns : fewest_ns;
}

static void give_turn(struct sweep *s, size_t i, uint64_t round)
{
    struct trial *const trial = &s->trials[i];

    trial_continue(trial, round);
    const int64_t until_ns = now_ns() + slice_ns(s, trial);
    while (now_ns() < until_ns && !is_over(s) && !trial_has_ended(trial))
        ground_pause(&s->ground, earlier(until_ns - now_ns(), look_ns));
    trial_stop(trial);
    (void)trial_read(trial);
    sweep_sum_take(&s->sum, i, trial);
}

static void shuffle(struct sweep *s, size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t other = (size_t)((mix_next(&s->random) >> 33) % i);
        const size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static size_t list_parts(const struct sweep *s, size_t *order)
{
    size_t count = 0;

    for (size_t i = 0; i < s->result->count; i++)
        if (takes_part(s, i))
            order[count++] = i;
    return count;
}

/* Values that the best one certainly beats end here. True: all that are left are known well. */
static bool judge(struct sweep *s)
{
    const struct rounds *const rounds = sweep_sum_rounds(&s->sum);
    const bool has_reference = s->wish->has_reference;
    const size_t best = has_reference ? 0 : sweep_sum_best(&s->sum);
    double widest = 0;

    if (best == SIZE_MAX)
        return false;
    for (size_t i = 0; i < s->result->count; i++) {
        if (!takes_part(s, i))
            continue;
        if (rounds_of(rounds, i) < FIRST_LOOK_ROUNDS)
            return false;
        if (!has_reference && rounds_ratio(rounds, i, best).high < certainly_slower) {
            s->result->rows[i].was_dropped = true;
            drop(s, i);
            continue;
        }
        const struct interval rate =
            has_reference ? rounds_ratio(rounds, i, 0) : rounds_rate(rounds, i);
        if (has_reference && (rate.low > 1 / clearly_other || rate.high < clearly_other))
            continue;
        widest = fmax(widest, (rate.high - rate.low) / 2 / rate.mid);
    }
    show_progress(s, fmin(0.99, pow(s->wish->precision / fmax(widest, 1e-9), 2)));
    return widest <= s->wish->precision;
}

static void by_turns(struct sweep *s)
{
    size_t order[VARIANTS_MOST];

    share_time(s, s->result->count);
    for (uint64_t round = 0; round < ROUNDS_LIMIT && !is_over(s); round++) {
        const size_t count = list_parts(s, order);
        if (count == 0)
            return;
        shuffle(s, order, count);
        for (size_t i = 0; i < count && !is_over(s); i++)
            give_turn(s, order[i], round);
        if (judge(s))
            return;
    }
}

static uint64_t free_memory(void)
{
    char text[MEMORY_TEXT];
    uint64_t kilobytes = 0, bytes = UINT64_MAX;

    if (proc_read("/proc/meminfo", text, sizeof text) &&
        proc_text_field(text, "MemAvailable", &kilobytes))
        bytes = kilobytes * 1024;
    if (!proc_read("/proc/self/cgroup", text, sizeof text))
        return bytes;
    const struct cgroup_limit limit = cgroup_limit_memory("/sys/fs/cgroup", text);
    if (limit.is_seen && limit.most > 0 && limit.most - limit.used < (double)bytes)
        bytes = limit.most > limit.used ? (uint64_t)(limit.most - limit.used) : 0;
    return bytes;
}

/* Whether one more training like the largest so far has room. */
static bool has_room(const struct sweep *s)
{
    uint64_t sum = 0, largest = 0;

    for (size_t i = 0; i < s->result->count; i++)
        if (takes_part(s, i)) {
            sum += s->trials[i].rss_bytes;
            if (s->trials[i].rss_bytes > largest)
                largest = s->trials[i].rss_bytes;
        }
    return (double)(sum + largest) <= memory_share * (double)s->memory_bytes;
}

static bool has_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0;
}

static int new_trial(struct sweep *s, size_t i)
{
    const struct variant *const variant = &s->wish->variants->variant[i];
    const struct run_place_wish wish = {
        .parent = buf_text(&s->result->dir), .name = variant->label, .command = variant->command};
    struct run_place place = {0};
    struct ss_error error = {0};
    int failed = run_place_make(&place, &wish, &error);

    trial_release(&s->trials[i]);
    if (!failed)
        failed = trial_init(&s->trials[i], variant->label, variant->command, place.home);
    s->trials[i].environment = variant->environment;
    run_place_release(&place);
    return failed;
}

/* One after the other. What lies between two slices of a training is nothing. */
static int one_after_the_other(struct sweep *s)
{
    const size_t count = s->result->count;
    int failed = 0;

    share_time(s, SERIAL_ROUNDS * count * SERIAL_SLICES / SLICES_WANTED);
    for (size_t turn = 0; turn < SERIAL_ROUNDS * count && !is_over(s) && !failed; turn++) {
        const size_t i = turn < count ? turn : 2 * count - 1 - turn;
        if (s->result->rows[i].error.size > 0)
            continue;
        if ((failed = new_trial(s, i)) != 0 || (failed = warm_up(s, i)) != 0)
            break;
        for (uint64_t k = 0; k < SERIAL_SLICES && takes_part(s, i) && !is_over(s); k++)
            give_turn(s, i, turn / count * SERIAL_SLICES + k);
        drop(s, i);
        show_progress(s, (double)(turn + 1) / (double)(SERIAL_ROUNDS * count));
    }
    return failed;
}

/* All that fit, each warmed up. False: they do not fit. */
static bool start_all(struct sweep *s, int *failed)
{
    for (size_t i = 0; i < s->result->count && !is_over(s); i++) {
        if (!has_room(s))
            return false;
        if ((*failed = new_trial(s, i)) != 0 || (*failed = warm_up(s, i)) != 0)
            return true;
    }
    return true;
}

static void end_all(struct sweep *s)
{
    for (size_t i = 0; i < s->result->count; i++)
        if (s->trials[i].pid)
            drop(s, i);
}

static int measure(struct sweep *s)
{
    int failed = 0;

    s->result->is_serial = s->wish->is_serial || has_gpu();
    if (!s->result->is_serial && !start_all(s, &failed)) {
        end_all(s);
        s->result->is_serial = true;
    }
    if (!failed && s->result->is_serial)
        failed = one_after_the_other(s);
    else if (!failed)
        by_turns(s);
    end_all(s);
    for (size_t i = 0; i < s->result->count; i++)
        if (rounds_of(sweep_sum_rounds(&s->sum), i) < ROUNDS_FEWEST)
            note_failure(&s->result->rows[i], &s->trials[i]);
    return failed;
}

int sweep_run(const struct sweep_wish *wish, struct sweep_result *result, struct ss_error *error)
{
    const struct variants *const variants = wish->variants;
    struct sweep s = {.wish = wish,
                      .result = result,
                      .random = 1,
                      .started_ns = now_ns(),
                      .memory_bytes = free_memory()};

    *result = (struct sweep_result){.count = variants->count,
                                    .best = SIZE_MAX,
                                    .smallest_near_best = SIZE_MAX,
                                    .has_reference = wish->has_reference};
    for (size_t i = 0; i < variants->count; i++)
        result->rows[i].label = variants->variant[i].label;
    const struct ground_wish ground_wish = {.parent = wish->parent,
                                            .name = wish->has_reference ? "try" : "sweep",
                                            .command = wish->command,
                                            .may_be_unprotected = wish->may_be_unprotected,
                                            .say = wish->say,
                                            .context = wish->context};
    int failed = ground_make(&s.ground, &ground_wish, error);
    buf_add_text(&result->dir, buf_text(&s.ground.dir));
    result->level = s.ground.protect.level;
    s.trials = calloc(VARIANTS_MOST, sizeof s.trials[0]);
    if (!failed && (!s.trials || sweep_sum_init(&s.sum, wish) != 0))
        failed = error_set(error, SS_E_NOMEM, "%s", ss_error_text(SS_E_NOMEM));
    if (!failed) {
        const int os_error = measure(&s);
        if (os_error > 0)
            failed = error_set(error, SS_E_INVALID, "cannot run '%s': %s",
                               variants->variant[0].command[0], strerror(os_error));
        else if (os_error < 0)
            failed = error_set(error, os_error, "%s", ss_error_text(os_error));
    }
    if (!failed)
        sweep_sum_up(&s.sum, wish, result);
    result->seconds = (double)(now_ns() - s.started_ns) / 1e9;
    for (size_t i = 0; s.trials && i < variants->count; i++)
        trial_release(&s.trials[i]);
    free(s.trials);
    sweep_sum_release(&s.sum);
    ground_release(&s.ground);
    return failed;
}

void sweep_release(struct sweep_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        buf_release(&result->rows[i].error);
    buf_release(&result->dir);
}
