/* Random plays for the step model, the same ones for the same seed, and snapshots as text.
 *
 * A wild play does what no sane script would: any nesting of all stages, any flag, marks, loops and
 * epochs anywhere, several threads of two processes, lost records. Between that it trains: with or
 * without micro-batches, one optimizer or several, named and unnamed evaluation, train calls,
 * jitted functions. What each play does is drawn first, so that some are all noise and some
 * hardly. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "support/script.h"

struct dice {
    uint64_t state;
};

struct dice dice_new(uint64_t seed);
uint64_t dice_roll(struct dice *dice); /* 64 random bits */
unsigned dice_below(struct dice *dice, unsigned limit);
bool dice_chance(struct dice *dice, unsigned percent);

/* A program that plays seeds: PROGRAM [FIRST [COUNT]] plays COUNT of them, 1 if not given, from the
 * first on; without arguments as many as its tests say. seeds_tell() is a teardown: after a failure
 * it says which seed that was. */
extern struct seeds {
    uint64_t first, count, now;
} seeds;
void seeds_choose(int argc, char **argv);
int seeds_tell(void **state);

#define FOR_EACH_SEED(seed, usual)                                                                 \
    for (uint64_t seed = seeds.now = seeds.first;                                                  \
         seed < seeds.first + (seeds.count ? seeds.count : (usual)); seeds.now = ++seed)

enum wild_options {
    WILD_APPENDS = 1 << 0,  /* spans dated back over others: excess is then allowed */
    WILD_ONE_LANE = 1 << 1, /* no other threads and processes */
};

/* Acts `acts` times; what fewer acts do is the beginning of what more do. `between` (may be NULL)
 * is called before each. */
void wild_play(struct script *script, uint64_t seed, unsigned acts, unsigned options,
               void (*between)(void *context, unsigned act), void *context);

/* All that is in a snapshot, to the last bit. The caller frees it. */
char *snapshot_text(const struct snapshot *snapshot);

#endif
