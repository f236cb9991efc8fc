/* Is a directory on another machine, or behind a program? Files there are no place to map and
 * record into: a store may wait for the network, and a lost connection kills with SIGBUS. */
#ifndef SUPERVISE_REMOTE_H
#define SUPERVISE_REMOTE_H

#include <stdbool.h>

/* False if it cannot be told. STEPSCOPE_TEST_NETWORK names a directory that counts as remote, for
 * tests. */
bool remote_has(const char *path);

#endif
