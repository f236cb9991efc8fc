/* What changes would gain that can be switched while a training runs: inside one process, by turns
 * of a few steps (docs/experiments.md). The training switches itself (python/stepscope/_arms.py)
 * and records which arm each block of steps belongs to; here it is started, protected, watched and
 * thrown away as soon as the gains are known. */
#ifndef EXPERIMENT_IN_PROCESS_H
#define EXPERIMENT_IN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/ground.h"
#include "summary/snapshot.h"

struct in_process_wish {
    char *const *command;
    const char *parent;
    const char *words; /* NULL: what a report would advise */
    double precision;  /* half of the width of a gain's interval */
    int64_t most_ns;
    bool may_be_unprotected;
    void (*progress)(void *context, double done);
    void (*say)(void *context, const char *message);
    void *context;
};

struct in_process_result {
    struct snap_arms arms;
    struct buf dir, words, notes; /* notes: a line each */
    struct buf error;             /* why nothing was measured; empty: something was */
    enum protection level;
    int64_t steps;
    double seconds;
    bool is_precise;
    int signal; /* that ended it early; 0: none */
};

/* Whether such a change is tried within the process. */
bool in_process_has(const char *word, size_t size);

/* 0, or SS_E with a sentence. Release it in either case. */
int in_process_run(const struct in_process_wish *wish, struct in_process_result *result,
                   struct ss_error *error);
void in_process_release(struct in_process_result *result);

/* Something is known of a change. */
bool in_process_is_useful(const struct in_process_result *result);

struct sink;
struct style;

void in_process_text(struct sink *out, const struct in_process_result *result,
                     const struct style *style);
void in_process_json(struct sink *out, const struct in_process_result *result);

#endif
