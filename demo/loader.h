/* The data: digits, and a thread of its own that makes batches of them, a few ahead of the
 * training. Which digits a batch holds and how they are changed depends on the seed and its number
 * alone, not on who was faster. */
#ifndef DEMO_LOADER_H
#define DEMO_LOADER_H

#include <pthread.h>
#include <stdint.h>

#include "faults.h"
#include "truth.h"

/* Digits, drawn by strokes of a pen that is never quite the same. */

enum { DIGIT_SIDE = 20, DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE, DIGIT_CLASSES = 10 };

struct digits {
    int count;
    float *pixels; /* DIGIT_PIXELS each, 0 to 1 */
    uint8_t *labels;
};

/* Draws `count` digits; 0, or -1 if memory is short. Release it in both cases. */
int digits_draw(struct digits *digits, int count, uint64_t seed);
void digits_release(struct digits *digits);

/* One of them, turned, moved, stretched and made noisy at random: what a training sees. */
void digits_augment(const struct digits *digits, int index, uint64_t seed, float *pixels);

enum { LOADER_AHEAD = 4 };

struct batch {
    float *pixels; /* one row of DIGIT_PIXELS a sample */
    uint8_t *labels;
};

struct loader {
    const struct digits *digits;
    int batch_size, batches_per_epoch;
    uint64_t seed;
    struct faults *faults; /* slow-input is the loader's */
    struct part make, read, augment;

    int *order; /* of the digits in this epoch */
    struct batch ring[LOADER_AHEAD];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t made, taken; /* batches */
    bool stop, running;
    pthread_t thread;
};

/* 0, or -1 if memory or a thread is missing. Release it in both cases. */
int loader_start(struct loader *loader, const struct digits *digits, int batch_size, uint64_t seed,
                 struct faults *faults, struct truth *truth);
void loader_stop(struct loader *loader); /* ends the thread; the last batch stays valid */
void loader_release(struct loader *loader);

/* Waits for the next batch. It stays valid until the next call. */
const struct batch *loader_next(struct loader *loader);

#endif
