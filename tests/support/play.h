/* What a script of any framework records, for plays of the step model (script.h). Times are in
 * ns. */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

#include "support/script.h"

enum { TRAIN = SS_FLAG_TRAIN, EVAL = SS_FLAG_EVAL, FAILED = SS_FLAG_FAILED };

struct play {
    struct script *s;
    unsigned setup, data, transfer, forward, backward, adam, sgd, zero, sync, save, compile,
        evaluate, compute, user, fit;
};
struct play play_new(void);

/* Names beside those. */
unsigned play_name(struct script *s, const char *text, unsigned stage);
unsigned play_optimizer(struct script *s, const char *object);
unsigned play_jitted(struct script *s, const char *function);

void play_update(const struct play *p, unsigned by); /* forward 20, backward 30, it 5 */
void play_batch(const struct play *p, unsigned by);  /* data 10, update 55 */
void play_end_of_iterator(const struct play *p);     /* 1, failed */

const struct snap_loop *play_only_loop(const struct snapshot *snapshot);
int64_t play_segment(const struct snapshot *snapshot, enum model_segment which);

#endif
