/* Reads a number of bytes as people write it. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdint.h>

/* "65536", "64K", "2M", "1G", "1T"; 0 if it is NULL or anything else. */
uint64_t size_parse(const char *text);

#endif
