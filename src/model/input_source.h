/* What gives a loop its batches, as adapters tell it by marks called "input": a kind, then words.
 *
 *   tf.data generator map:serial map:python interleave:serial cache prefetch
 *   PyDataset workers=4 processes
 *   generator | arrays */
#ifndef MODEL_INPUT_SOURCE_H
#define MODEL_INPUT_SOURCE_H

#include "stepscope/reader.h"

#define INPUT_SOURCE_MARK "input"

enum input_kind {
    INPUT_UNKNOWN,
    INPUT_TF_DATA,
    INPUT_PY_DATASET, /* keras.utils.PyDataset */
    INPUT_GENERATOR,  /* of the script, given to a trainer */
    INPUT_ARRAYS      /* in memory */
};

enum input_has {
    INPUT_HAS_GENERATOR = 1 << 0,         /* from_generator */
    INPUT_HAS_SERIAL_MAP = 1 << 1,        /* without num_parallel_calls */
    INPUT_HAS_PYTHON_MAP = 1 << 2,        /* py_function or numpy_function inside */
    INPUT_HAS_SERIAL_INTERLEAVE = 1 << 3, /* without num_parallel_calls */
    INPUT_HAS_CACHE = 1 << 4,
    INPUT_HAS_PREFETCH = 1 << 5, /* at its end */
    INPUT_HAS_PROCESSES = 1 << 6 /* a PyDataset's workers are processes */
};

struct input_source {
    enum input_kind kind;
    unsigned has; /* enum input_has */
    int workers;  /* of a PyDataset */
};

/* Words that it does not know are left out. */
struct input_source input_source_parse(struct ss_text mark);

#endif
