#include "names.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "stepscope/format.h"
#include "system.h"

enum {
    FOLDED = 1024, /* numbers kept for "(more)": one each stage, role and scope */
    CHUNK = 1024,
    ARENA_BYTES = 1 << 18
};

static struct name *chunks[SS_MAX_NAMES / CHUNK]; /* of ids; NULL: none was given away yet */
static uint32_t count = 1;
static uint32_t refused; /* names for which memory was short */
static uint32_t *slots;  /* open addressing, ids; 0: empty */
static uint32_t slot_count;
static char *arena;
static size_t arena_left;

static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u; /* FNV-1a */
    return hash;
}

static uint32_t hash_name(const struct name *name)
{
    const uint8_t kind[3] = {name->stage, name->role, name->scope};
    uint32_t hash = hash_bytes(2166136261u, kind, sizeof kind);
    hash = hash_bytes(hash, name->text, utf8_cut(name->text, NAMES_TEXT_MAX));
    return hash_bytes(hash * 31, name->object, utf8_cut(name->object, NAMES_TEXT_MAX));
}

static bool same_text(const char *kept, const char *wanted)
{
    size_t n = utf8_cut(wanted, NAMES_TEXT_MAX);
    return strncmp(kept, wanted, n) == 0 && kept[n] == '\0';
}

static bool same(const struct name *kept, const struct name *wanted)
{
    return kept->stage == wanted->stage && kept->role == wanted->role &&
           kept->scope == wanted->scope && same_text(kept->text, wanted->text) &&
           same_text(kept->object, wanted->object);
}

const struct name *names_get(uint32_t id)
{
    return &chunks[id / CHUNK][id % CHUNK];
}

uint32_t names_count(void)
{
    return count;
}

uint8_t names_stage(uint16_t id)
{
    const struct name *chunk = __atomic_load_n(&chunks[id / CHUNK], __ATOMIC_ACQUIRE);

    return chunk ? __atomic_load_n(&chunk[id % CHUNK].stage, __ATOMIC_RELAXED) : 0;
}

uint8_t names_nest(uint8_t stage)
{
    return (uint8_t)(stage | (SS_STAGE_IS_CLOSED(stage) ? SS_NEST_CLOSED : 0) |
                     (stage == SS_STAGE_USER ? SS_NEST_OPAQUE : 0));
}

/* Slot of the name, or the empty one where it belongs. */
static uint32_t *find_slot(const struct name *name)
{
    uint32_t i = hash_name(name) & (slot_count - 1);
    while (slots[i] && !same(names_get(slots[i]), name))
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static int grow_slots(void)
{
    if (count * 2 < slot_count)
        return 1;
    uint32_t *old = slots;
    uint32_t old_count = slot_count;
    uint32_t *fresh = system_map_private((old_count ? old_count * 2u : 2048u) * sizeof *fresh);
    if (!fresh)
        return 0;
    slots = fresh;
    slot_count = old_count ? old_count * 2 : 2048;
    for (uint32_t id = 1; id < count; id++)
        *find_slot(names_get(id)) = id;
    if (old)
        munmap(old, old_count * sizeof *old);
    return 1;
}

static const char *copy_text(const char *text)
{
    size_t n = utf8_cut(text, NAMES_TEXT_MAX);
    if (n + 1 > arena_left) {
        char *fresh = system_map_private(ARENA_BYTES);
        if (!fresh)
            return NULL;
        arena = fresh;
        arena_left = ARENA_BYTES;
    }
    char *copy = arena;
    memcpy(copy, text, n);
    arena += n + 1;
    arena_left -= n + 1;
    return copy;
}

static uint32_t add(const struct name *name, uint32_t *slot)
{
    struct name *chunk = chunks[count / CHUNK];
    if (!chunk) {
        chunk = system_map_private(CHUNK * sizeof *chunk);
        __atomic_store_n(&chunks[count / CHUNK], chunk, __ATOMIC_RELEASE);
    }
    const char *text = copy_text(name->text), *object = copy_text(name->object);
    if (!chunk || !text || !object)
        return 0;
    struct name *copy = &chunk[count % CHUNK];
    copy->text = text;
    copy->object = object;
    copy->role = name->role;
    copy->scope = name->scope;
    __atomic_store_n(&copy->stage, name->stage, __ATOMIC_RELAXED);
    *slot = count;
    return count++;
}

uint32_t names_refused(void)
{
    return refused;
}

static uint32_t find_or_add(const struct name *name)
{
    if (!grow_slots())
        return 0;
    struct name wanted = *name;
    uint32_t *slot = find_slot(&wanted);
    if (*slot)
        return *slot;
    if (count >= SS_MAX_NAMES - FOLDED) {
        wanted.text = "(more)";
        wanted.object = "";
        slot = find_slot(&wanted);
    }
    return *slot ? *slot : add(&wanted, slot);
}

uint32_t names_intern(const struct name *name)
{
    const uint32_t id = find_or_add(name);
    refused += id == 0;
    return id;
}
