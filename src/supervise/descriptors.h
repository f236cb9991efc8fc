/* Closes what a process has inherited and must not hold open. */
#ifndef SUPERVISE_DESCRIPTORS_H
#define SUPERVISE_DESCRIPTORS_H

#include <stddef.h>

/* Closes all descriptors but `count` of them, which are in rising order. Those of standard input,
 * output and error are not left free: something that can be neither read nor written takes their
 * place. */
void descriptors_keep_only(const int *kept, size_t count);

#endif
