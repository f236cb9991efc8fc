/* A random sample of at most 512 steps of a run of any length, for what needs single values, as
 * the MAD (method 1.6).
 *
 * Each step has a number that looks random, made of its own number and that of its source; the 512
 * smallest stay. So the same steps give the same sample in any order, and merging samples gives
 * the sample of all. Up to 512 steps it holds them all. */
#ifndef STATS_SAMPLE_H
#define STATS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_SIZE = 512 };

struct sample_item {
    uint64_t order; /* what looks random */
    int64_t step;
    double value;
};

struct sample {
    uint64_t source;
    size_t count;
    size_t last; /* place of the largest order, once all are taken */
    struct sample_item item[SAMPLE_SIZE];
};

/* `source`: a number that other samples with which it will be merged do not have, as the rank. */
void sample_init(struct sample *sample, uint64_t source);

void sample_add(struct sample *sample, int64_t step, double value);

/* Adds all of `from` to `to`. */
void sample_merge(struct sample *to, const struct sample *from);

/* The values of sampled steps from `first_step` on, in the order of the steps; `out` has room for
 * SAMPLE_SIZE. Returns how many there are. */
size_t sample_values(const struct sample *sample, int64_t first_step, double *out);

/* The steps of one rank that are compared with those of the others (method 9.1): at most 512,
 * chosen by their number alone, so that all ranks choose the same ones. Memory is taken as they
 * come. */

enum { SHARED_STEPS_MOST = 512 };

struct shared_step {
    int64_t number;         /* in the loop: the first one of its window */
    double own_ns, comm_ns; /* a step: without communication, and in it */
};

struct begun_step {
    struct shared_step step;
    int64_t start_ns;
};

/* {0} has none. */
struct shared_steps {
    struct begun_step *items;
    size_t count, capacity;
    size_t last; /* the one that goes next, once there are enough */
};

void shared_steps_release(struct shared_steps *steps);

/* Without memory nothing is added. */
void shared_steps_add(struct shared_steps *steps, int64_t start_ns, const struct shared_step *step);

/* Those that began at `from_ns` or later, in the order of their numbers. The caller frees them;
 * NULL without memory or if there are none. */
struct shared_step *shared_steps_since(const struct shared_steps *steps, int64_t from_ns,
                                       size_t *count);

#endif
