#include "support/failing_memory.h"

#include <malloc.h>
#include <stdlib.h>

/* The linker puts these in front of the real ones (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);

static size_t calls_until_failure; /* 0: none fails */
static bool has_failed;
static int64_t in_use, most_in_use, measured_from; /* bytes */

static bool fails_now(void)
{
    if (calls_until_failure == 0 || --calls_until_failure > 0)
        return false;
    has_failed = true;
    return true;
}

static void *count_in(void *memory)
{
    in_use += (int64_t)malloc_usable_size(memory);
    most_in_use = in_use > most_in_use ? in_use : most_in_use;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : count_in(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : count_in(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (fails_now())
        return NULL;
    in_use -= (int64_t)malloc_usable_size(old);
    return count_in(__real_realloc(old, size));
}

void __wrap_free(void *memory)
{
    in_use -= (int64_t)malloc_usable_size(memory);
    __real_free(memory);
}

void memory_fail_call(size_t number)
{
    calls_until_failure = number;
    has_failed = has_failed && number == 0;
}

bool memory_has_failed(void)
{
    return has_failed;
}

void memory_measure(void)
{
    measured_from = most_in_use = in_use;
}

int64_t memory_most(void)
{
    return most_in_use - measured_from;
}
