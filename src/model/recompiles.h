/* Functions of a loop that were compiled again, as marks tell it: "FUNCTION (FILE:LINE):
 * REASON". */
#ifndef MODEL_RECOMPILES_H
#define MODEL_RECOMPILES_H

#include "stepscope/reader.h"

enum { RECOMPILED_FUNCTIONS = 8, RECOMPILED_TEXT = 96, RECOMPILED_REASON = 160 };

struct recompiled {
    uint64_t count;
    char function[RECOMPILED_TEXT]; /* "f (train.py:12)" */
    char reason[RECOMPILED_REASON]; /* the last one */
};

struct recompiles {
    struct recompiled function[RECOMPILED_FUNCTIONS]; /* those that came first */
    uint32_t count;
};

void recompiles_add(struct recompiles *recompiles, struct ss_text mark);

/* The one of that name that was compiled most often, of all if the name is ""; NULL: none. */
const struct recompiled *recompiles_most(const struct recompiles *recompiles, const char *name);

#endif
