/* LTTng-UST as a contender: a span is two tracepoints, with a name and an argument. */
#ifndef BENCH_LTTNG_CONTENDER_H
#define BENCH_LTTNG_CONTENDER_H

#include <stddef.h>

/* NULL if a span would be recorded now; otherwise why not. bench/run_all starts a session. */
const char *lttng_absent(void);
void lttng_spans(unsigned thread, size_t operations);

#endif
