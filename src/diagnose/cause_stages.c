/* Stages that are a wait or a loss by themselves: their exposed share of the step (rule book 2, 12). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "stepscope/counters.h"

void cause_say_stage(struct finding *finding, const struct patient *patient,
                     unsigned stage, const char *what)
{
    const struct snap_stage *found = &patient->loop->stage[stage];
    char mean[UNITS_SIZE], step[UNITS_SIZE], p99[UNITS_SIZE];

    cause_text(finding->claim, "%s %.1f %% of the step", what, 100 * found->share.mid);
    cause_text(finding->evidence, "%s of %s a step",
               units_duration(mean, (int64_t)found->mean_ns),
               units_duration(step, (int64_t)patient->loop->step_ns.mid));
    if (isfinite(found->quantiles.p99_ns) && patient->loop->steady_steps >= P99_CALLS)
        cause_more(finding->evidence, ", p99 %s",
                   units_duration(p99, (int64_t)found->quantiles.p99_ns));
}

void cause_say_line(struct finding *finding, const struct patient *patient,
                    unsigned stage)
{
    const struct snap_hot_line *line = cause_hot_line(patient, stage);

    if (line)
        cause_more(finding->evidence, "; %.0f %% of it at %s:%" PRIu32 " (%s)",
                   100 * line->share.mid, line->at.file, line->at.line,
                   line->at.function);
}

/* On a device that works later than it is told to, whoever asks for a result waits for the work too: it is
 * no loss unless the device has nothing to do at other times (rule book 3.2). */
static void weigh_sync(struct finding *finding, const struct patient *patient)
{
    if (!patient->loop->is_asynchronous && patient->loop->source != SOURCE_JIT)
        return;
    if (!(cause_device_busy(patient) < gpu_working))
        finding->severity = FINDING_INFO;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(
        finding->unknown,
        "how much of the wait is the device's own work, which has to be done anyway");
}

void causes_of_stages(struct patient *patient)
{
    static const struct {
        unsigned stage;
        const char *id, *what, *check;
    } stages[] = {{SS_STAGE_TRANSFER, "transfer-bound", "copies to the device take",
                   "the row transfer of 'The step by stage' gets smaller"},
                  {SS_STAGE_SYNC, "sync-bound", "waiting for the device takes",
                   "steps a second with the reads left out once"},
                  {SS_STAGE_COMM, "comm-bound",
                   "communication between the processes that train together takes",
                   "one process alone shows a step without it"},
                  {SS_STAGE_GC, "gc-pauses", "Python's garbage collector takes",
                   "the row gc of 'The step by stage' is gone"},
                  {SS_STAGE_SETUP, "setup-heavy",
                   "making iterators and workers of the input takes",
                   "the row setup of 'The step by stage' is gone"}};

    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        if (!cause_can_see(patient, stages[i].id, stages[i].stage))
            continue;
        struct finding *finding = cause_add_share(
            patient, stages[i].id, patient->loop->stage[stages[i].stage].share,
            stage_bands, "the step");
        if (!finding)
            continue;
        cause_say_stage(finding, patient, stages[i].stage, stages[i].what);
        finding->leaves_cold =
            stages[i].stage == SS_STAGE_GC || cause_may_wait(patient, stages[i].stage);
        cause_say_line(finding, patient, stages[i].stage);
        cause_text(finding->check, "%s", stages[i].check);
        if (stages[i].stage == SS_STAGE_SYNC)
            weigh_sync(finding, patient);
        else if (stages[i].stage != SS_STAGE_COMM)
            cause_weigh_host(finding, patient);
    }
}
