/* Time of a loop thread that is in no step, by what it is, for the books (step model 6). */
#ifndef MODEL_OUTSIDE_H
#define MODEL_OUTSIDE_H

#include "model/model.h"
#include "model/work.h"

struct outside {
    int64_t cut_ns[CUT_COUNT], compile_ns, rest_ns;
};

/* Takes at most what is left. */
int64_t outside_take(int64_t *left, int64_t wanted);

/* Cuts and compilation by what they are, the rest as `kind`. */
struct outside outside_split(const struct work *work, int64_t time_ns, enum model_segment kind);

void outside_add(int64_t books[MODEL_SEGMENT_COUNT], const struct outside *outside,
                 enum model_segment kind);

#endif
