/* How much memory this process may have: that of the machine, or of the tightest cgroup around it,
 * of either version. Files on tmpfs count as memory, and what goes over the limit gets a process
 * killed, likely the training. */
#ifndef RECORD_MEMORY_LIMIT_H
#define RECORD_MEMORY_LIMIT_H

#include <stdint.h>

uint64_t memory_limit_bytes(void);

#endif
