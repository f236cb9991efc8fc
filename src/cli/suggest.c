#include "cli/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 32 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t suggest_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t table[LONGEST + 1]
                [LONGEST + 1]; /* between the first i bytes of a and j of b */

    if (a_size > LONGEST || b_size > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= a_size; i++)
        table[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t shifted = smaller(table[i - 1][j], table[i][j - 1]) + 1;
            table[i][j] = smaller(replaced, shifted);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = smaller(table[i][j], table[i - 2][j - 2] + 1);
        }
    }
    return table[a_size][b_size];
}

struct suggestion suggest_start(const char *word, size_t size)
{
    return (struct suggestion){.word = word, .size = size, .distance = SIZE_MAX};
}

void suggest_try(struct suggestion *suggestion, const char *candidate)
{
    size_t size = strlen(candidate);
    size_t shorter = smaller(size, suggestion->size);
    size_t distance =
        suggest_distance(suggestion->word, suggestion->size, candidate, size);
    bool is_start = shorter >= 2 && memcmp(suggestion->word, candidate, shorter) == 0;

    if (is_start) /* "inf" and "information" mean info */
        distance = smaller(distance, 1);
    if (distance <= (size + 2) / 3 && distance < suggestion->distance) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}
