/* "Did you mean": the word of a list that comes nearest to a mistyped one. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word;
    size_t size;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
};

struct suggestion suggest_start(const char *word, size_t size);
void suggest_try(struct suggestion *suggestion, const char *candidate);

/* Letters to insert, delete, replace or swap with their neighbour to get from a to b. Words of
 * more than 32 bytes are infinitely far (SIZE_MAX). */
size_t suggest_distance(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
