/* The tracepoints of the LTTng contender. LTTng includes this file again and again with other
 * meanings of its macros, hence the second half of the guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER stepscope_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_provider.h"

#if !defined(BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(stepscope_bench, begin,
    LTTNG_UST_TP_ARGS(uint32_t, name, uint32_t, flags),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, name, name)
        lttng_ust_field_integer(uint32_t, flags, flags)))

LTTNG_UST_TRACEPOINT_EVENT(stepscope_bench, end,
    LTTNG_UST_TP_ARGS(uint32_t, flags, int64_t, arg),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, flags, flags)
        lttng_ust_field_integer(int64_t, arg, arg)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
