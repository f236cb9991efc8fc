#include "lttng_contender.h"

#ifdef BENCH_LTTNG

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_provider.h"

const char *lttng_absent(void)
{
    return lttng_ust_tracepoint_enabled(stepscope_bench, begin)
               ? NULL
               : "no LTTng session records it (bench/run_all starts one)";
}

void lttng_spans(unsigned thread, size_t operations)
{
    (void)thread;
    for (size_t i = 0; i < operations; i++) {
        lttng_ust_tracepoint(stepscope_bench, begin, 1, 0);
        lttng_ust_tracepoint(stepscope_bench, end, 0, (int64_t)i);
    }
}

#else

const char *lttng_absent(void)
{
    return "built without LTTng-UST (-Dlttng=enabled)";
}

void lttng_spans(unsigned thread, size_t operations)
{
    (void)thread;
    (void)operations;
}

#endif
