/* A comparison of runs, as text for people and as JSON for programs (docs/compare.md).
 * Texts of runs are untrusted; all of them are made safe (base/text.h). */
#ifndef REPORT_COMPARE_REPORT_H
#define REPORT_COMPARE_REPORT_H

#include "diagnose/compare.h"
#include "diagnose/compare_facts.h"
#include "report/report.h"

enum { COMPARE_MOST_SIDES = 8, COMPARE_MOST_KEYS = 32 };

/* A side: what it was called, and which of the runs are its own. */
struct compare_group {
    const char *label;
    size_t first, count;
};

struct compare_report {
    struct compare_run *runs; /* of all sides, one after the other */
    struct compare_facts *facts;
    char **names;
    size_t run_count;
    struct compare_group side[COMPARE_MOST_SIDES]; /* the first is the one to compare with */
    size_t side_count;
    struct comparison with[COMPARE_MOST_SIDES]; /* [0] is not used */
    double gate; /* 0.03: fail if slower by more than 3 %; NAN: no gate */
};

/* Compares all sides with the first one. */
void compare_report_fill(struct compare_report *report);

/* The layers of a side that are compared with those of the first one. */
size_t compare_report_layers(const struct compare_report *report, size_t side,
                             struct compare_layer_row rows[COMPARE_LAYERS_MOST]);

/* The worst of all sides; PASSED without a gate. */
enum compare_gate compare_report_gate(const struct compare_report *report);

void compare_text(struct sink *out, const struct compare_report *report, const struct style *style);
void compare_markdown(struct sink *out, const struct compare_report *report);
void compare_json(struct sink *out, const struct compare_report *report);

#endif
