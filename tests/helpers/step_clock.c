/* Loaded into a program that shows something only after a while: each time it asks CLOCK_MONOTONIC,
 * that is STEP_CLOCK_MS later than the time before, however long it took; with 0 no time passes at
 * all. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static atomic_llong asked = 0;
    const char *step = getenv("STEP_CLOCK_MS");

    if (clock != CLOCK_MONOTONIC || !step)
        return (int)syscall(SYS_clock_gettime, clock, out);
    const long long ms = atomic_fetch_add(&asked, 1) * strtoll(step, NULL, 10);
    out->tv_sec = 1 + ms / 1000;
    out->tv_nsec = ms % 1000 * 1000000;
    return 0;
}
