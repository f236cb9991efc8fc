/* Whether a run ends, or ended, in time. */
#include <math.h>

#include "base/text.h"
#include "base/units.h"
#include "output/report_parts.h"
#include "stats/eta.h"

uint64_t report_planned_steps(const struct snap_loop *loop)
{
    return loop->plan[0] > 0 ? loop->plan[0] : loop->plan[1] * loop->plan[2];
}

/* Did it do what it had set out to? Of a run without a plan only its exit can tell. */
static bool is_done(const struct report_input *input)
{
    const struct snapshot *snapshot = input->snapshot;
    const struct run_facts *facts = input->facts;

    if (snapshot->loop_count > 0) {
        const struct snap_loop *loop = snapshot->loops;
        const uint64_t planned = report_planned_steps(loop);
        if (planned > 0)
            return (uint64_t)loop->steps >= planned;
        if (loop->plan[1] > 0)
            return (uint64_t)loop->epochs_seen >= loop->plan[1];
    }
    return facts->ended_ns > 0 ? facts->exit_code == 0
                               : report_state(input) == REPORT_ENDED;
}

static enum report_deadline ahead(const struct report_input *input)
{
    static const enum report_deadline verdicts[] = {
        [ETA_UNKNOWN] = REPORT_DEADLINE_UNKNOWN,
        [ETA_HOLDS] = REPORT_DEADLINE_HOLDS,
        [ETA_UNSURE] = REPORT_DEADLINE_UNSURE,
        [ETA_MISSED] = REPORT_DEADLINE_MISSED,
    };
    const struct snapshot *snapshot = input->snapshot;
    struct interval left = {0, INFINITY, INFINITY};

    if (snapshot->loop_count > 0 && isfinite(snapshot->loops[0].left_ns.mid))
        left = snapshot->loops[0].left_ns;
    return verdicts[eta_deadline(left, report_wall_ns(input), input->deadline_ns)];
}

enum report_deadline report_deadline(const struct report_input *input)
{
    const enum report_state state = report_state(input);

    if (state == REPORT_LIVE)
        return ahead(input);
    if (is_done(input))
        return report_wall_ns(input) <= input->deadline_ns ? REPORT_DEADLINE_HOLDS
                                                           : REPORT_DEADLINE_MISSED;
    const bool told =
        input->facts->ended_ns > 0 || state == REPORT_KILLED ||
        (input->snapshot->loop_count > 0 && (input->snapshot->loops[0].plan[0] > 0 ||
                                             input->snapshot->loops[0].plan[1] > 0));
    return told ? REPORT_DEADLINE_UNFINISHED : REPORT_DEADLINE_UNKNOWN;
}

const char *report_deadline_text(enum report_deadline verdict)
{
    static const char *const texts[] = {
        [REPORT_DEADLINE_UNKNOWN] = "unknown",       [REPORT_DEADLINE_HOLDS] = "holds",
        [REPORT_DEADLINE_UNSURE] = "unsure",         [REPORT_DEADLINE_MISSED] = "missed",
        [REPORT_DEADLINE_UNFINISHED] = "unfinished",
    };

    return texts[verdict];
}

const char *report_deadline_phrase(const struct report_input *input)
{
    static const char *const goes_on[] = {
        [REPORT_DEADLINE_UNKNOWN] = "cannot be told",
        [REPORT_DEADLINE_HOLDS] = "will hold",
        [REPORT_DEADLINE_UNSURE] = "is not sure to hold",
        [REPORT_DEADLINE_MISSED] = "will be missed",
        [REPORT_DEADLINE_UNFINISHED] = "",
    };
    static const char *const over[] = {
        [REPORT_DEADLINE_UNKNOWN] = "cannot be told",
        [REPORT_DEADLINE_HOLDS] = "held",
        [REPORT_DEADLINE_UNSURE] = "",
        [REPORT_DEADLINE_MISSED] = "was missed",
        [REPORT_DEADLINE_UNFINISHED] = "did not finish",
    };
    const enum report_deadline verdict = report_deadline(input);

    return report_state(input) == REPORT_LIVE ? goes_on[verdict] : over[verdict];
}

void report_say_deadline(struct page *page, const struct report_input *input)
{
    const bool unfinished = report_deadline(input) == REPORT_DEADLINE_UNFINISHED;
    char text[UNITS_SIZE];

    buf_add_text(&page->value, unfinished ? "the run did not finish; its deadline was "
                                          : "the deadline of ");
    page_joined(page, units_duration(text, input->deadline_ns));
    if (!unfinished)
        buf_printf(&page->value, " %s", report_deadline_phrase(input));
}
