/* What to change, for each finding and framework: the call and its argument. */
#ifndef DIAGNOSE_ADVICE_H
#define DIAGNOSE_ADVICE_H

#include <stddef.h>

/* OTHER: a program that records itself, in C or in Python without a framework. */
enum framework {
    FRAMEWORK_OTHER,
    FRAMEWORK_TORCH,
    FRAMEWORK_KERAS, /* and TensorFlow without it */
    FRAMEWORK_JAX,
    FRAMEWORK_COUNT
};

/* "": there is no such finding. */
const char *advice_for(const char *id, enum framework framework);

/* How to get names for what computes. */
const char *advice_on_layers(enum framework framework);

#endif
