/* Runs with something of everything, and ways to damage them: the same for the same
 * number. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include "support/synth.h"

/* Three runs: many kinds and segments, a killed one with a counter as its clock, many
 * lanes. */
enum { DAMAGE_RUNS = 3 };
struct synth *damage_run(unsigned which);

/* Reads `count` damaged copies of these runs, from the `first` on, as exercise_files()
 * does. */
void damage_and_read(uint64_t first, uint64_t count);

#endif
