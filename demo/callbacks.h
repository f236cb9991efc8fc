/* What the trainer calls at certain moments, each known by its name. */
#ifndef DEMO_CALLBACKS_H
#define DEMO_CALLBACKS_H

#include "trainer.h"

void callbacks_watch(struct trainer *trainer);
void callbacks_run(struct trainer *trainer, enum ss_scope scope);

/* Name of the n-th; NULL after the last. */
const char *callbacks_name(int n);

#endif
