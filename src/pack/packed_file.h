/* Packs a process file of a run, or unpacks it: under another name first, then renamed over the old
 * one, so that at any instant there is one of the two, whole. */
#ifndef PACK_PACKED_FILE_H
#define PACK_PACKED_FILE_H

#include "pack/block.h"

enum packed_file_result {
    PACKED_FILE_DONE,
    PACKED_FILE_WAS,     /* it was so already, or is no process file */
    PACKED_FILE_WRITTEN, /* a process has it open for writing */
    PACKED_FILE_BUSY     /* another one packs it just now */
};

struct packed_file_sizes {
    uint64_t before, after; /* on the disk */
};

/* The file `name` in the directory `dir`. May stop when `may_go_on` says so (NULL: never), with
 * ECANCELED. 0 and the result, or an errno; then the file is as it was. EBADMSG: it is damaged, of
 * a newer version, or too large. */
int packed_file_pack(struct block_packer *packer, int dir, const char *name,
                     bool (*may_go_on)(void *context), void *context,
                     enum packed_file_result *result, struct packed_file_sizes *sizes);
int packed_file_unpack(struct block_unpacker *unpacker, int dir, const char *name,
                       enum packed_file_result *result, struct packed_file_sizes *sizes);

/* True if this header is one of a packed file. */
bool packed_file_is(const struct ss_file_header *header);

/* The header of the file before it was packed. */
void packed_file_undo_header(struct ss_file_header *header);

static inline uint64_t packed_file_segments(uint64_t image_bytes)
{
    return image_bytes / SS_SEGMENT_BYTES + (image_bytes % SS_SEGMENT_BYTES != 0);
}

static inline uint64_t packed_file_entry_offset(uint64_t segment)
{
    return sizeof(struct ss_file_header) + segment * sizeof(struct ss_packed_entry);
}

#endif
