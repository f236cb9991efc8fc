#include "read/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "read/array.h"

enum { BLOCK_BYTES = 16384, FACTS_MOST = 4096 };

struct text_block {
    struct text_block *next;
    size_t size;
    char bytes[];
};

void text_store_release(struct text_store *store)
{
    struct text_block *next;

    for (struct text_block *block = store->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    *store = (struct text_store){0};
}

/* Blocks start small, since most processes have few names. */
static bool add_block(struct text_store *store, size_t fewest)
{
    size_t size = store->blocks ? BLOCK_BYTES : BLOCK_BYTES / 16;
    struct text_block *block;

    if (size < fewest)
        size = fewest;
    block = malloc(sizeof *block + size);
    if (!block)
        return false;
    block->next = store->blocks;
    block->size = size;
    store->blocks = block;
    store->used = 0;
    return true;
}

struct ss_text text_store_copy(struct text_store *store, struct ss_text text)
{
    if (text.size == 0)
        return (struct ss_text){"", 0};
    if ((!store->blocks || store->blocks->size - store->used < text.size) &&
        !add_block(store, text.size))
        return (struct ss_text){NULL, 0};

    char *const copy = store->blocks->bytes + store->used;
    memcpy(copy, text.data, text.size);
    store->used += text.size;
    return (struct ss_text){copy, text.size};
}

void manifest_release(struct manifest *facts)
{
    free(facts->items);
    *facts = (struct manifest){0};
}

int manifest_add(struct manifest *facts, struct text_store *store, struct ss_text key,
                 struct ss_text value)
{
    if (facts->count >= FACTS_MOST)
        return SS_E_OK; /* no program has that many: it is a file made to fill the memory */
    struct fact *items =
        array_grow(facts->items, &facts->capacity, sizeof *items, facts->count + 1);

    if (!items)
        return SS_E_NOMEM;
    facts->items = items;
    const struct fact fact = {text_store_copy(store, key), text_store_copy(store, value)};
    if (!fact.key.data || !fact.value.data)
        return SS_E_NOMEM;
    items[facts->count++] = fact;
    facts->unsettled = true;
    return 0;
}

static int compare_texts(struct ss_text a, struct ss_text b)
{
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* By key, the earlier first: pointers into the same array tell which is earlier. */
static int compare_facts(const void *a, const void *b)
{
    const struct fact *const fa = *(struct fact *const *)a;
    const struct fact *const fb = *(struct fact *const *)b;
    const int order = compare_texts(fa->key, fb->key);

    return order ? order : (fa > fb) - (fa < fb);
}

int manifest_settle(struct manifest *facts)
{
    size_t kept = 0;

    if (!facts->unsettled)
        return 0;
    struct fact **const sorted = malloc(facts->count * sizeof(struct fact *));
    if (!sorted)
        return SS_E_NOMEM;
    for (size_t i = 0; i < facts->count; i++)
        sorted[i] = &facts->items[i];
    qsort(sorted, facts->count, sizeof *sorted, compare_facts);
    for (size_t i = facts->count; i-- > 1;)
        if (compare_texts(sorted[i]->key, sorted[i - 1]->key) == 0)
            sorted[i]->key.data = NULL;
    free(sorted);
    for (size_t i = 0; i < facts->count; i++)
        if (facts->items[i].key.data)
            facts->items[kept++] = facts->items[i];
    facts->count = kept;
    facts->unsettled = false;
    return 0;
}

struct ss_text manifest_find(const struct manifest *facts, const char *key)
{
    const struct ss_text wanted = {key, strlen(key)};

    for (size_t i = 0; i < facts->count; i++)
        if (compare_texts(facts->items[i].key, wanted) == 0)
            return facts->items[i].value;
    return (struct ss_text){NULL, 0};
}

/* Undoes \n, \r and \\ in place of a copy; returns the new size. */
static size_t unescape(char *text, size_t size)
{
    size_t out = 0;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '\\' && i + 1 < size) {
            c = text[++i];
            c = (char)(c == 'n' ? '\n' : c == 'r' ? '\r' : c);
        }
        text[out++] = c;
    }
    return out;
}

static int add_line(struct manifest *facts, struct text_store *store, struct ss_text line)
{
    const char *const colon = memmem(line.data, line.size, ": ", 2);
    char *value;
    int code;

    if (!colon)
        return 0;
    const size_t key = (size_t)(colon - line.data);
    const size_t size = line.size - key - 2;
    value = malloc(size + 1);
    if (!value)
        return SS_E_NOMEM;
    memcpy(value, colon + 2, size);
    code = manifest_add(facts, store, (struct ss_text){line.data, key},
                        (struct ss_text){value, unescape(value, size)});
    free(value);
    return code;
}

int manifest_add_lines(struct manifest *facts, struct text_store *store, struct ss_text text)
{
    const char *at = text.data;
    const char *const end = at + text.size;
    int code = 0;

    while (at < end && code == 0) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const stop = newline ? newline : end;
        code = add_line(facts, store, (struct ss_text){at, (size_t)(stop - at)});
        at = newline ? newline + 1 : end;
    }
    return code == 0 ? manifest_settle(facts) : code;
}
