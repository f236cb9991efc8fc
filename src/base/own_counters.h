/* Counters that a process records of itself, beside those of the program: no metrics of the
 * training. */
#ifndef BASE_OWN_COUNTERS_H
#define BASE_OWN_COUNTERS_H

#define OWN_COUNTER_MINOR_FAULTS "loop minor faults"
#define OWN_COUNTER_MAJOR_FAULTS "loop major faults"
#define OWN_COUNTER_CPU "loop cpu"
#define OWN_COUNTER_SAMPLER_CPU "stack sampler cpu"
#define OWN_COUNTER_DISCARDED "stack samples discarded"
#define OWN_COUNTER_SAMPLES "samples of a batch"
#define OWN_COUNTER_MAKING "making a batch" /* looks at threads that do: enum making_state */
#define OWN_COUNTER_LAYERS "layers cost"    /* nanoseconds so far */

enum making_state { MAKING_WAITS, MAKING_RUNS, MAKING_WAITS_FOR_LOCK, MAKING_STATES };

#endif
