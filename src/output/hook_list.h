/* What the records of a run say about hooks: each target and reason once, the first ones. */
#ifndef OUTPUT_HOOK_LIST_H
#define OUTPUT_HOOK_LIST_H

#include "base/buf.h"
#include "stepscope/reader.h"

enum { HOOK_LIST_MOST = 100 };

struct hook_entry {
    struct buf target, reason; /* untrusted */
    bool skipped;
};

struct hook_list { /* all zero at first */
    uint64_t installed, skipped;
    struct hook_entry entry[HOOK_LIST_MOST];
    size_t count;
};

/* A HOOK record; beyond `most` entries, of HOOK_LIST_MOST at most, it is only counted. */
void hook_list_add(struct hook_list *list, size_t most, const struct ss_record *record);

/* Memory was short: something is missing. */
bool hook_list_failed(const struct hook_list *list);
void hook_list_release(struct hook_list *list);

#endif
