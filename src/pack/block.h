/* A segment as a block of a packed file: columns, then zstd; and back (format 11.1).
 *
 * Both ways work in memory of a fixed size. Without zstd there are neither. */
#ifndef PACK_BLOCK_H
#define PACK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "stepscope/format.h"

/* For one thread; NULL: no memory, or no zstd (block_is_possible() is false then). */
struct block_packer *block_packer_new(void);
void block_packer_free(struct block_packer *packer);
struct block_unpacker *block_unpacker_new(void);
void block_unpacker_free(struct block_unpacker *unpacker);

bool block_is_possible(void);

/* Packs `size` bytes, at most SS_SEGMENT_BYTES. Fills the entry but for its offset; the block, of
 * entry->bytes, is the packer's until its next use. NULL: zstd failed. */
const uint8_t *block_pack(struct block_packer *packer, const uint8_t *segment, size_t size,
                          struct ss_packed_entry *entry);

/* Where the bytes of a block shall be read to: SS_PACKED_BLOCK_MOST of them. */
uint8_t *block_room(struct block_unpacker *unpacker);

/* Unpacks the block there into SS_SEGMENT_BYTES. False: it is damaged; then those are anything. */
bool block_unpack(struct block_unpacker *unpacker, const struct ss_packed_entry *entry,
                  uint8_t *segment);

#endif
