/* What the records of a run say about hooks: each target and reason once, the first ones. */
#ifndef LOAD_HOOK_LIST_H
#define LOAD_HOOK_LIST_H

#include "base/buf.h"
#include "load/run_facts.h"
#include "stepscope/reader.h"

enum { HOOK_LIST_MOST = 300 };

struct hook_entry {
    struct buf target, reason; /* untrusted */
    bool skipped;
};

/* Bits, in the order of their names. */
enum hooked_framework { HOOKED_TORCH = 1, HOOKED_TENSORFLOW = 2, HOOKED_KERAS = 4, HOOKED_JAX = 8 };

/* The hooks on one framework: each target once, whatever the number of processes. */
enum { HOOK_GROUPS_MOST = 12, HOOK_VERSION_SIZE = 16 };
struct hook_group {
    const char *framework; /* "PyTorch"; "other" for what is on none, the last one */
    const char *version;   /* "2.13"; "": unknown */
    unsigned installed, skipped;
};

struct hook_list { /* all zero at first */
    uint64_t installed, skipped;
    unsigned frameworks; /* those with an installed hook, listed or not */
    struct hook_entry entry[HOOK_LIST_MOST];
    size_t count;
    char version[HOOK_GROUPS_MOST][HOOK_VERSION_SIZE]; /* untrusted, but digits and points only */
};

/* A HOOK record; beyond `most` entries, of HOOK_LIST_MOST at most, it is only counted. */
void hook_list_add(struct hook_list *list, size_t most, const struct ss_record *record);

/* The same, or a mark "framework", whose text is a module and its version, "torch 2.13.0+cpu". The
 * first version counts. */
void hook_list_take_fact(struct hook_list *list, size_t most, const struct ss_run *run,
                         uint32_t process, const struct ss_record *record);

/* The same for a record of any kind. */
static inline void hook_list_take(struct hook_list *list, size_t most, const struct ss_run *run,
                                  uint32_t process, const struct ss_record *record)
{
    if (record->kind == SS_KIND_HOOK || record->kind == SS_KIND_MARK)
        hook_list_take_fact(list, most, run, process, record);
}

/* "TensorFlow 2.21, Keras 3.15": those with an installed hook or a known version. */
void hook_list_say_frameworks(const struct hook_list *list, struct buf *out);

/* The listed hooks by framework; returns how many groups there are. */
size_t hook_list_groups(const struct hook_list *list, struct hook_group out[HOOK_GROUPS_MOST]);

/* Why no stacks were sampled; NULL: they were, or unknown. */
const struct buf *hook_list_why_no_stacks(const struct hook_list *list);

/* Memory was short: something is missing. */
bool hook_list_failed(const struct hook_list *list);
void hook_list_release(struct hook_list *list);

/* Why an interpreter of the run was not hooked, as it says itself: files unhooked-* of the run
 * directory, one line each, in the form of the manifest. Adds the reason of the first one, made
 * safe and cut to `columns`; nothing if there is none. */
void unhooked_reason(struct buf *out, const struct run_facts *facts, size_t columns);

#endif
