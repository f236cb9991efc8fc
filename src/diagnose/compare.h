/* Two sides of runs, each one or several recordings of the same thing, compared: the
 * step and every stage of it, decided by the ladder of stats/compare_ladder.h
 * (method 7).
 *
 * What is compared is the mean time of a steady step of each run's primary loop: it is
 * what a run costs, and the stages add up to it. The median is beside it, what a
 * typical step takes (method 1.2), and decides where the mean cannot: on a busy
 * machine a few slow steps move the mean of a run by more than most changes do.
 * Warm-up is in neither. On a machine where the loop thread had to wait for a core, the step is
 * also compared without that time (method 13.2), and decides where both cannot. If the batch sizes
 * differ, all is taken per sample.
 *
 * The change of a stage is given as a part of A's step, so that the changes of the
 * stages add up to that of the step; that of the step and of its median is a ratio. */
#ifndef DIAGNOSE_COMPARE_H
#define DIAGNOSE_COMPARE_H

#include "diagnose/compare_layers.h"
#include "diagnose/validity.h"
#include "stats/compare_ladder.h"
#include "summary/snapshot.h"

enum { COMPARE_MOST_RUNS = 100 }; /* of a side */

/* What two runs of the same thing differ by where nothing is known of this machine
 * (method 7.2). */
#define COMPARE_RUN_SIGMA 0.02

struct compare_time {
    bool measured;
    double mean_ns, error_ns; /* of a step; the standard error, from within the run */
    double median_ns;
};

/* Times of a run: the stages, then the step. Rows of a comparison: the same, then the
 * median step, then the step without what its thread waited for a core. */
enum {
    COMPARE_STEP = SS_STAGE_COUNT,
    COMPARE_TIMES,
    COMPARE_MEDIAN = COMPARE_TIMES,
    COMPARE_QUIET,
    COMPARE_ROWS
};

/* What is kept of a run. */
struct compare_run {
    int64_t steps, warmup_steps, steady_steps;
    int64_t missing; /* steps, until there are enough of them to be compared */
    enum warmup_class class;
    double samples;      /* a steady step; NAN: not known */
    bool watched;        /* the machine was: validity is known */
    double run_sigma;    /* by how much another run of the same may differ, if one knows */
    double quiet_sigma;  /* the same without what the loop thread waited for a core */
    double waited_share; /* of the time, for a core; NAN: not known, or not the step's alone */
    struct validity validity;
    struct compare_time time[COMPARE_TIMES];
    struct compare_layers layers; /* to be released with compare_layers_release() */
};

struct compare_side {
    const struct compare_run *runs;
    size_t count; /* 1 to COMPARE_MOST_RUNS */
};

struct compare_row {
    bool in_a, in_b;        /* it was measured there */
    double a_ns, b_ns;      /* of a step, or of a sample */
    struct interval change; /* 0.05: 5 % longer */
    /* Of a change as large by chance. Of stages after Holm's correction; NAN: too
     * small to matter. */
    double chance;
    enum compare_word word;
    int64_t more_runs; /* a side, to tell more: compare_more_runs(); 0: it is known */
};

struct comparison {
    enum compare_level level;
    bool per_sample;
    double assumed; /* of an indication: by how much runs of the same thing differ */
    bool unsteady;  /* a run without a steady state: with few runs nothing can be judged */
    struct compare_row row[COMPARE_ROWS];
    enum compare_word word; /* of all: compare_headline() */
    double waited_share;    /* the most that a run waited for a core; NAN: not known of all */
    int decided_by;         /* the row that it is from: from COMPARE_STEP on */
    int carrier;            /* the stage with most of that row's change; -1: none */
    double carried;         /* its part of that change */
};

/* False: the run has no steps. */
bool compare_take(struct compare_run *out, const struct snapshot *snapshot,
                  const struct ss_run *run);

void compare_sides(struct comparison *out, const struct compare_side *a,
                   const struct compare_side *b);

/* A layer that calls no other one; the change is a part of A's step, as that of a stage. */
enum { COMPARE_LAYERS_MOST = COMPARE_QUESTIONS };
struct compare_layer_row {
    const char *path; /* of a run */
    struct compare_row row;
};

/* After compare_sides(): the layers of both sides, the one that changed most first; 0: a side has
 * none. */
size_t compare_layer_rows(const struct comparison *with, const struct compare_side *a,
                          const struct compare_side *b,
                          struct compare_layer_row rows[COMPARE_LAYERS_MOST]);

/* Is B slower than A by more than `limit` (0.03: 3 %)? The row that decided says so. */
enum compare_gate {
    COMPARE_GATE_PASSED,    /* no: all of the interval is below */
    COMPARE_GATE_UNSURE,    /* the limit is within the interval */
    COMPARE_GATE_UNDECIDED, /* an indication decides nothing */
    COMPARE_GATE_FAILED     /* yes: all of the interval is above */
};
enum compare_gate compare_gate(const struct comparison *comparison, double limit);

/* For JSON, and for people. */
const char *compare_word_text(enum compare_word word);
const char *compare_level_text(enum compare_level level);
const char *compare_gate_text(enum compare_gate gate);
const char *compare_row_text(int row);

#endif
