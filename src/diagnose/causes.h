/* For src/diagnose/: the causes, one small file for those that are alike, and what they share. */
#ifndef DIAGNOSE_CAUSES_H
#define DIAGNOSE_CAUSES_H

#include "base/compiler.h"
#include "diagnose/advice.h"
#include "diagnose/finding.h"
#include "diagnose/thresholds.h"

struct patient {
    const struct snapshot *snapshot;
    const struct ss_run *run;
    const struct snap_loop *loop; /* the primary one; NULL: no steps */
    enum framework framework;
    bool has_few_steps; /* too few for an interval */
    struct diagnosis *out;
};

/* A new finding; NULL if there is no room. It has the advice of the table (advice.h); its other texts are
 * still empty, and its share is an interval, with too few steps an estimate. */
struct finding *cause_add(struct patient *patient, const char *id,
                          enum finding_severity severity, struct interval share,
                          const char *of);
/* The same if the lower end of the share reaches the bands; else NULL. */
struct finding *cause_add_share(struct patient *patient, const char *id,
                                struct interval share, struct bands bands,
                                const char *of);
/* A share for which there are too few steps to know an interval, as wide as makes it safe: where it is large
 * all the same, something can be said. As it is if there are enough. */
struct interval cause_estimate(const struct patient *patient, struct interval share);
void cause_text(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
/* Appends. */
void cause_more(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
/* Neither claimed nor ruled out: why, and what would make it observable ("": nothing known). The first reason of an
 * id stays; what is found after all is not listed. */
void cause_unobservable(struct patient *patient, const char *id, const char *reason,
                        const char *needs);
/* Whether the time of a stage is known; if not, the cause of that id is unobservable. */
bool cause_can_see(struct patient *patient, const char *id, unsigned stage);
/* The same for a counter that has to have a value: NULL if it has none; and without a look at it. */
void cause_without(struct patient *patient, const char *id, unsigned counter);
const struct snap_resource *cause_counter(struct patient *patient, const char *id,
                                          unsigned counter);
/* Major faults a second, of all processes; how many in all. */
double cause_major_faults(const struct patient *patient, double *all);
/* Cores that the training may use: a container may have fewer than there are. 0: not known. */
double cause_cores(const struct patient *patient);
/* The first of what was found so far with this id; NULL: none. */
struct finding *cause_find(const struct patient *patient, const char *id);

/* "MyLogger.on_train_batch_end" */
enum { CAUSE_NAME_SIZE = 96 };
const char *cause_name(char out[CAUSE_NAME_SIZE], const struct snap_span *span);

/* Share of the loop of what is outside of its steps and was seen so often: an estimate (thresholds.h). */
struct interval cause_cut_share(const struct patient *patient, int64_t ns, double times);

/* Part of the time in steps that callbacks save or evaluate, where that is warned of. */
double cause_cut_in_steps(const struct patient *patient);

/* Whether the thread may have waited while that stage had it: it was not seen to work most of the time. */
bool cause_may_wait(const struct patient *patient, unsigned stage);

/* Part of the looks at loop threads in which they ran while a stage had them; NAN below 20 looks. */
struct interval cause_busy(const struct patient *patient, unsigned stage);

/* The line of the script that has most samples of a stage; NULL: none has 20 % of it for sure. */
const struct snap_hot_line *cause_hot_line(const struct patient *patient, unsigned stage);

/* Claim "WHAT 12.3 % of the step", evidence "12.3 ms of 20.1 ms a step, p99 40 ms"; appends to the evidence
 * "; 80 % of it at train.py:12 (load)". */
void cause_say_stage(struct finding *finding, const struct patient *patient,
                     unsigned stage, const char *what);
void cause_say_line(struct finding *finding, const struct patient *patient,
                    unsigned stage);

/* Part of the time in which a device that the run uses computed: of several the one that has least to do. NAN: not known. */
double cause_device_busy(const struct patient *patient);

/* Of what the host waits for or does itself: on a device that works later than it is told to, no more of it is lost than the
 * device has nothing to do (rule book 1.2, 3.2). */
void cause_weigh_host(struct finding *finding, const struct patient *patient);

/* The part of the step that so many of the samples of `other` stand for, by both intervals; NAN: none were taken. */
struct interval cause_of_other(const struct patient *patient, uint64_t samples);

/* The validity stamp has at least this level for something of the machine: cores, clocks, memory. */
bool cause_is_disturbed(const struct patient *patient, enum validity_level level);

/* Adds to the evidence what slow steps go with, if it is this cause; or, where steps differ, whatever it is. */
void cause_say_slow(struct finding *finding, const struct patient *patient);
void cause_say_any_slow(struct finding *finding, const struct patient *patient);

/* Each looks for its causes and adds what it finds. */
void causes_of_input(struct patient *patient);     /* input-bound */
void causes_of_stages(struct patient *patient);    /* transfer, sync, comm, gc, setup */
void causes_of_compiling(struct patient *patient); /* retrace-storm, compile-heavy */
void causes_of_callbacks(struct patient *patient); /* callback-bound */
void causes_of_own_input(struct patient *patient); /* input-bound, by samples */
void causes_of_own_code(struct patient *patient);  /* user-code, instrument-more */
void causes_of_own_waits(struct patient *patient); /* user-code, in the forward pass */
void causes_of_cuts(
    struct patient *patient); /* eval-heavy, checkpoint-heavy, setup-heavy */
void causes_over_time(struct patient *patient);      /* drift, periodic-pause, bimodal */
void causes_of_predictions(struct patient *patient); /* latency-tail; needs no loop */
void causes_of_machine(struct patient *patient); /* preempted, steal, ..., memory-leak */
void causes_of_fresh_memory(struct patient *patient); /* fresh-memory */
void causes_of_gpus(
    struct patient *patient); /* gpu-idle, gpu-memory-full, gpu-clocks-held */
void causes_of_batch_size(struct patient *patient); /* overhead-bound */
void causes_of_ranks(struct patient *patient);      /* straggler: after stages */
void causes_of_compute(struct patient *patient);    /* compute-bound: after all others */

/* The stage of which it cannot be told; after all causes. */
void cause_find_unsure(struct patient *patient);

#endif
