/* A thread that does nothing but wake up, at times drawn as the sampler's are: what is left of the
 * sampler's CPU time without it is the sampler's own. Loaded by bench_sampler.py. */
#include "bare_wake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static pthread_t thread;
static atomic_bool stop;
static atomic_long cpu_ns, wakes;
static long period_ns;

static void *wake_up(void *unused)
{
    unsigned seed = 1;
    struct timespec used;
    (void)unused;
    while (!atomic_load(&stop)) {
        const double part = 0.5 + (double)rand_r(&seed) / RAND_MAX;
        const long wait_ns = (long)((double)period_ns * part);
        nanosleep(&(struct timespec){wait_ns / 1000000000, wait_ns % 1000000000}, NULL);
        atomic_fetch_add(&wakes, 1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    atomic_store(&cpu_ns, (long)used.tv_sec * 1000000000 + used.tv_nsec);
    return NULL;
}

int bare_wake_start(int hz)
{
    period_ns = 1000000000 / hz;
    atomic_store(&stop, false);
    atomic_store(&wakes, 0);
    return pthread_create(&thread, NULL, wake_up, NULL);
}

long bare_wake_stop(void)
{
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    return atomic_load(&cpu_ns);
}

long bare_wake_count(void)
{
    return atomic_load(&wakes);
}
