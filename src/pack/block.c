#include "pack/block.h"

#include <stdlib.h>
#include <string.h>

#ifdef SS_ZSTD

#include <zstd.h>

#include "pack/columns.h"

enum { LEVEL = 3, START_BYTES = 32, MAGIC_BYTES = 4 };

struct block_packer {
    ZSTD_CCtx *zstd;
    struct columns *columns;
    struct block_unpacker *check;
    uint8_t segment[SS_SEGMENT_BYTES];
    uint8_t again[SS_SEGMENT_BYTES];
    uint8_t block[SS_PACKED_BLOCK_MOST];
};

struct block_unpacker {
    ZSTD_DCtx *zstd;
    struct columns *columns;
    uint8_t content[SS_PACKED_CONTENT_MOST];
    uint8_t block[SS_PACKED_BLOCK_MOST];
};

bool block_is_possible(void)
{
    return true;
}

struct block_unpacker *block_unpacker_new(void)
{
    struct block_unpacker *const unpacker = malloc(sizeof *unpacker);

    if (!unpacker)
        return NULL;
    unpacker->zstd = ZSTD_createDCtx();
    unpacker->columns = columns_new();
    if (unpacker->zstd && unpacker->columns)
        return unpacker;
    block_unpacker_free(unpacker);
    return NULL;
}

void block_unpacker_free(struct block_unpacker *unpacker)
{
    if (!unpacker)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    columns_free(unpacker->columns);
    free(unpacker);
}

struct block_packer *block_packer_new(void)
{
    struct block_packer *const packer = malloc(sizeof *packer);

    if (!packer)
        return NULL;
    packer->zstd = ZSTD_createCCtx();
    packer->columns = columns_new();
    packer->check = block_unpacker_new();
    if (packer->zstd && packer->columns && packer->check)
        return packer;
    block_packer_free(packer);
    return NULL;
}

void block_packer_free(struct block_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    columns_free(packer->columns);
    block_unpacker_free(packer->check);
    free(packer);
}

/* Each piece up to a cut is a zstd block of its own, hence with statistics of its own. Returns the
 * bytes of the frame, 0 if that fails. */
static size_t compress(struct block_packer *packer, const struct column_content *content)
{
    ZSTD_outBuffer out = {packer->block, sizeof packer->block, 0};
    size_t from = 0;

    if (ZSTD_isError(ZSTD_CCtx_reset(packer->zstd, ZSTD_reset_session_and_parameters)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(packer->zstd, content->size)))
        return 0;
    for (unsigned i = 0; i < content->cuts; i++) {
        const ZSTD_EndDirective how = i + 1 < content->cuts ? ZSTD_e_flush : ZSTD_e_end;
        ZSTD_inBuffer in = {content->bytes + from, content->cut[i] - from, 0};
        if (ZSTD_compressStream2(packer->zstd, &out, &in, how) != 0)
            return 0;
        from = content->cut[i];
    }
    return out.pos;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static bool has_more(const uint8_t *segment)
{
    return !is_zero(segment + START_BYTES, SS_SEGMENT_HEADER_BYTES - START_BYTES);
}

/* Without the zeros at its end. */
static struct column_content make_plain(const uint8_t *segment, size_t size)
{
    while (size > 0 && segment[size - 1] == 0)
        size--;
    return (struct column_content){.bytes = segment, .size = size, .cut = {size}, .cuts = 1};
}

/* What cannot be read back is never written. */
static bool comes_back(struct block_packer *packer, const struct ss_packed_entry *entry)
{
    memcpy(block_room(packer->check), packer->block, entry->bytes);
    return block_unpack(packer->check, entry, packer->again) &&
           memcmp(packer->again, packer->segment, sizeof packer->again) == 0;
}

const uint8_t *block_pack(struct block_packer *packer, const uint8_t *segment, size_t size,
                          struct ss_packed_entry *entry)
{
    uint8_t *const whole = packer->segment;
    struct column_content content;

    memcpy(whole, segment, size);
    memset(whole + size, 0, sizeof packer->segment - size);
    *entry = (struct ss_packed_entry){.form = (uint8_t)columns_form(whole, size)};
    memcpy(entry->start, whole, START_BYTES);
    entry->has_more = has_more(whole);
    if (is_zero(whole, sizeof packer->segment)) {
        entry->form = SS_PACKED_PLAIN;
        return packer->block;
    }
    if (entry->form == SS_PACKED_PLAIN ||
        !columns_make(packer->columns, entry->form, whole, &content)) {
        entry->form = SS_PACKED_PLAIN;
        content = make_plain(whole, sizeof packer->segment);
    }
    entry->content = (uint32_t)content.size;
    entry->bytes = (uint32_t)compress(packer, &content);
    return entry->bytes > 0 && comes_back(packer, entry) ? packer->block : NULL;
}

uint8_t *block_room(struct block_unpacker *unpacker)
{
    return unpacker->block;
}

/* One frame, no more. False: it is none of that many bytes. */
static bool decompress(struct block_unpacker *unpacker, const struct ss_packed_entry *entry)
{
    static const uint32_t magic = ZSTD_MAGICNUMBER;
    const uint8_t *const block = unpacker->block;

    if (entry->bytes < MAGIC_BYTES || memcmp(block, &magic, MAGIC_BYTES) != 0 ||
        ZSTD_findFrameCompressedSize(block, entry->bytes) != entry->bytes)
        return false;
    return ZSTD_decompressDCtx(unpacker->zstd, unpacker->content, entry->content, block,
                               entry->bytes) == entry->content;
}

static bool undo(struct block_unpacker *unpacker, const struct ss_packed_entry *entry,
                 uint8_t *segment)
{
    if (entry->bytes == 0) {
        memset(segment, 0, SS_SEGMENT_BYTES);
        return true;
    }
    if (entry->bytes > SS_PACKED_BLOCK_MOST || entry->content > SS_PACKED_CONTENT_MOST ||
        entry->form > SS_PACKED_DIRECTORY || !decompress(unpacker, entry))
        return false;
    if (entry->form != SS_PACKED_PLAIN)
        return columns_undo(unpacker->columns, entry->form, unpacker->content, entry->content,
                            segment);
    memcpy(segment, unpacker->content, entry->content);
    memset(segment + entry->content, 0, SS_SEGMENT_BYTES - entry->content);
    return true;
}

bool block_unpack(struct block_unpacker *unpacker, const struct ss_packed_entry *entry,
                  uint8_t *segment)
{
    return undo(unpacker, entry, segment) && memcmp(segment, entry->start, START_BYTES) == 0 &&
           has_more(segment) == (entry->has_more != 0);
}

#else

bool block_is_possible(void)
{
    return false;
}

struct block_packer *block_packer_new(void)
{
    return NULL;
}

void block_packer_free(struct block_packer *packer)
{
    (void)packer;
}

struct block_unpacker *block_unpacker_new(void)
{
    return NULL;
}

void block_unpacker_free(struct block_unpacker *unpacker)
{
    (void)unpacker;
}

const uint8_t *block_pack(struct block_packer *packer, const uint8_t *segment, size_t size,
                          struct ss_packed_entry *entry)
{
    (void)packer, (void)segment, (void)size, (void)entry;
    return NULL;
}

uint8_t *block_room(struct block_unpacker *unpacker)
{
    (void)unpacker;
    return NULL;
}

bool block_unpack(struct block_unpacker *unpacker, const struct ss_packed_entry *entry,
                  uint8_t *segment)
{
    (void)unpacker, (void)entry, (void)segment;
    return false;
}

#endif
