/* Reads a length of time as people write it. */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#define DURATION_EXAMPLES "30s, 5m or 1h"

/* "20us", "250ms", "30s", "5m", "1.5h", "2d": digits, perhaps a decimal point, and a unit. False if it is
 * anything else, 0, or more than 290 years. */
bool duration_parse(const char *text, int64_t *ns);

#endif
