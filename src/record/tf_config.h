/* Which worker of how many this process is, as TensorFlow is told in TF_CONFIG:
 *
 *   {"cluster": {"chief": [...], "worker": [...]}, "task": {"type": "worker", "index": 1}}
 *
 * A chief is the first, workers follow. */
#ifndef RECORD_TF_CONFIG_H
#define RECORD_TF_CONFIG_H

#include <stdbool.h>

/* False, and both as they were: the text does not say. */
bool tf_config_read(const char *text, int *rank, int *world);

#endif
