/* Arrays that grow by doubling. */
#ifndef READ_GROW_H
#define READ_GROW_H

#include <stddef.h>

/* The array with room for `items`, at its old place or a new one; what is new is zero.
 * NULL if there is no memory: then the array stays as it was. Starts as NULL with a
 * capacity of 0. */
void *grow(void *array, size_t *capacity, size_t item_size, size_t items);

#endif
