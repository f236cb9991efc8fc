/* What removing a cause saves, in the words of people: times, and from twice as fast on a factor.
 */
#include <math.h>
#include <stdio.h>

#include "render/numbers.h"
#include "report/report_parts.h"

/* Less is not worth a word; nor is a most that is hardly more (ours). */
static const double saving_shown = 0.01, more_shown = 0.005;
static const double twice = 0.5; /* this part saved is twice as fast */

/* The time that the share of a finding is a part of; 0: not known. */
static double whole_ns(const struct report *report, const struct finding *finding)
{
    const struct snap_loop *loop = report->loop;

    if (finding->of == OF_RUN)
        return (double)report_wall_ns(report->analysis);
    if (!loop)
        return 0;
    return finding->of == OF_STEP ? loop->step_ns.mid : (double)loop->wall_ns;
}

/* "2.9x as fast", "12 %" */
static const char *saved_text(char out[UNITS_SIZE], double part)
{
    if (part >= twice)
        snprintf(out, UNITS_SIZE, "%.1fx as fast", 1 / (1 - part));
    else
        snprintf(out, UNITS_SIZE, "%.0f %%", 100 * part);
    return out;
}

static double part_said(const struct finding *finding)
{
    const struct interval saving = finding_saving(finding);

    return finding->kind == SHARE_BOUND ? saving.high : saving.mid;
}

bool report_has_saving(const struct report *report, const struct finding *finding)
{
    const double part = part_said(finding);

    return part >= saving_shown && part < 1 && whole_ns(report, finding) > 0;
}

static const char *before(enum share_kind kind)
{
    return kind == SHARE_ESTIMATE ? "about " : kind == SHARE_BOUND ? "at most " : "";
}

/* "2.64 of 5.28 ms per step (2.0x as fast), as predicted for this advice; 4.78 (10.6x as fast) if
 * all of it goes": the advice need not remove all of what it is against. */
void report_say_saving(struct report *report, const struct finding *finding)
{
    static const char *const wholes[] = {
        [OF_STEP] = "per step", [OF_LOOP] = "of the loop", [OF_RUN] = "of the run"};
    const double whole = whole_ns(report, finding), part = part_said(finding);
    const double predicted = finding_predicted(finding).mid;
    struct buf *out = &report->page.value;
    char times[NUMBERS_PART_SIZE], saved[UNITS_SIZE];

    if (!report_has_saving(report, finding))
        return;
    if (isfinite(predicted))
        buf_printf(out, "about %s %s (%s), as predicted for this advice; ",
                   part_text(times, predicted * whole, whole), wholes[finding->of],
                   saved_text(saved, predicted));
    buf_printf(out, "%s%s %s (%s) if all of it goes", before(finding->kind),
               part_text(times, part * whole, whole), wholes[finding->of], saved_text(saved, part));
}

void report_say_gain_most(struct report *report, const struct finding *finding)
{
    const double most = finding_gain_most(finding);
    char saved[UNITS_SIZE];

    if (!report_has_saving(report, finding) || most >= 1 ||
        !(most >= finding_saving(finding).high + more_shown))
        return;
    buf_printf(&report->page.value,
               "; possibly up to %s: the rest of a step often runs faster without the wait",
               saved_text(saved, most));
}
