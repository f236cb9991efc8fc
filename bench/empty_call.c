#include "empty_call.h"

void empty_begin(uint32_t name, unsigned flags)
{
    (void)name;
    (void)flags;
}

void empty_end(unsigned flags, int64_t arg)
{
    (void)flags;
    (void)arg;
}
