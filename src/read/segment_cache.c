#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pack/packed_file.h"
#include "read/array.h"
#include "read/source.h"

void segment_cache_release(struct segment_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        free(cache->slots[i].bytes);
    free(cache->slots);
    block_unpacker_free(cache->unpacker);
    *cache = (struct segment_cache){0};
}

void segment_cache_allow(struct segment_cache *cache, size_t lanes)
{
    cache->limit = lanes + SEGMENT_CACHE_LEAST;
    if (cache->limit > SEGMENT_CACHE_MOST)
        cache->limit = SEGMENT_CACHE_MOST;
}

void segment_cache_forget(struct segment_cache *cache, const struct source *source)
{
    for (size_t i = 0; i < cache->count; i++)
        if (cache->slots[i].source == source)
            cache->slots[i].source = NULL;
}

static struct cached_segment *find(struct segment_cache *cache, const struct source *source,
                                   uint64_t segment)
{
    for (size_t i = 0; i < cache->count; i++)
        if (cache->slots[i].source == source && cache->slots[i].segment == segment)
            return &cache->slots[i];
    return NULL;
}

static struct cached_segment *add_slot(struct segment_cache *cache)
{
    const size_t limit = cache->limit > 0 ? cache->limit : SEGMENT_CACHE_LEAST;
    uint8_t *const bytes = cache->count < limit ? malloc(SS_SEGMENT_BYTES) : NULL;
    struct cached_segment *slots =
        bytes ? array_grow(cache->slots, &cache->capacity, sizeof *slots, cache->count + 1) : NULL;

    if (!slots) {
        free(bytes);
        return NULL;
    }
    cache->slots = slots;
    slots[cache->count] = (struct cached_segment){.bytes = bytes};
    return &slots[cache->count++];
}

/* A new one, or the least recently used one; NULL: no memory. */
static struct cached_segment *take_slot(struct segment_cache *cache)
{
    struct cached_segment *slot = add_slot(cache);

    for (size_t i = 0; i < cache->count; i++)
        if (!slot || cache->slots[i].used < slot->used)
            slot = &cache->slots[i];
    return slot;
}

static bool read_entry(struct source *source, uint64_t segment, struct ss_packed_entry *entry)
{
    return source_read_stored(source, packed_file_entry_offset(segment), entry, sizeof *entry) ==
           sizeof *entry;
}

static bool unpack(struct segment_cache *cache, struct source *source,
                   const struct ss_packed_entry *entry, uint8_t *bytes)
{
    if (!cache->unpacker)
        cache->unpacker = block_unpacker_new();
    return cache->unpacker && entry->bytes <= SS_PACKED_BLOCK_MOST &&
           source_read_stored(source, entry->offset, block_room(cache->unpacker), entry->bytes) ==
               entry->bytes &&
           block_unpack(cache->unpacker, entry, bytes);
}

/* The bytes of the segment; NULL: its block is damaged. */
static const uint8_t *get(struct segment_cache *cache, struct source *source, uint64_t segment,
                          const struct ss_packed_entry *entry)
{
    struct cached_segment *slot = find(cache, source, segment);

    if (!slot) {
        slot = take_slot(cache);
        if (!slot)
            return NULL;
        slot->source = NULL;
        if (!unpack(cache, source, entry, slot->bytes))
            return NULL;
        slot->source = source;
        slot->segment = segment;
    }
    slot->used = ++cache->now;
    return slot->bytes;
}

/* The header is there a second time, before the index. */
static size_t read_header(struct source *source, uint64_t offset, void *out, size_t size)
{
    struct ss_file_header header;

    if (source_read_stored(source, 0, &header, sizeof header) != sizeof header)
        return 0;
    packed_file_undo_header(&header);
    memcpy(out, (const uint8_t *)&header + offset, size);
    return size;
}

/* [from, from + size) of one segment. */
static bool read_part(struct segment_cache *cache, struct source *source, uint64_t segment,
                      size_t from, void *out, size_t size)
{
    const struct cached_segment *const slot = find(cache, source, segment);
    const uint8_t *bytes = slot ? slot->bytes : NULL;
    struct ss_packed_entry entry;
    uint8_t start[SS_SEGMENT_HEADER_BYTES] = {0};

    if (!bytes) {
        if (!read_entry(source, segment, &entry))
            return false;
        memcpy(start, entry.start, sizeof entry.start);
        const size_t known = entry.has_more ? sizeof entry.start : sizeof start;
        bytes = from + size <= known ? start : get(cache, source, segment, &entry);
    }
    if (bytes)
        memcpy(out, bytes + from, size);
    return bytes;
}

size_t segment_cache_read(struct segment_cache *cache, struct source *source, uint64_t offset,
                          void *out, size_t size)
{
    size_t done = 0;

    if (offset >= source->size)
        return 0;
    if (size > source->size - offset)
        size = (size_t)(source->size - offset);
    if (offset + size <= sizeof(struct ss_file_header))
        return read_header(source, offset, out, size);
    while (done < size) {
        const uint64_t at = offset + done;
        const size_t from = (size_t)(at % SS_SEGMENT_BYTES);
        const size_t left = size - done;
        const size_t part = left < SS_SEGMENT_BYTES - from ? left : SS_SEGMENT_BYTES - from;
        if (!read_part(cache, source, at / SS_SEGMENT_BYTES, from, (uint8_t *)out + done, part))
            break;
        done += part;
    }
    return done;
}
