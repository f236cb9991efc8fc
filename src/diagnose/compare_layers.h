/* What is kept of the layers of a run to be compared: those that call no other one, with their time
 * in a mean steady step (method 3.8). */
#ifndef DIAGNOSE_COMPARE_LAYERS_H
#define DIAGNOSE_COMPARE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "summary/snapshot.h"

struct compare_layer {
    char *path;
    double ns, error_ns; /* of a step; the standard error, from within the run */
};

struct compare_layers {
    struct compare_layer *layer;
    size_t count;
    bool has_backward;
};

/* Layers of at least 0.5 % of the step. False: no memory. */
bool compare_layers_take(struct compare_layers *out, const struct snap_loop *loop);
void compare_layers_release(struct compare_layers *layers);

#endif
