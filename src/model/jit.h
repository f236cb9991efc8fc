/* Second stage: what makes updates where no trainer and no optimizer does. Of jitted functions, or
 * of collectives where there are none (step model 3.5, 3.7): until enough calls have been seen,
 * spans and epochs wait; then the last function of a cycle counts as the update, and functions
 * called in fewer than half of the cycles, and without gradients, are evaluation. Of gradients
 * (step model 3.6): they wait in the same way for an update; without one, the script updates by
 * hand. From then on the rules for updates apply. */
#ifndef MODEL_JIT_H
#define MODEL_JIT_H

#include "model/item.h"

enum { JIT_FUNCTIONS = 32 };

struct phase_stage;
struct thread;

struct jit_function {
    uint32_t owner;
    int calls, train_calls, cycles;
    int64_t ns;
    int64_t last_cycle;
    bool rare;
    bool is_collective;
};

struct jit_state { /* of a loop */
    bool decided;
    bool off;       /* another source of steps has won */
    bool announced; /* the loop was */
    struct jit_function function[JIT_FUNCTIONS];
    int functions;
    int strangers; /* calls held back by functions that train and are new */
    int gradients; /* taken so far, while that is not decided */
    bool by_hand;  /* decided: each of them makes a step */
    uint32_t last; /* owner of the one that ends a cycle */
};

struct jit_stage {
    struct phase_stage *next;
    struct thread *thread;
    struct jit_state now;
    struct hold hold;
};

void jit_init(struct jit_stage *stage, struct thread *thread, struct phase_stage *next);
void jit_release(struct jit_stage *stage);
void jit_item(struct jit_stage *stage, struct item *item);

#endif
