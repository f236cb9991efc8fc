/* Is a directory on another machine, or behind a program? Files there are no place to map and
 * record into: a store may wait for the network, and a lost connection kills with SIGBUS. */
#ifndef SUPERVISE_NETWORK_FS_H
#define SUPERVISE_NETWORK_FS_H

#include <stdbool.h>

/* False if it is unknown. STEPSCOPE_TEST_NETWORK names a directory that counts as remote, for
 * tests. */
bool network_fs_has(const char *path);

#endif
