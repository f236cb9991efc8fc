/* For src/diagnose/: the causes, one small file for those that are alike, and what they share. */
#ifndef DIAGNOSE_CAUSES_H
#define DIAGNOSE_CAUSES_H

#include "base/compiler.h"
#include "diagnose/finding.h"

enum framework { FRAMEWORK_OTHER, FRAMEWORK_TORCH, FRAMEWORK_KERAS, FRAMEWORK_JAX };

struct patient {
    const struct snapshot *snapshot;
    const struct ss_run *run;
    const struct snap_loop *loop; /* the primary one; NULL: no steps */
    enum framework framework;
    struct diagnosis *out;
};

/* Shares from which on something is said: info, warn, high (rule book 12). */
struct bands {
    double info, warn, high;
};

/* A new finding; NULL if there is no room. The texts are still empty. */
struct finding *cause_add(struct patient *patient, const char *id,
                          enum finding_severity severity, struct interval share,
                          const char *of);
/* The same if the lower end of the share reaches the bands; else NULL. */
struct finding *cause_add_share(struct patient *patient, const char *id,
                                struct interval share, struct bands bands,
                                const char *of);
void cause_text(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
/* Appends. */
void cause_more(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
void cause_unobservable(struct patient *patient, const char *id);

/* Part of the looks at loop threads in which they ran while a stage had them; NAN below 20. */
double cause_busy(const struct patient *patient, unsigned stage);

/* The line of the script that has most samples of a stage; NULL: none has 20 % of it, or there are
 * fewer than 20. */
const struct snap_hot_line *cause_hot_line(const struct patient *patient, unsigned stage);

/* The validity stamp warns of the machine: cores, clocks, memory. */
bool cause_is_disturbed(const struct patient *patient);

/* Each looks for its causes and adds what it finds. */
void causes_of_stages(
    struct patient *patient); /* input, transfer, sync, comm, gc, setup */
void causes_of_compiling(struct patient *patient); /* retrace-storm, compile-heavy */
void causes_of_callbacks(struct patient *patient); /* callback-bound */
void causes_of_own_code(struct patient *patient);  /* user-code, instrument-more */
void causes_of_cuts(
    struct patient *patient); /* eval-heavy, checkpoint-heavy, setup-heavy */
void causes_over_time(struct patient *patient);  /* drift, periodic-pause, latency-tail */
void causes_of_machine(struct patient *patient); /* preempted, steal, ..., memory-leak */
void causes_of_gpus(
    struct patient *patient); /* gpu-idle, gpu-memory-full, gpu-clocks-held */
void causes_of_compute(struct patient *patient); /* compute-bound: after all others */

#endif
