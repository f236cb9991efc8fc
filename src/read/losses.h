/* What could not be read, in the order of its discovery. */
#ifndef READ_LOSSES_H
#define READ_LOSSES_H

#include "stepscope/reader.h"

struct losses {
    struct ss_loss *items;
    size_t count, capacity;
    bool failed; /* one found no memory */
};

void losses_release(struct losses *losses);
void losses_add(struct losses *losses, const struct ss_loss *loss);
/* Forgets those of files that are no process of the run. */
void losses_drop_strangers(struct losses *losses);

#endif
