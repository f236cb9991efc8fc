/* What the names of a device's work and of calls into its driver say, of any profiler. */
#ifndef IMPORT_DEVICE_WORDS_H
#define IMPORT_DEVICE_WORDS_H

#include <stdint.h>

#include "import/trace.h"

/* NCCL and RCCL: their names have changed, these letters have not. */
bool device_word_is_collective(const char *name);

/* enum activity, of an event whose trace says no more of it than its name. */
uint8_t device_word_activity(const char *name);

/* enum route, of a copy. */
uint8_t device_word_route(const char *name);

/* enum call_kind. */
uint8_t device_word_call(const char *name);

#endif
