/* The words that the explanations of findings use (finding_kind.h) and that not everybody who
 * trains a model knows. */
#ifndef DIAGNOSE_EXPLAIN_H
#define DIAGNOSE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

struct explained_word {
    const char *word;
    const char *meaning;
};

/* NULL after the last. */
const struct explained_word *explain_word_at(size_t index);

/* Whether a text has the word, also as a plural. */
bool explain_uses(const char *text, const char *word);

#endif
