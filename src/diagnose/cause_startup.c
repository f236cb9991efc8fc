/* The time before the first step: imports, reading data, building the model (method 11.7). */
#include <math.h>

#include "diagnose/causes.h"
#include "render/units.h"

/* Of the run, by what may surely go. Some seconds are not worth a word, and a trial of half a
 * minute has much of it by nature (ours). */
static const struct bands startup_bands = {0.05, 0.15, 0.3};
static const double startup_said_ns = 5e9, startup_warns_ns = 30e9;
/* Half of it may have to be (ours). */
static const double startup_surely = 0.5;

static void find_startup(struct diagnosis_input *input)
{
    const struct snap_thread *thread =
        input->snapshot->thread_count ? input->snapshot->threads : NULL;
    const int64_t ns = thread ? thread->segment_ns[SEGMENT_STARTUP_NS] : 0;

    if (!thread || (double)ns < startup_said_ns)
        return;
    const double share = fmin(1, (double)ns / (double)thread->wall_ns);
    struct finding *finding = cause_add_share(
        input, FINDING_STARTUP_HEAVY, (struct interval){share * startup_surely, share, share},
        startup_bands, OF_RUN);
    char took[UNITS_SIZE], all[UNITS_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if ((double)ns < startup_warns_ns)
        finding->severity = FINDING_INFO;
    cause_text(finding->claim, "the run takes %.0f %% of its time to start", 100 * share);
    cause_text(finding->evidence, "%s of %s before the first step", units_duration(took, ns),
               units_duration(all, thread->wall_ns));
    cause_say_outside(finding, input, ns);
    cause_text(finding->check, "the row startup of 'Run breakdown' should shrink");
    cause_text(finding->unknown, "how much of it has to be: imports, and what is needed only once");
}

const struct finding_kind finding_startup_heavy = {
    .name = "startup-heavy",
    .gist = "the run spends much of its time before the first step",
    .needs = NEEDS_STEPS,
    .find = find_startup,
    .said = {{&startup_bands, OF_RUN, "by half of it"}},
    .ends = {{"", "estimate: half of the time before the first step to all of it"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "keep what the script prepares at its start in a file, and import less (python -X importtime)",
            [FRAMEWORK_TORCH] =
                "keep what the script prepares at its start in a file (torch.save, np.save), read data when it is needed, and import less (python -X importtime)",
            [FRAMEWORK_KERAS] =
                "keep what the script prepares at its start in a file (dataset.save(), np.save), read data when it is needed, and import less (python -X importtime)",
            [FRAMEWORK_JAX] =
                "keep what the script prepares at its start in a file (np.save), read data when it is needed, and import less (python -X importtime)",
        },
    .given = "always",
    .meaning =
        "Much of the run passes before the first step: importing, reading and preparing data, building the model.",
    .computed =
        "The segment startup of the loop thread, without compilation. Half of it is taken as what may go: reported if that is 5 % of the run or more, a warning at 15 %, high at 30 %; below 30 seconds it is no warning, below 5 it is not reported. "
        "Where it goes is known from stack samples outside steps.",
    .fixes = "Prepared data in a file, lazy reading, fewer imports.",
};
