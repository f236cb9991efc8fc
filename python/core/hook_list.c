#include "hook_list.h"

#include "hook_memory.h"

#include <stdint.h>
#include <stdlib.h>

/* Open addressing; a key is never taken out, because a call may be inside its trampoline. */
struct entry {
    const void *target;
    struct hook *hook;
};

ATTR_HOT_DATA static struct entry *entries;
ATTR_HOT_DATA static size_t mask; /* entries - 1; 0: there are none */
static struct hook **hooks;
static unsigned count;

static size_t place_of(const void *target)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)target * 0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32);
}

static struct entry *find_entry(struct entry *table, size_t table_mask,
                                const void *target)
{
    size_t i = place_of(target) & table_mask;
    while (table[i].target && table[i].target != target) {
        i = (i + 1) & table_mask;
    }
    return &table[i];
}

struct hook *hook_list_find(const void *key)
{
    return mask ? find_entry(entries, mask, key)->hook : NULL;
}

struct hook *hook_list_at(unsigned i)
{
    return i < count ? hooks[i] : NULL;
}

/* Makes room for one more: at most half of the entries are taken. */
static bool grow(void)
{
    struct hook **more = realloc(hooks, (count + 1) * sizeof(struct hook *));
    if (!more) {
        return false;
    }
    hooks = more;
    if (mask && count * 2 < mask) {
        return true;
    }
    const size_t size = mask ? (mask + 1) * 4 : 64;
    struct entry *table = calloc(size, sizeof *table);
    if (!table) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        *find_entry(table, size - 1, hooks[i]->key) =
            (struct entry){hooks[i]->key, hooks[i]};
    }
    free(entries); /* with the GIL held nobody is looking something up */
    entries = table;
    mask = size - 1;
    return true;
}

struct hook *hook_list_new(const struct hook_technique *technique, const void *key,
                           PyObject *target, PyObject *owner, PyObject *attribute,
                           struct hook_point *points)
{
    struct hook *hook = hook_memory_new(sizeof *hook);
    if (!hook || !grow()) {
        return NULL;
    }
    *hook = (struct hook){.technique = technique, .points = points, .key = key};
    hook->target = Py_NewRef(target);
    hook->owner = Py_XNewRef(owner);
    hook->attribute = Py_XNewRef(attribute);
    *find_entry(entries, mask, key) = (struct entry){key, hook};
    hooks[count++] = hook;
    return hook;
}
