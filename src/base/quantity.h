/* Reads lengths of time and numbers of bytes as people write them. */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#define DURATION_EXAMPLES "30s, 5m or 1h"

/* "20us", "250ms", "30s", "5m", "1.5h", "2d": digits, perhaps a decimal point, and a unit. False if
 * it is anything else, 0, or more than 290 years. */
bool duration_parse(const char *text, int64_t *ns);

/* "65536", "64K", "2M", "1G", "1T"; 0 if it is NULL or anything else. */
uint64_t size_parse(const char *text);

#endif
