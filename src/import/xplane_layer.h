/* The layer in the name of an operation: what TensorFlow and JAX add to it is taken away. */
#ifndef IMPORT_XPLANE_LAYER_H
#define IMPORT_XPLANE_LAYER_H

#include <stdbool.h>
#include <stddef.h>

/* "scope/of/node:OpType", as TensorFlow calls what its executor runs. */
bool xplane_layer_is_operation(const char *name);

/* Of "replica_0/net/dense/MatMul:MatMul#shape=..." net/dense. The length of the path, 0: none. */
size_t xplane_layer_of_operation(const char *name, char *out, size_t size);

/* Of "jit(step)/transpose(jvp(Net))/dense/dot_general" Net/dense, as JAX calls an instruction. */
size_t xplane_layer_of_source(const char *name, char *out, size_t size);

#endif
