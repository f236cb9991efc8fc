/* One variant of an experiment: a training in a process group of its own, which is stopped and
 * continued as a whole and thrown away at the end. It records into a run directory like any other.
 */
#ifndef EXPERIMENT_TRIAL_H
#define EXPERIMENT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/protect.h"
#include "supervise/launch.h"
#include "supervise/live.h"

struct trial_step {
    int64_t start_ns, end_ns, time_ns; /* CLOCK_MONOTONIC_RAW */
    int64_t steps, samples;
};

/* A stretch of time in which it ran. */
struct trial_slice {
    int64_t begin_ns, end_ns;
    int64_t waited_ns; /* its loop thread was ready and had no core */
    uint64_t round;
};

struct trial {
    const char *label;
    char *const *command;
    char *const *environment; /* "NAME=VALUE", ends with NULL; may be NULL */
    struct buf dir, log;
    struct run_facts facts;
    struct live live;
    pid_t pid; /* of the leader; 0: not started */
    bool is_stopped, has_ended;
    bool was_ended, is_unstoppable;      /* ended by us; because it could not be stopped */
    int status;                          /* as of waitpid(), when it has ended */
    int64_t group_cpu_ns, thread_cpu_ns; /* while it was measured */
    int64_t group_seen_ns;               /* when it was last stopped; 0: not yet */
    uint64_t rss_bytes;                  /* of the group, the largest seen */
    struct {
        uint32_t pid, tid;
        uint64_t ran_ns, waited_ns;
    } thread; /* of the loop, when it was last stopped or continued */

    struct trial_step *steps; /* in order; the first `used` have been taken */
    size_t count, room, used;
    int64_t steps_seen; /* also those that are excluded from statistics */
    struct trial_slice *slices;
    size_t slice_count, slice_room;
};

/* `command` and what else is pointed to must outlive it. `dir` is made. 0 or errno. */
int trial_init(struct trial *trial, const char *label, char *const *command, const char *dir);
void trial_release(struct trial *trial);

/* 0, or an errno: it could not be started (`cannot_run`: the command itself cannot). */
int trial_start(struct trial *trial, const struct protect *protect, const struct signals *signals,
                bool *cannot_run);

/* As a whole. trial_continue() begins a slice of that round, trial_stop() ends it; both notice if
 * the training has ended. */
void trial_continue(struct trial *trial, uint64_t round);
void trial_stop(struct trial *trial);

/* Whether it has ended by itself. */
bool trial_has_ended(struct trial *trial);

/* False: its loop runs in a session of its own, which cannot be stopped. */
bool trial_is_in_group(struct trial *trial);

/* Ends all of the group: asks, waits 2 s, kills. */
void trial_end(struct trial *trial);

/* Reads what it has recorded since. 0 or SS_E. */
int trial_read(struct trial *trial);

/* Steps that began in one slice, without its first moment, in which caches are cold: only of slices
 * that are over and all of whose records have been read, each once. A step that a stop cut in two
 * counts without the time for which it stood still. False: there is no further one. */
struct trial_yield {
    uint64_t round;
    double wall_ns, quiet_ns; /* quiet: without what the thread waited for a core */
    bool is_quiet_known;
    double steps, samples;
};
bool trial_next(struct trial *trial, struct trial_yield *out);

/* Median time of one step of those that it has kept; 0: none. */
int64_t trial_usual_ns(const struct trial *trial);

/* The last line that it printed, as an explanation of why it ended; "" if there is none. */
void trial_last_words(const struct trial *trial, struct buf *out);

#endif
