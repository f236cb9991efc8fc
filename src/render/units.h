/* Numbers for people: three digits and a unit. Each function writes into the caller's `out` and
 * returns it, so that it can stand among the arguments of a printf. */
#ifndef RENDER_UNITS_H
#define RENDER_UNITS_H

#include <stdint.h>

enum { UNITS_SIZE = 32 };

/* "850 ns", "1.23 ms", "12.3 s"; from a minute on "4 min 12 s", "2 h 05 min", "3 d 04 h". */
const char *units_duration(char out[UNITS_SIZE], int64_t ns);

/* "512 B", "64 KB", "1.21 GB"; a KB is 1024 bytes. */
const char *units_bytes(char out[UNITS_SIZE], uint64_t bytes);

/* "999", "12.3 k", "1.23 M". */
const char *units_count(char out[UNITS_SIZE], uint64_t count);

/* "0.25/s", "12.3 k/s". */
const char *units_rate(char out[UNITS_SIZE], double per_second);

/* A part of a whole: "61.2 %", "0.004 %"; "-" if the whole is 0. */
const char *units_share(char out[UNITS_SIZE], double part, double whole);

/* The ratio of two times in words: "42.3 % longer", "12.0 % shorter"; at twice or half of
 * it and beyond "5.1x as long", "5.1x as fast". */
const char *units_longer(char out[UNITS_SIZE], double ratio);

/* All digits: "1,234,567". */
const char *units_integer(char out[UNITS_SIZE], uint64_t value);

/* For a column of durations in one unit: the unit that suits the largest, and a number in it. */
struct units_scale {
    const char *name;
    int64_t ns;
};
struct units_scale units_scale_for(int64_t largest_ns);
const char *units_scaled(char out[UNITS_SIZE], int64_t ns, struct units_scale scale);

#endif
