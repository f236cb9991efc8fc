/* Findings: what holds a training back, with the evidence, what it would gain at most, what to do,
 * how to check it, and what cannot be known. From a snapshot alone (method 10). */
#ifndef DIAGNOSE_FINDING_H
#define DIAGNOSE_FINDING_H

#include "diagnose/attribution.h"
#include "diagnose/finding_kind.h"
#include "diagnose/validity.h"
#include "summary/snapshot.h"

enum finding_severity { FINDING_INFO, FINDING_WARN, FINDING_HIGH };

enum { FINDING_TEXT_SIZE = 512, FINDINGS_MOST = 32, UNOBSERVABLE_MOST = 32 };

struct operation_list;

/* What the two ends of a share are. */
enum share_kind {
    SHARE_INTERVAL, /* of 95 % */
    SHARE_ESTIMATE, /* by a rule of thumb: docs/diagnosis.md has it for each */
    SHARE_BOUND     /* at most the upper end; how much of it would go is not known */
};

struct finding {
    enum finding_id id;
    enum finding_severity severity;
    struct interval share; /* of the step, or of `of`; NAN: none */
    enum share_kind kind;
    enum finding_of of;
    struct interval
        predicted;    /* part of the time that following the advice saves; NAN: not known */
    double of_loop;   /* the part of the loop that this is: steps are not all of it */
    bool leads;       /* a disturbance that explains more than any cause in the script */
    bool leaves_cold; /* what follows is slower for it: the core slept, or caches have other things
                       */
    /* Texts; names of the run in them are untrusted. */
    char claim[FINDING_TEXT_SIZE];    /* what */
    char evidence[FINDING_TEXT_SIZE]; /* because */
    char advice[FINDING_TEXT_SIZE];   /* what to change; "": nothing */
    char check[FINDING_TEXT_SIZE];    /* how to see that it helped */
    char unknown[FINDING_TEXT_SIZE];  /* what cannot be known; "": nothing */
};

/* A cause that cannot be ruled out here, and why. */
struct unobservable {
    enum finding_id id;
    const char *reason;
    const char *needs; /* what would make it observable; "": nothing that is known */
};

/* The stage that may hold the training back or not: more steps would tell. */
struct inconclusive {
    unsigned stage;
    struct interval share; /* of the step; upper end 0: there is none */
    int64_t more_steps;    /* 0: not known how many */
};

struct diagnosis {
    struct finding finding[FINDINGS_MOST]; /* the first is the verdict */
    size_t count;
    struct validity validity;
    struct attribution attribution;
    struct unobservable unobservable[UNOBSERVABLE_MOST]; /* each id once */
    size_t unobservable_count;
    struct inconclusive inconclusive;
};

/* Ranked by what removing the cause saves at least: the lower end of its share. `hooked`: bits of
 * enum hooked_framework, those with an installed hook. `operations`: NULL or empty, none are known.
 */
void diagnose(struct diagnosis *out, const struct snapshot *snapshot, const struct ss_run *run,
              unsigned hooked, const struct operation_list *operations);

/* The same of a job of which only the ranks are known: what they wait for each other. */
void diagnose_job(struct diagnosis *out, const struct snapshot *snapshot);

/* Part of the time that removing the cause saves, by arithmetic: its share. Of an upper bound only
 * the upper end is known. A finding that is no loss of time (compute-bound, too-few-steps) has
 * none: NAN. */
struct interval finding_saving(const struct finding *finding);

/* What following its advice is predicted to save: less than that where the advice leaves some of
 * the cause. NAN: not predicted. */
struct interval finding_predicted(const struct finding *finding);

/* The most that can be gained: more than the upper end of the saving where what follows is slower
 * for it. NAN: none. */
double finding_gain_most(const struct finding *finding);

/* What a drift has made steps slower from first to last: the trend over time, but no more than the
 * thirds of the run bear out, so that every text has the same number. */
double diagnosis_trend(const struct snap_loop *loop);

/* The one word on top: the id of the first finding that warns, else "compute-bound",
 * "inconclusive", "healthy" or "no-steps". */
const char *diagnosis_verdict(const struct diagnosis *diagnosis, const struct snapshot *snapshot);

/* Whether that word is "healthy". */
bool diagnosis_is_healthy(const struct diagnosis *diagnosis, const struct snapshot *snapshot);

/* The finding of that word; NULL: it is none of a finding's. */
const struct finding *diagnosis_first(const struct diagnosis *diagnosis);

/* The same, only if it is worth a warning. */
const struct finding *diagnosis_worst(const struct diagnosis *diagnosis);

const char *finding_severity_text(enum finding_severity severity);
const char *share_kind_text(enum share_kind kind);

#endif
