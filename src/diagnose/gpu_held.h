/* What holds the clock of a GPU down that nobody has asked for: heat, a cap on its power, its hardware. */
#ifndef DIAGNOSE_GPU_HELD_H
#define DIAGNOSE_GPU_HELD_H

#include "model/snapshot.h"

enum { GPU_HELD_SIZE = 96 };

/* "heat 40 %, power cap 7 %": parts of the time; "": nothing did, or it is not known. */
const char *gpu_held_text(char out[GPU_HELD_SIZE], const struct snapshot *snapshot,
                          uint64_t gpu);

/* How far the mean clock of a GPU that is busy was below its highest, if it was held in a good part of the
 * time; 0: it was not, or it is not known. */
double gpu_held_lost(const struct snapshot *snapshot, uint64_t gpu);

#endif
