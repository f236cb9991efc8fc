/* The built-in trainer: a small network in C that learns to read digits which it draws itself, and
 * that can be made slow on purpose, by a known amount. It records itself with the public calls of
 * stepscope/recorder.h only: trainer.c and loader.c show how that is done.
 *
 *   digits ─► loader ─► trainer ─► callbacks     part: recorded by Stepscope, and timed by the
 *   drawn     a thread,  network:   by name            demo's own clock
 *   once      a queue    matrix                  truth: what that clock said, as a
 * file */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DEMO_LAYERS = 8, /* hidden ones, at most */
    DEMO_WIDTH = 4096,
    DEMO_IMAGES = 12800, /* in the training set */
    DEMO_STEPS = 10000000,
    DEMO_HOGS = 64,
    DEMO_NAME = 32,
    DEMO_MESSAGE = 512
};

/* What can be made slow: id, name, what its size is made of, the size if none is given. A size has,
 * in this order and separated by colons: a name (n), a number (#), a time (t) or a number of bytes
 * (b). What each does is in the help of the command. */
#define DEMO_FAULTS(X)                                                                             \
    X(SLOW_INPUT, "slow-input", "t", "5ms")                                                        \
    X(SLOW_CALLBACK, "slow-callback", "nt", "MetricLog:2ms")                                       \
    X(SLOW_CALLBACK_EVERY, "slow-callback-every", "n#t", "MetricLog:50:20ms")                      \
    X(TINY_BATCH, "tiny-batch", "#", "8")                                                          \
    X(CPU_HOG, "cpu-hog", "#", "2")                                                                \
    X(CHECKPOINT_STALL, "checkpoint-stall", "t", "200ms")                                          \
    X(GROWING_STEP, "growing-step", "t", "10us")                                                   \
    X(LEAK, "leak", "b", "256KB")                                                                  \
    X(PERIODIC_PAUSE, "periodic-pause", "#t", "100:50ms")                                          \
    X(LONG_WARM_UP, "long-warm-up", "#t", "50:10ms")                                               \
    X(HEAVY_LAYER, "heavy-layer", "nt", "hidden2:3ms")

#define DEMO_ENUM_FAULT(id, name, form, size) FAULT_##id,
enum demo_fault_id { DEMO_FAULTS(DEMO_ENUM_FAULT) FAULT_COUNT };

struct demo_fault {
    bool on;
    char target[DEMO_NAME];
    int64_t count, ns, bytes;
};

struct demo_settings {
    int64_t epochs;
    int64_t steps; /* stop after this many; 0: after the epochs */
    int batch;     /* samples per step */
    int hidden[DEMO_LAYERS];
    int layers; /* hidden ones */
    uint64_t seed;
    bool plain;        /* do not look for OpenBLAS */
    const char *truth; /* file to write, NULL: none */
    struct demo_fault faults[FAULT_COUNT];
};

enum demo_result { DEMO_FINE, DEMO_BAD_SETTINGS, DEMO_FAILED };

/* 5 epochs of 200 steps of 64 samples, two hidden layers, no fault. */
#define DEMO_DEFAULTS                                                                              \
    {                                                                                              \
        .epochs = 5, .batch = 64, .hidden = {256, 128}, .layers = 2, .seed = 1                     \
    }

/* Trains, and prints how it goes to stdout. What went wrong is in `message`, as a sentence. */
enum demo_result demo_run(const struct demo_settings *settings, char message[DEMO_MESSAGE]);

#endif
