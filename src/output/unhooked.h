/* What an interpreter of the run said about why it was not hooked: files unhooked-* of the run
 * directory, one line each, in the form of the manifest. */
#ifndef OUTPUT_UNHOOKED_H
#define OUTPUT_UNHOOKED_H

#include "base/buf.h"
#include "output/run_facts.h"

/* Adds the reason of the first one, made safe and cut to `columns`; nothing if there is none. */
void unhooked_reason(struct buf *out, const struct run_facts *facts, size_t columns);

#endif
