/* Loaded before libc: all threads may use the cores that the file FAKE_CORES lists, one a line,
 * whenever they are asked for. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set)
{
    FILE *file = fopen(getenv("FAKE_CORES"), "r");
    unsigned core;

    (void)thread;
    CPU_ZERO_S(size, set);
    while (file && fscanf(file, "%u", &core) == 1)
        CPU_SET_S(core, size, set);
    if (file)
        fclose(file);
    return file ? 0 : -1;
}
