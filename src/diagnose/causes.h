/* For src/diagnose/: the causes, one small file for those that are alike, and what they share. */
#ifndef DIAGNOSE_CAUSES_H
#define DIAGNOSE_CAUSES_H

#include "base/compiler.h"
#include "diagnose/finding.h"
#include "diagnose/thresholds.h"

/* What ends of shares are, where several findings have the same. */
#define ENDS_NONE "none: not a share of the time"
#define ENDS_LOST "upper bound: how much of that time the steps lost is unknown"
#define ENDS_OF_CUT "estimate: plus or minus a quarter of one, of those that were seen"
#define ENDS_OF_WAIT                                                                               \
    "estimate: half to twice the time that the loop thread was ready but had no core. "            \
    "Its helper threads waited as well, and it may have waited for its own threads"
#define ENDS_ON_DEVICE                                                                             \
    "upper bound: what the device computes during that time is no loss, so at most the share of "  \
    "the time in which it is idle, where that is known"

struct operation_list;

struct diagnosis_input {
    const struct snapshot *snapshot;
    const struct ss_run *run;
    const struct operation_list *operations; /* NULL or empty: not measured */
    const struct snap_loop *loop;            /* the primary one; NULL: no steps */
    enum framework framework, loader;        /* what trains, and what gives it batches */
    bool has_few_steps;                      /* too few for an interval */
    bool has_few_waits; /* for results, of steps enough: shares are estimates */
    struct diagnosis *out;
};

/* A new finding; NULL if there is no room. It has the advice of its kind; its other texts are
 * still empty, and its share is an interval, with too few steps an estimate. */
struct finding *cause_add(struct diagnosis_input *input, enum finding_id id,
                          enum finding_severity severity, struct interval share,
                          enum finding_of of);
/* The same if the lower end of the share reaches the bands; else NULL. */
struct finding *cause_add_share(struct diagnosis_input *input, enum finding_id id,
                                struct interval share, struct bands bands, enum finding_of of);
/* A share for which there are too few steps to know an interval, as wide as makes it safe: where it
 * is large all the same, something can be said. As it is if there are enough. */
struct interval cause_estimate(const struct diagnosis_input *input, struct interval share);
void cause_text(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
/* Appends. */
void cause_more(char out[FINDING_TEXT_SIZE], const char *format, ...) ATTR_PRINTF(2, 3);
/* Neither claimed nor ruled out: why, and what would make it observable ("": nothing known). The
 * first reason of an id stays; what is found after all is not listed. */
void cause_unobservable(struct diagnosis_input *input, enum finding_id id, const char *reason,
                        const char *needs);
/* Whether the time of a stage is known; if not, the cause of that id is unobservable. */
bool cause_can_see(struct diagnosis_input *input, enum finding_id id, unsigned stage);
/* The same for a counter that has to have a value: NULL if it has none; and without a look at
 * it. */
void cause_without(struct diagnosis_input *input, enum finding_id id, unsigned counter);
const struct snap_resource *cause_counter(struct diagnosis_input *input, enum finding_id id,
                                          unsigned counter);
/* Major faults a second, of all processes; how many in all. */
double cause_major_faults(const struct diagnosis_input *input, double *all);
/* Cores that the training may use: a container may have fewer than there are. 0: not known. */
double cause_cores(const struct diagnosis_input *input);
/* The first of what was found so far with this id; NULL: none. */
struct finding *cause_find(const struct diagnosis_input *input, enum finding_id id);

/* snapshot_span_name(): "MyLogger.on_train_batch_end" */
enum { CAUSE_NAME_SIZE = 96 };
const char *cause_name(char out[CAUSE_NAME_SIZE], const struct snap_span *span);

/* Share of the loop of what is outside its steps and was seen so often: an estimate
 * (thresholds.h). */
struct interval cause_cut_share(const struct diagnosis_input *input, int64_t ns, double times);

/* Whether the thread may have waited while that stage had it: it was not seen to work most of the
 * time. */
bool cause_may_wait(const struct diagnosis_input *input, unsigned stage);

/* Part of the looks at loop threads in which they ran while a stage had them; NAN below 20
 * looks. */
struct interval cause_busy(const struct diagnosis_input *input, unsigned stage);

/* The same without the part in which it was ready and waited for a core: of a thread that sleeps
 * and has to wait for a core each time, most looks find it ready. NAN where that is not known. */
double cause_works(const struct diagnosis_input *input, unsigned stage);

/* The line of the script that has most samples of a stage; NULL: none has 20 % of it for sure. */
const struct snap_hot_line *cause_hot_line(const struct diagnosis_input *input, unsigned stage);

/* Claim "WHAT 12.3 % of the step", evidence "12.3 ms of 20.1 ms per step, p99 40 ms"; appends to
 * the evidence
 * "; 80 % of it at train.py:12 (load)". */
void cause_say_stage(struct finding *finding, const struct diagnosis_input *input, unsigned stage,
                     const char *what);
void cause_say_line(struct finding *finding, const struct diagnosis_input *input, unsigned stage);

/* Adds where a part of the time outside steps goes, by stack samples: the function or line that has
 * most. Only if that part, of `ns`, is most of that time, and it was sampled. */
void cause_say_outside(struct finding *finding, const struct diagnosis_input *input, int64_t ns);

/* Whether the environment of the loop's process had a variable: of those that are recorded
 * (record/run_dir.c). */
bool cause_has_variable(const struct diagnosis_input *input, const char *variable);

/* The advice of one of its cases. */
void cause_advise(struct finding *finding, int which);

/* A finding about a stage that is a wait or a loss by itself, with these texts; NULL: it is not
 * observable, or too small. */
struct finding *cause_add_stage(struct diagnosis_input *input, enum finding_id id, unsigned stage,
                                const char *what, const char *check);

/* An item of the validity stamp that a finding is about. */
struct cause_disturbance {
    enum validity_id item;
    unsigned counter;
    bool is_share;  /* its value is a share */
    bool is_second; /* adds to the one before: its counter may be missing */
};
/* A finding if the stamp warns of it; not measurable where it was not seen. */
void cause_disturbed(struct diagnosis_input *input, enum finding_id id,
                     const struct cause_disturbance *disturbance);

/* Part of the time in which a device that the run uses computed: of several the one that has least
 * to do. NAN: not known. */
double cause_device_busy(const struct diagnosis_input *input);

/* Of what the host waits for or does itself: on an asynchronous device no
 * more of it is lost than the device has nothing to do (method 10.5). */
void cause_weigh_host(struct finding *finding, const struct diagnosis_input *input);

/* The part of the step that this many of the samples of `other` stand for, by both intervals; NAN:
 * none were taken. */
struct interval cause_of_other(const struct diagnosis_input *input, uint64_t samples);

/* The validity stamp has at least this level for something of the machine: cores, clocks,
 * memory. */
bool cause_is_disturbed(const struct diagnosis_input *input, enum validity_level level);

/* Adds to the evidence what slow steps go with, if it is this cause; or, where steps differ,
 * whatever it is. */
void cause_say_slow(struct finding *finding, const struct diagnosis_input *input);
void cause_say_any_slow(struct finding *finding, const struct diagnosis_input *input);

#endif
