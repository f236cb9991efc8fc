/* Texts with numbers: each text once, in the order of coming. */
#ifndef IMPORT_NAME_SET_H
#define IMPORT_NAME_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define NAME_SET_FULL UINT32_MAX

struct name_set {
    struct buf text;  /* each with a 0 at its end */
    uint32_t *offset; /* by number */
    uint32_t *slot;   /* hash table of numbers, 0: free */
    size_t count, capacity, slots;
};

void name_set_release(struct name_set *set);

/* The number of the text, from 0; NAME_SET_FULL if there is no memory. It ends at its first 0. */
uint32_t name_set_add(struct name_set *set, const char *text, size_t size);

/* The number of a text that is there, or NAME_SET_FULL. */
uint32_t name_set_find(const struct name_set *set, const char *text, size_t size);

/* Valid until the next one is added. */
const char *name_set_text(const struct name_set *set, uint32_t name);

#endif
