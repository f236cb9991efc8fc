/* The pipe of a thread that may hold loops: the stages after tree, and the log that is joined to
 * them by time. It puts them together, and is what others see of them. */
#ifndef MODEL_PIPE_H
#define MODEL_PIPE_H

#include "model/calls.h"
#include "model/jit.h"
#include "model/loop.h"
#include "model/phase.h"
#include "model/step.h"

struct pipe {
    struct call_log calls;
    struct jit_stage jit;
    struct phase_stage phase;
    struct step_stage step;
    struct loop_stage loop;
};

#endif
