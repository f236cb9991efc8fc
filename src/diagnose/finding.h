/* Findings: what holds a training back, with the evidence, what it would gain at most, what to do, how to
 * check it, and what cannot be known. From a snapshot alone (rule book 11). */
#ifndef DIAGNOSE_FINDING_H
#define DIAGNOSE_FINDING_H

#include "diagnose/attribution.h"
#include "diagnose/validity.h"
#include "model/snapshot.h"

enum finding_severity { FINDING_INFO, FINDING_WARN, FINDING_HIGH };

enum { FINDING_TEXT_SIZE = 512, FINDINGS_MOST = 32, UNOBSERVABLE_MOST = 32 };

/* What the two ends of a share are. */
enum share_kind {
    SHARE_INTERVAL, /* of 95 % */
    SHARE_ESTIMATE, /* by a rule of thumb: docs/diagnosis.md has it for each */
    SHARE_BOUND     /* at most the upper end; how much of it would go is not known */
};

struct finding {
    const char *id; /* of the closed list, explain.h */
    enum finding_severity severity;
    struct interval share; /* of the step, or of `of`; NAN: none */
    enum share_kind kind;
    const char *of; /* "the step", "the loop", "the run" */
    double of_loop; /* the part of the loop that this is: steps are not all of it */
    bool
        leaves_cold; /* what follows is slower for it: the core slept, or caches have other things */
    /* Texts; names of the run in them are untrusted. */
    char claim[FINDING_TEXT_SIZE];    /* what */
    char evidence[FINDING_TEXT_SIZE]; /* because */
    char advice[FINDING_TEXT_SIZE];   /* what to change; "": nothing */
    char check[FINDING_TEXT_SIZE];    /* how to see that it helped */
    char unknown[FINDING_TEXT_SIZE];  /* what cannot be known; "": nothing */
};

/* A cause that nobody can rule out here, and why. */
struct unobservable {
    const char *id;
    const char *reason;
    const char *needs; /* what would make it observable; "": nothing that is known */
};

/* The stage that may hold the training back or not: more steps would tell. */
struct unsure {
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
    struct unsure unsure;
};

/* Ranked by what removing the cause would gain at least: the lower end of its share. */
void diagnose(struct diagnosis *out, const struct snapshot *snapshot,
              const struct ss_run *run);

/* Part of the time that would go at best if the cause did: [low, high] of its share; the upper end is higher where
 * what follows is slower for it (thresholds.h). A finding that is no loss of time
 * (compute-bound, too-few-steps) has none: NAN. */
struct interval finding_gain(const struct finding *finding);

/* The one word on top: the id of the first finding that warns, else "compute-bound", "inconclusive", "healthy" or
 * "no-steps". */
const char *diagnosis_verdict(const struct diagnosis *diagnosis,
                              const struct snapshot *snapshot);

/* The finding of that word; NULL: it is none of a finding's. */
const struct finding *diagnosis_first(const struct diagnosis *diagnosis);

/* The same, only if it is worth a warning. */
const struct finding *diagnosis_worst(const struct diagnosis *diagnosis);

const char *finding_severity_text(enum finding_severity severity);
const char *share_kind_text(enum share_kind kind);

#endif
