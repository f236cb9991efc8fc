/* Which value of a parameter trains fastest: runs the command with each value, all by turns, and
 * compares their throughput (method 13, docs/experiments.md).
 *
 * Each training is a process group of its own. They are started one after the other, warmed up and
 * stopped; then, round by round and in changing order, each runs for a moment. A value that is
 * certainly slower than the best is dropped. Trainings that do not fit into memory together, or
 * that use a GPU, run one after the other instead, in two rounds, the second one backwards. */
#ifndef EXPERIMENT_SWEEP_H
#define EXPERIMENT_SWEEP_H

#include <stdint.h>

#include "experiment/protect.h"
#include "experiment/variants.h"
#include "stats/batch_fit.h"
#include "stepscope/error.h"

struct sweep_wish {
    const struct variants *variants;
    char *const *command; /* as it was given: for names */
    const char *parent;   /* where runs are kept; NULL: the usual place */
    double precision;     /* half of the width of an interval, as a part of the rate */
    int64_t most_ns;      /* for all of it */
    bool has_reference;   /* all are compared with the first variant, and none is dropped */
    bool is_batch;        /* values of the first parameter are sizes of batches */
    bool may_be_unprotected;
    bool is_serial; /* asked for */
    void (*progress)(void *context, double done);
    void (*say)(void *context, const char *message); /* one sentence */
    void *context;
};

struct sweep_row {
    const char *label;
    double size; /* of the batch; 0: not a number, or no batch */
    double steps;
    struct interval rate;    /* units per second; mid 0: not measured */
    struct interval of_best; /* its rate as a part of the best one's, or of the reference's */
    double step_ns;          /* mean */
    double error_ns;         /* of that */
    uint64_t rss_bytes;
    bool was_dropped; /* certainly slower than the best */
    struct buf error; /* why it could not be measured; empty: it was */
};

struct sweep_result {
    struct sweep_row rows[VARIANTS_MOST];
    size_t count;
    size_t best, smallest_near_best; /* SIZE_MAX: none */
    bool has_reference;              /* the first one is what the others are compared with */
    bool counts_samples;             /* units are samples, else steps */
    bool is_quiet, is_serial;        /* the clock, the order */
    bool has_fit;
    struct batch_fit fit;
    struct interval fixed_ns, each_ns;
    enum protection level;
    double seconds, others_share; /* it took; of the time the loops had no core */
    int signal;                   /* that ended it early; 0: none */
    struct buf dir;               /* where the runs and the outputs are */
};

/* 0, or SS_E with a sentence: then there is no result. Release it in either case. */
int sweep_run(const struct sweep_wish *wish, struct sweep_result *result, struct ss_error *error);
void sweep_release(struct sweep_result *result);

struct json;
struct page;
struct sink;
struct style;

/* What any experiment says of its clock, failures, files and runs. */
void sweep_text_notes(struct page *page, const struct sweep_result *result);
void sweep_json_facts(struct json *json, const struct sweep_result *result);

void sweep_text(struct sink *out, const struct sweep_wish *wish, const struct sweep_result *result,
                const struct style *style);
void sweep_json(struct sink *out, const struct sweep_result *result);

#endif
