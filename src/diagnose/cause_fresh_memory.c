/* Memory that is taken from the kernel and given back in every step (rule book 8.2, minor faults). */
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "read/run.h"
#include "stats/robust.h"
#include "stepscope/counters.h"

/* Fresh pages a second of the loop's process, in half of the windows of its steady steps or more: what is taken
 * once, at the start or when a buffer grows, is none of this. NAN: not known. */
static double steady_pages(const struct patient *patient)
{
    const struct snap_windows *windows = &patient->loop->windows;
    const struct snap_resource *row =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_PROCESS_MINOR_FAULTS,
                       run_pid(patient->run, patient->loop->process));
    double known[SNAP_WINDOWS], scratch[SNAP_WINDOWS];
    size_t count = 0;

    for (size_t i = 0; row && i < windows->count; i++)
        if (isfinite(row->window[i]))
            known[count++] = row->window[i];
    return count >= FRESH_WINDOWS ? robust_median(known, count, scratch) : NAN;
}

void causes_of_fresh_memory(struct patient *patient)
{
    const char *id = "fresh-memory";
    const double per_s = steady_pages(patient), step_ns = patient->loop->step_ns.mid,
                 per_step = per_s * step_ns / 1e9;
    const struct interval share = {per_s * fresh_page_least_ns / 1e9,
                                   per_s * fresh_page_ns / 1e9,
                                   per_s * fresh_page_most_ns / 1e9};
    char pages[UNITS_SIZE];

    if (!cause_counter(patient, id, SS_COUNTER_ID_PROCESS_MINOR_FAULTS))
        return;
    if (!(share.mid >= fresh_share) &&
        !(share.high >= fresh_share && per_step >= fresh_pages_a_step))
        return;
    struct finding *finding = cause_add(
        patient, id, share.low >= stage_bands.warn ? FINDING_WARN : FINDING_INFO,
        (struct interval){fmin(1, share.low), fmin(1, share.mid), fmin(1, share.high)},
        "the step");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(
        finding->claim,
        "each step takes fresh memory from the kernel, %s pages of it, which costs "
        "some %.1f %% of the step",
        units_integer(pages, (uint64_t)per_step), 100 * fmin(1, share.mid));
    cause_text(
        finding->evidence,
        "%s of them a second, most of the time (the kernel calls them minor faults)",
        units_integer(pages, (uint64_t)per_s));
    cause_say_slow(finding, patient);
    cause_text(finding->check,
               "fewer `process.minor_faults` in the next report (--json)");
    cause_text(
        finding->unknown,
        "how long each page took (0.1 to 0.5 us are assumed), and how many of them "
        "were for other threads than the loop's");
}
