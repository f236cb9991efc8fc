/* Compute-bound as a positive claim, never what is left over (rule book 11.5): almost all of the step is
 * computing, the thread really runs then, and nothing that costs time was found. */
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"

enum { HEAVY_MOST = 3 };

/* Appends the heaviest ones, with their shares of the step: "; heaviest: Net.forward 33 %, backward 41 %". Gives
 * how many there are. */
static int say_heaviest(struct finding *finding, const struct snapshot *snapshot,
                        bool own_names, const char *title)
{
    char name[CAUSE_NAME_SIZE];
    int said = 0;

    for (size_t i = 0; i < snapshot->span_count && said < HEAVY_MOST; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        const bool is_wanted =
            own_names ? span->stage == SS_STAGE_USER : model_computes(span->stage);
        if (!is_wanted || !(span->share.mid > heavy_least))
            continue;
        cause_more(finding->evidence, "%s%s %.0f %%", said++ ? ", " : title,
                   cause_name(name, span), 100 * span->share.mid);
    }
    return said;
}

/* What the script has named lies inside of what the framework calls, so it says more. */
static void say_names(struct finding *finding, const struct patient *patient)
{
    say_heaviest(finding, patient->snapshot, false, "; heaviest: ");
    if (say_heaviest(finding, patient->snapshot, true, "; by own names: ") == 0)
        cause_text(finding->unknown, "which layer takes how much; %s",
                   advice_on_layers(patient->framework));
}

/* Why it cannot be said here; false: it can. */
static bool is_hidden(struct patient *patient, double looks)
{
    const struct snap_loop *loop = patient->loop;

    if (loop->is_asynchronous)
        cause_unobservable(
            patient, "compute-bound",
            "the device computes later than it is told to: the host only knows when it "
            "asked",
            "`stepscope run --device-events` shows what the device takes (PyTorch on "
            "CUDA)");
    else if (loop->stage[SS_STAGE_DATA].reason)
        cause_can_see(patient, "compute-bound", SS_STAGE_DATA);
    else if (looks < LOOKS_NEEDED)
        cause_unobservable(patient, "compute-bound",
                           "too few looks at whether the loop's thread really runs",
                           patient->snapshot->resources.count == 0
                               ? "start the training with `stepscope run`"
                               : "a longer run");
    else
        return false;
    return true;
}

static void add(struct patient *patient, struct interval share, double busy, double looks)
{
    struct finding *finding =
        cause_add(patient, "compute-bound", FINDING_INFO, share, "the step");

    if (!finding)
        return;
    cause_text(finding->claim,
               "computing takes %.1f %% of the step: nothing holds it back",
               100 * share.mid);
    cause_text(finding->evidence, "the loop's thread ran in %.0f %% of %.0f looks at it",
               100 * busy, looks);
    say_names(finding, patient);
    cause_text(finding->check, "`stepscope compare` of a run before and after");
}

void causes_of_compute(struct patient *patient)
{
    struct interval share = {0, 0, 0};
    double busy = 0, looks = 0;

    for (unsigned k = 0; k < SS_STAGE_COUNT; k++) {
        const struct snap_stage *stage = &patient->loop->stage[k];
        const uint64_t *seen = patient->snapshot->resources.states[k];
        if (!model_computes(k))
            continue;
        if (stage->measured && isfinite(stage->share.low)) {
            share.low += stage->share.low;
            share.mid += stage->share.mid;
            share.high += stage->share.high;
        }
        busy += (double)seen[0];
        looks += (double)(seen[0] + seen[1] + seen[2]);
    }
    for (size_t i = 0; i < patient->out->count; i++)
        if (patient->out->finding[i].severity >= FINDING_WARN)
            return;
    if (is_hidden(patient, looks))
        return;
    share.high = fmin(share.high, 1);
    if (share.low >= compute_share && busy / looks >= really_busy)
        add(patient, share, busy / looks, looks);
}
