/* malloc(), calloc(), realloc() and free() of a test program: one call can be made to fail, and
 * what is in use is counted. The program is linked with --wrap for each of them. */
#ifndef SUPPORT_FAILING_MEMORY_H
#define SUPPORT_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on, the call of this number (1: the next one) fails; 0: none does any more. */
void memory_fail_call(size_t number);
bool memory_has_failed(void); /* since a number was given */

/* The most bytes in use since memory_measure(), above those that were in use then. */
void memory_measure(void);
int64_t memory_most(void);

#endif
