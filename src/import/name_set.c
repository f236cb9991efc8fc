#include "import/name_set.h"

#include <stdlib.h>
#include <string.h>

#include "read/array.h"

void name_set_release(struct name_set *set)
{
    buf_release(&set->text);
    free(set->offset);
    free(set->slot);
    *set = (struct name_set){0};
}

static uint64_t hash_of(const char *text, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

const char *name_set_text(const struct name_set *set, uint32_t name)
{
    return name < set->count ? set->text.data + set->offset[name] : "";
}

/* Where the number of this text is, or would be. */
static uint32_t *slot_of(const struct name_set *set, const char *text, size_t size)
{
    size_t at = (size_t)hash_of(text, size) & (set->slots - 1);

    while (set->slot[at] != 0) {
        const char *other = name_set_text(set, set->slot[at] - 1);
        if (strncmp(other, text, size) == 0 && other[size] == '\0')
            break;
        at = (at + 1) & (set->slots - 1);
    }
    return &set->slot[at];
}

static bool grow(struct name_set *set)
{
    const size_t slots = set->slots ? set->slots * 2 : 1024;
    uint32_t *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return false;
    free(set->slot);
    set->slot = slot;
    set->slots = slots;
    for (uint32_t i = 0; i < set->count; i++) {
        const char *text = name_set_text(set, i);
        *slot_of(set, text, strlen(text)) = i + 1;
    }
    return true;
}

uint32_t name_set_find(const struct name_set *set, const char *text, size_t size)
{
    return set->slots == 0 ? NAME_SET_FULL : *slot_of(set, text, strnlen(text, size)) - 1;
}

uint32_t name_set_add(struct name_set *set, const char *text, size_t size)
{
    size = strnlen(text, size);
    if (set->count * 2 >= set->slots && !grow(set))
        return NAME_SET_FULL;
    uint32_t *slot = slot_of(set, text, size);
    if (*slot != 0)
        return *slot - 1;
    uint32_t *offset = array_grow(set->offset, &set->capacity, sizeof *set->offset, set->count + 1);
    if (!offset || set->text.size + size >= UINT32_MAX)
        return NAME_SET_FULL;
    set->offset = offset;
    offset[set->count] = (uint32_t)set->text.size;
    buf_add(&set->text, text, size);
    buf_add(&set->text, "", 1);
    if (set->text.failed)
        return NAME_SET_FULL;
    *slot = (uint32_t)++set->count;
    return (uint32_t)set->count - 1;
}
