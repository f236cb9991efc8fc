/* Attributes and hints beyond ISO C. Code uses these names, never __attribute__. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#define ATTR_PRINTF(format_index, first_argument)                                                  \
    __attribute__((format(printf, format_index, first_argument)))
#define ATTR_NOINLINE __attribute__((noinline))
#define ATTR_HOT __attribute__((hot)) /* lies with others of its kind, on few pages */
/* Variables that every event reads lie together: what runs between two events takes the caches. */
#define ATTR_HOT_DATA __attribute__((section("stepscope_hot")))
enum { CACHE_LINE = 64 };

/* A thread's variable on a cache line of its own, where that is free: x86 aligns the memory of all
 * threads so. Elsewhere the loader refuses a library, loaded later, that asks for more than the
 * program did. */
#if defined(__x86_64__)
#define ALIGN_OF_THREAD _Alignas(CACHE_LINE)
#else
#define ALIGN_OF_THREAD
#endif

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Place of the lowest bit that is set; there must be one. */
#define LOWEST_BIT(bits) __builtin_ctzll(bits)

#endif
