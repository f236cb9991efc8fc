/* The closed list of findings, and a longer text on each. */
#ifndef DIAGNOSE_EXPLAIN_H
#define DIAGNOSE_EXPLAIN_H

#include <stddef.h>

struct explanation {
    const char *id;
    const char *meaning;  /* what it means */
    const char *computed; /* how it is computed, from which share on it is said */
    const char *fixes;    /* typical ones */
};

/* NULL after the last. */
const struct explanation *explain_at(size_t index);
const struct explanation *explain_find(const char *id);

#endif
