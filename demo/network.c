#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "random.h"

enum { PURPOSE_WEIGHTS = 3, ALIGNMENT = 64 };

static float *new_floats(size_t count)
{
    size_t bytes = (count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    float *floats = aligned_alloc(ALIGNMENT, bytes);
    if (floats)
        memset(floats, 0, bytes);
    return floats;
}

static void draw_weights(struct network *network, uint64_t seed)
{
    struct random random = random_for(seed, PURPOSE_WEIGHTS, 0);
    for (int l = 0; l < network->count; l++) {
        const struct layer *layer = &network->layers[l];
        float reach = sqrtf(6.0f / (float)layer->inputs);
        for (size_t i = layer->weights; i < layer->biases; i++)
            network->values[i] = random_about_0(&random, reach);
    }
}

/* False if memory is short. */
static int make_layers(struct network *network, const int *sizes)
{
    size_t rows = (size_t)network->capacity;
    for (int l = 0; l < network->count; l++) {
        struct layer *layer = &network->layers[l];
        layer->inputs = sizes[l];
        layer->outputs = sizes[l + 1];
        layer->weights = network->parameters;
        layer->biases = layer->weights + (size_t)layer->inputs * (size_t)layer->outputs;
        network->parameters = layer->biases + (size_t)layer->outputs;
        layer->output = new_floats(rows * (size_t)layer->outputs);
        layer->error = new_floats(rows * (size_t)layer->outputs);
        if (!layer->output || !layer->error)
            return 0;
    }
    return 1;
}

struct network *network_new(const int *sizes, int layers, int capacity, uint64_t seed)
{
    struct network *network = calloc(1, sizeof *network);
    if (!network)
        return NULL;
    network->count = layers;
    network->capacity = capacity;
    network->layers = calloc((size_t)layers, sizeof *network->layers);
    if (!network->layers || !make_layers(network, sizes))
        goto failed;
    network->values = new_floats(network->parameters);
    network->gradients = new_floats(network->parameters);
    network->mean = new_floats(network->parameters);
    network->variance = new_floats(network->parameters);
    if (!network->values || !network->gradients || !network->mean || !network->variance)
        goto failed;
    draw_weights(network, seed);
    return network;
failed:
    network_free(network);
    return NULL;
}

void network_free(struct network *network)
{
    if (!network)
        return;
    for (int l = 0; network->layers && l < network->count; l++) {
        free(network->layers[l].output);
        free(network->layers[l].error);
    }
    free(network->layers);
    free(network->values);
    free(network->gradients);
    free(network->mean);
    free(network->variance);
    free(network);
}

static const float *input_of(const struct network *network, int layer, const float *input)
{
    return layer ? network->layers[layer - 1].output : input;
}

void network_forward(struct network *network, int layer, const float *input, int rows)
{
    const struct layer *l = &network->layers[layer];
    const float *bias = network->values + l->biases;
    int rectify = layer + 1 < network->count;

    matrix_multiply(l->output, (struct matrix){input_of(network, layer, input), false},
                    (struct matrix){network->values + l->weights, false}, rows, l->outputs,
                    l->inputs);
    for (int row = 0; row < rows; row++) {
        float *out = l->output + (size_t)row * (size_t)l->outputs;
        for (int i = 0; i < l->outputs; i++) {
            float value = out[i] + bias[i];
            out[i] = rectify && value < 0 ? 0 : value;
        }
    }
}

/* Of each value against the largest, so that none overflows; returns their sum. */
static float exponentials(const float *values, int count, float largest, float *out)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += out[i] = expf(values[i] - largest);
    return sum;
}

/* Puts the gradient of the loss of one row into `error` and returns that loss. */
static float loss_of_row(const float *out, int classes, int label, int rows, float *error,
                         int *best)
{
    *best = 0;
    for (int i = 1; i < classes; i++)
        if (out[i] > out[*best])
            *best = i;
    float sum = exponentials(out, classes, out[*best], error);
    for (int i = 0; i < classes; i++)
        error[i] = (error[i] / sum - (i == label ? 1.0f : 0.0f)) / (float)rows;
    return logf(sum) + out[*best] - out[label];
}

float network_loss(struct network *network, const uint8_t *labels, int rows, int *correct)
{
    const struct layer *last = &network->layers[network->count - 1];
    float loss = 0;

    *correct = 0;
    for (int row = 0; row < rows; row++) {
        size_t at = (size_t)row * (size_t)last->outputs;
        int best;
        loss += loss_of_row(last->output + at, last->outputs, labels[row], rows, last->error + at,
                            &best);
        *correct += best == labels[row];
    }
    return loss / (float)rows;
}

static void add_biases(float *restrict gradient, const float *restrict error, int rows, int outputs)
{
    memset(gradient, 0, (size_t)outputs * sizeof *gradient);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < outputs; i++)
            gradient[i] += error[(size_t)row * (size_t)outputs + (size_t)i];
}

void network_backward(struct network *network, const float *input, int rows)
{
    for (int layer = network->count - 1; layer >= 0; layer--) {
        const struct layer *l = &network->layers[layer];
        matrix_multiply(network->gradients + l->weights,
                        (struct matrix){input_of(network, layer, input), true},
                        (struct matrix){l->error, false}, l->inputs, l->outputs, rows);
        add_biases(network->gradients + l->biases, l->error, rows, l->outputs);
        if (layer == 0)
            break;
        const struct layer *before = l - 1;
        matrix_multiply(before->error, (struct matrix){l->error, false},
                        (struct matrix){network->values + l->weights, true}, rows, l->inputs,
                        l->outputs);
        for (size_t i = 0; i < (size_t)rows * (size_t)l->inputs; i++)
            before->error[i] = before->output[i] > 0 ? before->error[i] : 0;
    }
}

void network_update(struct network *network, float learning_rate)
{
    const float keep_mean = 0.9f, keep_variance = 0.999f;
    float *restrict values = network->values, *restrict mean = network->mean,
                    *restrict variance = network->variance;
    const float *restrict gradients = network->gradients;
    double n = (double)++network->updates;
    float rate = (float)(learning_rate * sqrt(1 - pow(keep_variance, n)) / (1 - pow(keep_mean, n)));

    for (size_t i = 0; i < network->parameters; i++) {
        float g = gradients[i];
        mean[i] = keep_mean * mean[i] + (1 - keep_mean) * g;
        variance[i] = keep_variance * variance[i] + (1 - keep_variance) * g * g;
        values[i] -= rate * mean[i] / (sqrtf(variance[i]) + 1e-8f);
    }
}
