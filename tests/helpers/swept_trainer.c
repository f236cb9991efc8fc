/* A training whose step costs a known CPU time: FIXED + EACH x BATCH microseconds, at least FLOOR.
 *
 *     swept_trainer BATCH FIXED EACH [FLOOR [STEPS [FAIL_AT [EVERY SLOW]]]]
 *
 * Without STEPS it goes on for ever. With FAIL_AT it ends with an error if BATCH is that large.
 * Each EVERYth step costs SLOW microseconds more. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stepscope/recorder.h"

static long long cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double number(int argc, char **argv, int at)
{
    return at < argc ? strtod(argv[at], NULL) : 0;
}

int main(int argc, char **argv)
{
    const double batch = number(argc, argv, 1), floor_us = number(argc, argv, 4);
    const double wanted_us = number(argc, argv, 2) + number(argc, argv, 3) * batch;
    const long long step_ns = (long long)(1000 * (wanted_us > floor_us ? wanted_us : floor_us));
    const double steps = number(argc, argv, 5), fail_at = number(argc, argv, 6);
    const long every = (long)number(argc, argv, 7);
    const long long slow_ns = (long long)(1000 * number(argc, argv, 8));
    const struct ss_options options = {.rank = -1};

    if (fail_at > 0 && batch >= fail_at) {
        fprintf(stderr, "loading\nout of memory: batch of %.0f\n", batch);
        return 1;
    }
    ss_start(&options);
    FILE *touched = fopen("touched", "w"); /* a file that must not be there afterwards */
    if (touched)
        fclose(touched);
    for (long i = 0; steps <= 0 || (double)i < steps; i++) {
        const long long until = cpu_ns() + step_ns + (every > 0 && i % every == 0 ? slow_ns : 0);
        ss_step((uint32_t)batch);
        while (cpu_ns() < until)
            ;
    }
    ss_stop();
    return 0;
}
