/* What changes of the environment would gain: the command as it is, twice, and with each change,
 * all by turns (sweep.h). A change must gain more than the two that are alike differ by. */
#ifndef EXPERIMENT_TRY_H
#define EXPERIMENT_TRY_H

#include "base/sink.h"
#include "experiment/sweep.h"
#include "render/style.h"
#include "stats/compare_ladder.h"

#define TRY_WORDS "input, callbacks, threads=N, malloc, omp-passive and env:NAME=VALUE"

enum { TRY_AS_IT_IS, TRY_AGAIN, TRY_FIRST }; /* places of variants */

/* Adds the variants that "threads=1,malloc,env:NAME=VALUE" names, after those of the command as it
 * is. 0, or SS_E_INVALID with a sentence. */
int try_add(struct variants *variants, const char *what, char *const *command,
            struct ss_error *error);

/* Whether a word stands for a change of the environment, but for threads=N. */
bool try_has(const char *word, size_t size);

/* What one gains: the part of a step's time that it saves, with the word for it. */
struct try_gain {
    struct interval gain; /* high is INFINITY: not known */
    enum compare_word word;
};
struct try_gain try_gain_of(const struct sweep_result *result, size_t i);

/* The one to keep: certainly faster, and more so than the others. SIZE_MAX: none. */
size_t try_winner(const struct sweep_result *result);

void try_text(struct sink *out, const struct variants *variants, const struct sweep_result *result,
              const struct style *style);
void try_json(struct sink *out, const struct sweep_result *result);

/* How to run the command with a variant's variables, for a shell; secrets are left out. */
void try_line(struct buf *out, const struct variant *variant);

#endif
