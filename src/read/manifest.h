/* Keys and values with copied texts: the infos of a process, the manifest of a run. */
#ifndef READ_MANIFEST_H
#define READ_MANIFEST_H

#include "stepscope/reader.h"

/* Texts that live until all are released. */
struct text_store {
    struct text_block *blocks;
    size_t used;
};

void text_store_release(struct text_store *store);
/* Copies a text; out->data is NULL if there is no memory, and only then. */
struct ss_text text_store_copy(struct text_store *store, struct ss_text text);

struct fact {
    struct ss_text key, value;
};

/* In the order of adding; once manifest_settle() was called, each key is there once. */
struct manifest {
    struct fact *items;
    size_t count, capacity;
    bool unsettled;
};

void manifest_release(struct manifest *facts);
/* 0 or SS_E_NOMEM. */
int manifest_add(struct manifest *facts, struct text_store *store, struct ss_text key,
                 struct ss_text value);
/* Drops keys that were there before. 0 or SS_E_NOMEM. */
int manifest_settle(struct manifest *facts);
/* The value, or a text without data. */
struct ss_text manifest_find(const struct manifest *facts, const char *key);

/* Adds the lines `key: value` of a manifest. 0 or SS_E_NOMEM. */
int manifest_add_lines(struct manifest *facts, struct text_store *store, struct ss_text text);

#endif
