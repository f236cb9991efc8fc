/* The closed list of findings, and a longer text on each; and the words that these texts use. */
#ifndef DIAGNOSE_EXPLAIN_H
#define DIAGNOSE_EXPLAIN_H

#include <stdbool.h>
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

/* A word that not everybody who trains a model knows. */
struct explained_word {
    const char *word;
    const char *meaning;
};

/* NULL after the last. */
const struct explained_word *explain_word_at(size_t index);

/* Whether a text has the word, also as a plural. */
bool explain_uses(const char *text, const char *word);

#endif
