#include "output/compare_report.h"

#include <math.h>

static struct compare_side side_of(const struct compare_report *report, size_t side)
{
    return (struct compare_side){report->runs + report->side[side].first,
                                 report->side[side].count};
}

void compare_report_fill(struct compare_report *report)
{
    const struct compare_side a = side_of(report, 0);

    for (size_t i = 1; i < report->side_count; i++) {
        const struct compare_side b = side_of(report, i);
        compare_sides(&report->with[i], &a, &b);
    }
}

enum compare_gate compare_report_gate(const struct compare_report *report)
{
    enum compare_gate worst = COMPARE_GATE_PASSED;

    for (size_t i = 1; i < report->side_count && !isnan(report->gate); i++) {
        const enum compare_gate own = compare_gate(&report->with[i], report->gate);
        worst = own > worst ? own : worst;
    }
    return worst;
}
