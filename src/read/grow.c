#include "read/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *grow(void *array, size_t *capacity, size_t item_size, size_t items)
{
    size_t wanted = *capacity ? *capacity : 4;
    char *larger;

    if (items <= *capacity)
        return array;
    while (wanted < items && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < items || wanted > SIZE_MAX / item_size)
        return NULL;
    larger = realloc(array, wanted * item_size);
    if (!larger)
        return NULL;
    memset(larger + *capacity * item_size, 0, (wanted - *capacity) * item_size);
    *capacity = wanted;
    return larger;
}
