/* The training loop. */
#ifndef DEMO_TRAINER_H
#define DEMO_TRAINER_H

#include "faults.h"
#include "loader.h"
#include "network.h"
#include "truth.h"

enum { TRAINER_TEST_IMAGES = 2000, TRAINER_CALLBACKS = 5, TRAINER_ROWS = 250 };

struct trainer {
    const struct demo_settings *settings;
    int batch;
    int64_t steps, epochs, steps_per_epoch; /* as planned */
    int64_t step, epoch;                    /* those that run now, from 0 */

    struct faults faults;
    struct truth truth;
    struct digits digits, test;
    struct loader loader;
    struct network *network;
    int checkpoint_fd;
    float *best; /* parameters of the best epoch, kept by a callback */

    ss_name loop, loss_counter;
    struct part draw, data, forward, layers[DEMO_LAYERS + 1], backward, update, eval, checkpoint,
        callbacks[TRAINER_CALLBACKS];
    char layer_names[DEMO_LAYERS + 1][DEMO_NAME];

    float learning_rate, loss, gradient_norm;
    double epoch_loss, accuracy, best_accuracy; /* sum of this epoch; of the test set */
    int64_t epoch_begin_ns;
    uint64_t losses; /* a hash of all losses so far */
    char log[4096];  /* the last lines of a log of all steps */
    size_t log_size;
};

/* 0, or -1 if memory or a thread is missing. Release it in both cases. */
int trainer_init(struct trainer *trainer, const struct demo_settings *settings);
void trainer_release(struct trainer *trainer);

void trainer_run(struct trainer *trainer);

/* All of a step but waiting for its batch. */
void trainer_learn(struct trainer *trainer, const struct batch *batch);

/* A hash of bytes, going on from `hash`; start with 0. */
uint64_t trainer_hash(uint64_t hash, const void *data, size_t size);

#endif
