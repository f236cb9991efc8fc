/* What was run, where and by which versions, as far as runs say so (format 1,
 * info records): what a comparison shows first, because it may explain all that
 * follows (method 7.8). Texts are the recorded program's, not trusted. */
#ifndef DIAGNOSE_COMPARE_FACTS_H
#define DIAGNOSE_COMPARE_FACTS_H

#include <stddef.h>

#include "stepscope/reader.h"

struct compare_fact {
    char *key, *value;
};

/* Of one run; {0} is empty. */
struct compare_facts {
    struct compare_fact *fact;
    size_t count;
};

/* The manifest, and what its first training process says beside; not what differs
 * between any two runs. 0 or SS_E_NOMEM; release it in either case. */
int compare_facts_take(struct compare_facts *out, const struct ss_run *run);
void compare_facts_release(struct compare_facts *facts);

/* The value of a key; NULL: the run does not say. */
const char *compare_facts_value(const struct compare_facts *facts, const char *key);

/* The keys whose values are not the same in all `count` runs, at most `most` of them;
 * returns how many. They belong to the facts. */
size_t compare_facts_differing(const struct compare_facts *runs, size_t count, const char **keys,
                               size_t most);

#endif
