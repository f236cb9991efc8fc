/* What operations tell that a framework's own profiler has watched: many that are tiny, and copies
 * (method 11.18). */
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"
#include "load/operation_list.h"

/* An operation that takes less than this itself is mostly its own dispatch, which takes some 1 to 5
 * us in PyTorch; this many per step, and this part of the operations' time in them (ours). */
static const double tiny_ns = 10e3, tiny_calls = 200, tiny_share = 0.5;
/* Of the step. Both are upper bounds, hence more than usual (ours). */
static const struct bands tiny_bands = {0.2, 0.4, 1}, copy_bands = {0.05, 0.1, 0.4};

/* The stages that operations are in: their part of a steady step. */
static double computing_share(const struct snap_loop *loop)
{
    static const unsigned stages[] = {SS_STAGE_FORWARD, SS_STAGE_BACKWARD, SS_STAGE_OPTIMIZER};
    double share = 0;

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (loop->stage[stages[i]].measured && isfinite(loop->stage[stages[i]].share.mid))
            share += loop->stage[stages[i]].share.mid;
    return share < 1 ? share : 1;
}

static bool is_in_stages(const struct operation *operation)
{
    return operation->pass == PASS_FORWARD || operation->pass == PASS_BACKWARD ||
           operation->pass == PASS_OPTIMIZER;
}

/* Scopes have names of a script or an optimizer: none is an operation of the library. */
static bool is_operation(const struct operation *operation)
{
    return strstr(operation->name, "::") || strstr(operation->name, "Backward");
}

static bool is_tiny(const struct operation *operation)
{
    return is_operation(operation) &&
           (double)operation->self_ns < tiny_ns * (double)operation->calls;
}

static bool is_copy(const struct operation *operation)
{
    static const char *const names[] = {"aten::copy_", "aten::_to_copy", "aten::to",
                                        "aten::contiguous", "aten::clone"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(operation->name, names[i]) == 0)
            return true;
    return false;
}

/* Of forward, backward and optimizer; `all_ns` and `all_calls` are without what `is_wanted` says.
 */
struct part {
    double ns, calls, all_ns, all_calls;
};

static struct part part_of(const struct operation_list *list,
                           bool (*is_wanted)(const struct operation *operation))
{
    struct part part = {0};

    for (size_t i = 0; i < list->count; i++) {
        const struct operation *operation = &list->items[i];
        if (!is_in_stages(operation))
            continue;
        part.all_ns += (double)operation->self_ns;
        part.all_calls += is_operation(operation) ? (double)operation->calls : 0;
        if (is_wanted(operation)) {
            part.ns += (double)operation->self_ns;
            part.calls += (double)operation->calls;
        }
    }
    part.calls /= (double)list->steps;
    part.all_calls /= (double)list->steps;
    return part;
}

/* Whether there is anything to look at; if not, that is said where it could be. */
static bool can_see(struct diagnosis_input *input, enum finding_id id)
{
    if (input->operations && input->operations->count > 0 && input->operations->steps > 0)
        return true;
    if (is_on_torch(input->framework))
        cause_unobservable(input, id, "which operations take the time was not measured",
                           "`stepscope run --ops`");
    return false;
}

static struct finding *add_bound(struct diagnosis_input *input, enum finding_id id, double share,
                                 struct bands bands)
{
    if (!(share >= bands.info))
        return NULL;
    struct finding *finding = cause_add(input, id,
                                        share >= bands.high   ? FINDING_HIGH
                                        : share >= bands.warn ? FINDING_WARN
                                                              : FINDING_INFO,
                                        (struct interval){0, share, share}, OF_STEP);
    if (finding)
        finding->kind = SHARE_BOUND;
    return finding;
}

static void find_tiny(struct diagnosis_input *input)
{
    if (!can_see(input, FINDING_DISPATCH_BOUND))
        return;
    const struct part tiny = part_of(input->operations, is_tiny);
    if (tiny.calls < tiny_calls || tiny.ns < tiny_share * tiny.all_ns)
        return;
    const double share = tiny.ns / tiny.all_ns * computing_share(input->loop);
    struct finding *finding = add_bound(input, FINDING_DISPATCH_BOUND, share, tiny_bands);
    if (!finding)
        return;
    cause_text(finding->claim, "a step is %.0f tiny operations: calling them takes the time",
               tiny.calls);
    cause_text(
        finding->evidence,
        "%.0f of %.0f calls per step take %.1f us themselves on average, %.0f %% of all that operations take",
        tiny.calls, tiny.all_calls, tiny.ns / tiny.calls / (double)input->operations->steps / 1e3,
        100 * tiny.ns / tiny.all_ns);
    cause_text(finding->check, "calls in the section Operations of the next report");
    cause_text(finding->unknown,
               "how much of a tiny operation is work; the profiler makes each 0.3 us longer");
}

static void find_copies(struct diagnosis_input *input)
{
    if (!can_see(input, FINDING_COPIES_AND_CASTS))
        return;
    const struct part copies = part_of(input->operations, is_copy);
    if (!(copies.all_ns > 0))
        return;
    const double share = copies.ns / copies.all_ns * computing_share(input->loop);
    struct finding *finding = add_bound(input, FINDING_COPIES_AND_CASTS, share, copy_bands);
    if (!finding)
        return;
    cause_text(finding->claim, "copies and casts of tensors take up to %.1f %% of the step",
               100 * share);
    cause_text(
        finding->evidence,
        "%.0f calls per step of copy_, to, contiguous and clone take %.0f %% of all that operations take",
        copies.calls, 100 * copies.ns / copies.all_ns);
    cause_text(finding->check, "aten::copy_ in the section Operations of the next report");
    cause_text(finding->unknown, "which of them are needed");
}

const struct finding_kind finding_dispatch_bound = {
    .name = "dispatch-bound",
    .gist = "a step is many tiny operations, and calling them takes time",
    .find = find_tiny,
    .said = {{&tiny_bands, OF_STEP, ""}},
    .ends = {{"", "upper bound: a part of each tiny operation is work"}},
    .advice = "torch.compile(model), a larger batch, an optimizer with fused=True or foreach=True",
    .given = "always",
    .meaning =
        "The step consists of many tiny operations, and calling them takes more time than what they compute.",
    .computed =
        "At least 200 operations per step take less than 10 us themselves on average, and these are at least half of the time of all operations. The share is theirs of forward, backward and optimizer. Only where PyTorch's profiler watched some steps (`run --ops`).",
    .fixes = "A compiler that fuses operations, a larger batch, a fused optimizer.",
};

const struct finding_kind finding_copies_and_casts = {
    .name = "copies-and-casts",
    .gist = "tensors are copied or cast for much of the step",
    .find = find_copies,
    .said = {{&copy_bands, OF_STEP, ""}},
    .ends = {{"", "upper bound: some copies are needed"}},
    .advice =
        "one dtype and layout from the start: torch.autocast() around the step instead of .to(dtype) in it, channels_last for model and batches alike, no .clone() or .contiguous() in forward()",
    .given = "always",
    .meaning = "Much of the step goes to copying tensors, or to changing their type or layout.",
    .computed =
        "What copy_, _to_copy, to, contiguous and clone take themselves, as a part of all operations of forward, backward and optimizer. Only where PyTorch's profiler watched some steps (`run --ops`).",
    .fixes = "One type and layout for the whole model, and no copies that are not needed.",
};
