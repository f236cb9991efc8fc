/* Layers: how the time of forward and backward passes divides, from stretches of a run in which
 * calls of layers were sampled (method 3.8).
 *
 * Sampled spans are in no other account. A stretch reaches from one update to the next; a record at
 * its end says so. What it holds waits in a log until the time that it is in is booked, as which
 * loop that is, and whether it was an evaluation, is known later. In a loop each layer has the sums
 * of its stretches, itself with all that is below it by its path, in cells of neighbouring ones:
 * bounded memory for any number. */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "stepscope/vocabulary.h"

struct model_name;

enum layer_pass { LAYER_FORWARD, LAYER_BACKWARD, LAYER_PASSES };

enum { LAYERS_WAITING = 4, LAYER_CELLS = 64, LAYERS_MOST = 1 << 12, LAYER_DEPTH_MOST = 32 };

struct layer_part { /* of a stretch, by name */
    uint32_t name;
    int64_t calls, self_ns;
};

struct layer_stretch {
    int64_t start_ns, end_ns;
    int64_t stage_ns[SS_STAGE_COUNT]; /* own time of spans; while it is open: when it began */
    int64_t cost_ns[SS_STAGE_COUNT];  /* of that: what sampling took */
    int64_t charged_ns;               /* what it cost in all; 0: not known */
    bool is_cut;                      /* something else was in it */
    struct layer_part *part;
    uint32_t count, capacity;
};

struct layer_log {                    /* of a thread */
    int64_t stage_ns[SS_STAGE_COUNT]; /* so far: own time of spans in nothing that is cut out */
    struct layer_stretch open, waiting[LAYERS_WAITING];
    bool is_open;
    uint32_t waits;
    int64_t spent_ns, charged_ns; /* what sampling cost so far, and what a stretch has of that */
};

/* By a path, such as that of a list of layers, which is not called itself. */
struct layer_node {
    char *path, *kind;            /* kind NULL: not called */
    uint32_t hash, parent, depth; /* parent: place + 1; 0: none */
    int64_t calls;
    int64_t cell_ns[LAYER_CELLS][LAYER_PASSES]; /* with all below it */
};

struct loop_layers {
    struct layer_node *node;
    uint32_t count, capacity;
    uint32_t *place; /* by number of a name: place of its node + 1, 0: not known yet */
    uint32_t places;
    int64_t stretches, size; /* of a cell: how many stretches */
    int64_t cost_ns;
    int64_t stage_ns[LAYER_CELLS][SS_STAGE_COUNT]; /* all own time in the stretches of a cell */
};

/* Where a stretch begins (start and end are the same) or has ended. */
void layers_stretch(struct layer_log *log, int64_t start_ns, int64_t end_ns);

/* A call of a layer, or a part of a backward pass, without what else has a name inside it. False:
 * no memory. */
bool layers_note(struct layer_log *log, uint32_t name, int64_t self_ns);

/* What sampling took, inside a span of this stage. */
void layers_cost(struct layer_log *log, unsigned stage, int64_t ns);

/* What all of it cost so far, also where it could not be seen: that of a stretch comes before its
 * end. */
void layers_spent(struct layer_log *log, double ns);

/* What was then is cut out of steps. */
void layers_cut(struct layer_log *log, int64_t start_ns, int64_t end_ns);

/* Books stretches that ended by then; `layers` NULL: in no loop. False: no memory. */
bool layers_book(struct layer_log *log, int64_t until_ns, const struct model_name *names,
                 uint32_t name_count, struct loop_layers **layers);

/* The cells that are in use. */
static inline int layers_cells(const struct loop_layers *layers)
{
    return layers->stretches ? (int)((layers->stretches + layers->size - 1) / layers->size) : 0;
}

void layers_free(struct loop_layers *layers);
void layers_release(struct layer_log *log);

/* Numbers of names have changed. */
void layers_forget_names(struct loop_layers *layers);

#endif
