/* The floor of a recorder that is off: a call into another shared library that does nothing. */
#ifndef BENCH_EMPTY_CALL_H
#define BENCH_EMPTY_CALL_H

#include <stdint.h>

__attribute__((visibility("default"))) void empty_begin(uint32_t name, unsigned flags);
__attribute__((visibility("default"))) void empty_end(unsigned flags, int64_t arg);

#endif
