/* A network of fully connected layers (ReLU between them, softmax at the end), trained by Adam. */
#ifndef DEMO_NETWORK_H
#define DEMO_NETWORK_H

#include <stddef.h>
#include <stdint.h>

struct layer {
    int inputs, outputs;
    size_t weights, biases; /* where they begin among the parameters */
    float *output;          /* of the last forward pass, one row a sample */
    float *error;           /* what the loss says about `output` */
};

struct network {
    struct layer *layers;
    int count, capacity; /* layers, and most rows of a pass */
    size_t parameters;
    float *values, *gradients, *mean, *variance; /* of each parameter; the last two: Adam */
    int64_t updates;
};

/* sizes[0] inputs, then the outputs of each of the layers. NULL if memory is short. */
struct network *network_new(const int *sizes, int layers, int capacity, uint64_t seed);
void network_free(struct network *network);

/* The forward pass of one layer; `input` is what the network sees and counts for the first. */
void network_forward(struct network *network, int layer, const float *input, int rows);

/* Mean loss after a forward pass, and how many rows were right; starts the backward pass. */
float network_loss(struct network *network, const uint8_t *labels, int rows, int *correct);
void network_backward(struct network *network, const float *input, int rows);
void network_update(struct network *network, float learning_rate);

#endif
