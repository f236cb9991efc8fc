/* A library that calls functions of another one, for the tests of slots of the global offset table.
 * Built twice: bound lazily, and at once with read-only slots. */
#include <unistd.h>

int got_caller_parent(void);
int got_caller_wait(unsigned microseconds);

int got_caller_parent(void)
{
    return (int)getppid();
}

int got_caller_wait(unsigned microseconds)
{
    return usleep(microseconds);
}
