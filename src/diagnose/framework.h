/* Which framework a run trains with, for the words of advice (step model 5.5). */
#ifndef DIAGNOSE_FRAMEWORK_H
#define DIAGNOSE_FRAMEWORK_H

#include "diagnose/finding_kind.h"
#include "summary/snapshot.h"

/* `loop` is the primary one of the snapshot, or NULL: then all spans of the run count. `hooked`:
 * bits of enum hooked_framework. */
enum framework framework_find(const struct snapshot *snapshot, const struct snap_loop *loop,
                              unsigned hooked);

/* Whose words fit what gives the primary loop its batches, if `framework` trains: a DataLoader is
 * PyTorch's wherever it is used. */
enum framework framework_of_batches(const struct snapshot *snapshot, enum framework framework);

#endif
