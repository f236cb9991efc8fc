/* Which counters of the machine slow steps go with (method 8.3): over windows of the primary
 * loop's steady steps, does a counter rise where steps are slow, would its time explain what they
 * take more, and does it not come later?
 *
 * Counters of time can explain; of those that only count it is not known how long each took, so
 * they are at most consistent. */
#ifndef DIAGNOSE_ATTRIBUTION_H
#define DIAGNOSE_ATTRIBUTION_H

#include "diagnose/finding_kind.h"
#include "summary/snapshot.h"

enum attribution_verdict {
    ATTRIBUTION_UNLISTED,
    ATTRIBUTION_CONSISTENT, /* rises with them, or is large enough */
    ATTRIBUTION_SUPPORTED   /* both, and not later */
};

enum { ATTRIBUTION_MOST = 16 };

struct attributed {
    enum finding_id cause; /* the finding that is about it; NONE: none is */
    const char *counter;   /* its text; of several the first */
    const char *words;     /* "waiting for a core" */
    bool is_time, is_late; /* it counts time; it comes later than what it would explain */
    enum attribution_verdict verdict;
    double explained; /* part of what slow windows take more; NAN: it does not count time */
    double rho, p;    /* Spearman's, and Holm's p; NAN: it never changed */
};

struct attribution {
    size_t windows;      /* that could be compared; 0: none */
    double excess;       /* what windows take more than the fastest quarter, of all time */
    const char *refused; /* why nothing was tested; NULL: it was */
    struct attributed item[ATTRIBUTION_MOST]; /* best supported first */
    size_t count;
};

void attribution_find(struct attribution *out, const struct snapshot *snapshot,
                      const struct ss_run *run);

/* Room for a sentence about one. */
enum { ATTRIBUTION_TEXT_SIZE = 160 };

/* What slow steps do: "go with waiting for a core (64 % of what they take more than fast ones, p <
 * 0.001)"; or "may go with". Without its words "go with it". */
const char *attribution_text(char out[ATTRIBUTION_TEXT_SIZE], const struct attributed *item,
                             bool with_words);

/* What is said of the cause; NULL: nothing is. */
const struct attributed *attribution_of(const struct attribution *attribution,
                                        enum finding_id cause);

/* What slow steps go with first of all, if it is supported; NULL: nothing is. */
const struct attributed *attribution_best(const struct attribution *attribution);

const char *attribution_verdict_text(enum attribution_verdict verdict);

#endif
