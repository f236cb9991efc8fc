/* The copy of lane memory in the run file, kept by the helper thread: it alone waits for the disk.
 *
 * Full segments are written once, and their memory is given back. Of those that grow, each round
 * adds what is new. Readers find a record whole or not at all, as if the file were mapped: of what
 * is added at a place, the word that makes it count is written last. Records come before the
 * block of their lane, so that no span is both open and finished. */
#ifndef RECORD_MIRROR_H
#define RECORD_MIRROR_H

#include "store.h"

/* Copies what is new; with `all`, also the blocks of lanes in which nothing was recorded. After a
 * failure it is tried again a second later: what threads record until then stays in memory, as much
 * as there is room for, and is dropped and counted beyond. */
void mirror_round(struct store *store, bool all);

/* Ends growth, keeps `keep` segments of the pool, and copies all: the file is as good as mapped. */
void mirror_finish(struct store *store, uint32_t keep);

/* Zeroes a segment of the file, of which it was counted what it held. 0 or SS_E. */
int mirror_clear(struct store *store, const struct segment *segment);

/* Reads a segment that is in the file only. */
bool mirror_read(struct store *store, const struct segment *segment, unsigned char *out);

#endif
