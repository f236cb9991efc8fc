/* What a model knows: its processes, its threads, and what is joined to both by name and time. The
 * model changes it; src/summary reads it. */
#ifndef MODEL_MODEL_STATE_H
#define MODEL_MODEL_STATE_H

#include "base/own_counters.h"
#include "model/hot.h"
#include "model/model.h"
#include "model/name_table.h"
#include "model/observe.h"
#include "model/other_threads.h"
#include "model/resources.h"

struct phase_stage;
struct thread;

/* Replicas all take the same time: loops of that part of the longest one are as long. */
#define MODEL_SAME_LENGTH 0.99

struct model_process_facts {
    bool known;
    struct ss_process facts;
    struct overlays waits, compiles;
    int64_t compute_end_ns;        /* of the last train compute */
    struct phase_stage *computing; /* of the thread that did it; NULL: it has ended */
    int64_t perturbed_start_ns, perturbed_end_ns; /* the last such window */
    bool is_asynchronous;    /* a mark said that a device runs asynchronously */
    bool calls_return_early; /* and that this goes for compiled calls of any device */
    char *no_layers;         /* why layers were not sampled, as a mark said; NULL: none did */
    char *no_windows;        /* why there were no more windows of operations; the same */
    char *no_backward;       /* the same of their backward passes */
    double sampler_cores;    /* sum over what the stack sampler said of itself */
    uint64_t sampler_looks;
    uint64_t making[MAKING_STATES]; /* looks at threads that made a batch */
};

struct model {
    int error;
    struct model_names names;
    struct model_process_facts *processes;
    uint32_t process_count;
    struct thread **lanes; /* present thread of each lane */
    uint32_t lane_count;
    struct thread *ended;
    uint64_t records, spans, lost_records, gaps, orphan_spans, forgotten_loops;
    int64_t negative_ns;
    int64_t first_ns, last_ns;
    struct hot hot;
    struct resources resources;
    void (*seen)(void *context, const struct model_step *step); /* NULL: nothing looks */
    void *seen_context;
    void (*seen_window)(void *context, const struct model_window *window);
    void *window_context;
};

#endif
