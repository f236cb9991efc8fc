/* Memory that threads record into in place of the mapped file. A page of a mapped file can kill its
 * writer (the file is truncated; a copy-on-write file system is full) or hold it up (the file
 * system is frozen). A page of this memory cannot: it is a memfd that cannot shrink and of which
 * only what is in use is resident. The helper thread copies it to the file (mirror.h).
 *
 * `stepscope run` gets a descriptor of it, and copies what is left when the process dies. Without a
 * supervisor a kill would lose the last moments, so there the file is mapped if its file system is
 * known to keep allocated blocks where they are. */
#ifndef RECORD_LANE_MEMORY_H
#define RECORD_LANE_MEMORY_H

#include "store.h"

/* Makes store->memory, or leaves it NULL: the file is to be mapped. */
void lane_memory_open(struct store *store);

/* Offers the memory to the supervisor again, if it could not take it yet. Never waits. */
void lane_memory_offer(struct store *store);

void lane_memory_release(struct store *store);

/* Closes the descriptor alone: in a forked child, where the memory is not mapped. */
void lane_memory_close(struct store *store);

#endif
