/* The faults of `stepscope demo` as words: slow-input=5ms. */
#ifndef CLI_DEMO_FAULTS_H
#define CLI_DEMO_FAULTS_H

#include <stddef.h>

#include "demo/demo.h"
#include "stepscope/error.h"

/* Switches on the fault that `text` names, with the size that it gives or else the usual one. 0, or
 * SS_E_INVALID with a sentence. */
int demo_faults_add(struct demo_fault faults[FAULT_COUNT], const char *text,
                    struct ss_error *error);

/* A whole number between the two ends. False if it is anything else. */
bool demo_number(const char *text, size_t size, int64_t lowest, int64_t highest,
                 int64_t *value);

#endif
