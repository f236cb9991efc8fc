/* Numbers of frames: one for each line of each function, and each kind of place on it, for the life of the
 * process. Each recording must be told once what a number means. */
#ifndef SAMPLER_IDS_H
#define SAMPLER_IDS_H

#include "frames_code.h"

enum { IDS_SLOTS = 16384, IDS_MOST = IDS_SLOTS / 4 * 3, IDS_FULL = 1 };

struct ids {
    struct {
        uint64_t key; /* 0: free */
        uint32_t id, told;
    } slot[IDS_SLOTS];
    uint32_t count, full_told;
};

/* The number, told to this recording; 0: that was not possible. Beyond IDS_MOST all further lines
 * share the number IDS_FULL. */
uint32_t ids_tell(struct ids *ids, const struct code *code,
                  const struct code_place *place, uint32_t recording);

#endif
