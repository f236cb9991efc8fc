#include "diagnose/framework.h"

#include <string.h>

#include "load/hook_list.h"

/* What makes steps, and with which names: what gives the batches is often another framework's.
 * Programs that record themselves say "step" and "backward" as well: of a framework those are only
 * next to a name that is unique to it, or where the framework is hooked. */
static const struct known {
    const char *text;
    uint8_t role, stage;
    bool is_common;
    enum framework framework;
} known[] = {{"train_function", SS_ROLE_TRAIN_CALL, SS_STAGE_COMPUTE, false, FRAMEWORK_KERAS},
             {"call", SS_ROLE_TRAIN_CALL, SS_STAGE_COMPUTE, false, FRAMEWORK_KERAS},
             {"run", SS_ROLE_TRAIN_CALL, SS_STAGE_COMPUTE, false, FRAMEWORK_KERAS},
             {"traced step", SS_ROLE_TRAIN_CALL, SS_STAGE_COMPUTE, false, FRAMEWORK_KERAS},
             {"apply", SS_ROLE_UPDATE, SS_STAGE_OPTIMIZER, false, FRAMEWORK_KERAS},
             {"apply_gradients", SS_ROLE_UPDATE, SS_STAGE_OPTIMIZER, false, FRAMEWORK_KERAS},
             {"apply_updates", SS_ROLE_UPDATE, SS_STAGE_OPTIMIZER, false, FRAMEWORK_JAX},
             {"step (GradScaler)", SS_ROLE_UPDATE, SS_STAGE_OPTIMIZER, false, FRAMEWORK_TORCH},
             {"step", SS_ROLE_UPDATE, SS_STAGE_OPTIMIZER, true, FRAMEWORK_TORCH},
             {NULL, SS_ROLE_JIT_CALL, SS_STAGE_COMPUTE, false, FRAMEWORK_JAX},
             {"gradient", SS_ROLE_NONE, SS_STAGE_BACKWARD, false, FRAMEWORK_KERAS},
             {"backward", SS_ROLE_NONE, SS_STAGE_BACKWARD, true, FRAMEWORK_TORCH},
             /* No training, or one that was marked by hand. */
             {"predict_function", SS_ROLE_NONE, SS_STAGE_INFER, false, FRAMEWORK_KERAS},
             {"test_function", SS_ROLE_NONE, SS_STAGE_EVAL, false, FRAMEWORK_KERAS},
             {"zero_grad", SS_ROLE_NONE, SS_STAGE_OPTIMIZER, false, FRAMEWORK_TORCH},
             {"DataLoader", SS_ROLE_NONE, SS_STAGE_DATA, false, FRAMEWORK_TORCH},
             {"DataLoader start", SS_ROLE_NONE, SS_STAGE_SETUP, false, FRAMEWORK_TORCH},
             {"GetNext", SS_ROLE_NONE, SS_STAGE_DATA, false, FRAMEWORK_KERAS},
             {"make iterator", SS_ROLE_NONE, SS_STAGE_SETUP, false, FRAMEWORK_KERAS}};

enum { KNOWN = sizeof known / sizeof known[0] };

/* By the names of the loops that their trainers announce. */
static enum framework trainer_of(const struct snap_loop *loop)
{
    if (loop && strcmp(loop->name, "fit") == 0)
        return FRAMEWORK_LIGHTNING;
    return loop && strcmp(loop->name, "train") == 0 ? FRAMEWORK_TRANSFORMERS : FRAMEWORK_TORCH;
}

/* Whether a span of that kind is what makes the steps of such a loop. */
static bool makes_steps(const struct known *kind, enum step_source source)
{
    switch (source) {
    case SOURCE_TRAINER:
        return kind->role == SS_ROLE_TRAIN_CALL;
    case SOURCE_UPDATES:
        return kind->role == SS_ROLE_UPDATE;
    case SOURCE_JIT:
        return kind->role == SS_ROLE_JIT_CALL;
    case SOURCE_GRADIENTS:
        return kind->stage == SS_STAGE_BACKWARD;
    default:
        return false;
    }
}

static bool is_of(const struct snap_span *span, const struct known *kind)
{
    return span->role == kind->role && span->stage == kind->stage &&
           (!kind->text || strcmp(span->text, kind->text) == 0);
}

/* Its row of the table, KNOWN: it has none. */
static size_t row_of(const struct snap_span *span)
{
    size_t i = 0;
    while (i < KNOWN && !is_of(span, &known[i]))
        i++;
    return i;
}

/* What makes the loop's steps says most, then what else is in its steps, then the rest. */
static size_t rank_of(const struct snap_span *span, size_t row, const struct snap_loop *loop)
{
    const bool is_inside = loop && span->at[CALLED_IN_STEP].count > 0;
    const bool makes = is_inside && makes_steps(&known[row], loop->source);
    return row + (makes ? 0 : is_inside ? KNOWN : 2 * KNOWN);
}

/* Bits: frameworks that a unique name shows, or hooks. A script that updates its weights by hand,
 * without a loader, calls nothing else of PyTorch that has a name of its own. */
static unsigned certain(const struct snapshot *snapshot, unsigned hooked)
{
    unsigned found = hooked & HOOKED_TORCH ? 1u << FRAMEWORK_TORCH : 0;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const size_t row = row_of(&snapshot->spans[i]);
        if (row < KNOWN && !known[row].is_common)
            found |= 1u << known[row].framework;
    }
    return found;
}

enum framework framework_find(const struct snapshot *snapshot, const struct snap_loop *loop,
                              unsigned hooked)
{
    const unsigned present = certain(snapshot, hooked);
    enum framework found = FRAMEWORK_OTHER;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const size_t row = row_of(&snapshot->spans[i]);
        if (row == KNOWN || !(present & 1u << known[row].framework))
            continue;
        const size_t rank = rank_of(&snapshot->spans[i], row, loop);
        if (rank < best) {
            best = rank;
            found = known[row].framework;
        }
    }
    return found == FRAMEWORK_TORCH ? trainer_of(loop) : found;
}

enum framework framework_of_batches(const struct snapshot *snapshot, enum framework framework)
{
    for (size_t i = 0; i < snapshot->span_count && !is_on_torch(framework); i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (span->stage == SS_STAGE_DATA && strcmp(span->text, "DataLoader") == 0 &&
            span->at[CALLED_IN_STEP].count > 0)
            return FRAMEWORK_TORCH;
    }
    return framework;
}
