#include "model/step.h"

bool owners_have(const struct owners *owners, uint32_t owner)
{
    for (int i = 0; i < owners->count; i++)
        if (owners->owner[i] == owner)
            return true;
    return false;
}

void owners_add(struct owners *owners, uint32_t owner)
{
    if (owner && owners->count < OWNERS_MOST && !owners_have(owners, owner))
        owners->owner[owners->count++] = owner;
}

/* What this number of updates has shown stays valid for a while: data that ends in the middle of an
 * iteration, which then starts over, is no other way to train. */
void owners_note(struct owners *owners, uint32_t owner)
{
    const int most = owners->turns < TURNS_DECIDE ? 1 : REPEATS_DECIDE;
    owners->repeats = owners->last == owner ? owners->repeats + 1 : 0;
    owners->out_of_turn = owners->out_of_turn || owners->repeats >= most;
    owners->last = owner;
    owners->turns += owners->turns < TURNS_DECIDE;
}
