/* A shared object for LD_PRELOAD that records every malloc() and free() of a program as a span: the
 * recorder must live with being called from inside those that it causes itself. */
#include <stddef.h>

#include "stepscope/recorder.h"

#define EXPORTED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

EXPORTED void *malloc(size_t size);
EXPORTED void *calloc(size_t count, size_t size);
EXPORTED void *realloc(void *old, size_t size);
EXPORTED void free(void *memory);

static void begin(void)
{
    ss_begin(ss_intern("heap", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL), 0);
}

void *malloc(size_t size)
{
    begin();
    void *memory = __libc_malloc(size);
    ss_end(0, (int64_t)size);
    return memory;
}

void *calloc(size_t count, size_t size)
{
    begin();
    void *memory = __libc_calloc(count, size);
    ss_end(0, (int64_t)size);
    return memory;
}

void *realloc(void *old, size_t size)
{
    begin();
    void *memory = __libc_realloc(old, size);
    ss_end(0, (int64_t)size);
    return memory;
}

void free(void *memory)
{
    begin();
    __libc_free(memory);
    ss_end(0, 0);
}
