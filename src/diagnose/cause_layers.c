/* One layer that most of the computing goes to (method 11.19). */
#include <math.h>

#include "diagnose/causes.h"

/* Of forward, backward and compute; and of how many layers it is one, at least (ours). */
static const double hot_part = 0.4;
enum { HOT_AMONG = 4 };

/* Layers that call no other one. */
static const struct snap_layer *find_heaviest(const struct snap_layers *layers, size_t *count)
{
    const struct snap_layer *heaviest = NULL;

    *count = 0;
    for (size_t i = 0; i < layers->count; i++) {
        const struct snap_layer *layer = &layers->rows[i];
        if (layer->is_inner || !(layer->share.mid > 0))
            continue;
        ++*count;
        if (!heaviest || layer->share.mid > heaviest->share.mid)
            heaviest = layer;
    }
    return heaviest;
}

/* Of the step: what layers divide. */
static double divided_share(const struct snap_loop *loop)
{
    static const unsigned stages[] = {SS_STAGE_FORWARD, SS_STAGE_BACKWARD, SS_STAGE_COMPUTE};
    double share = 0;

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct snap_stage *stage = &loop->stage[stages[i]];
        if (stage->measured && isfinite(stage->share.mid))
            share += stage->share.mid;
    }
    return share;
}

static void say(struct finding *finding, const struct snap_loop *loop,
                const struct snap_layer *layer, double whole)
{
    const double both_ns = layer->forward_ns + layer->backward_ns;

    finding->kind = SHARE_BOUND;
    cause_text(finding->claim, "%s (%s) alone takes %.0f %% of forward and backward", layer->path,
               layer->kind, 100 * layer->share.mid / whole);
    cause_text(finding->evidence, "%.1f %% of the step, sampled %lld times", 100 * layer->share.mid,
               (long long)loop->layers.stretches);
    if (loop->layers.no_backward)
        cause_more(finding->evidence, "; only its forward part is known");
    else
        cause_more(finding->evidence, "; %.0f %% of its time is forward, %.0f %% backward",
                   100 * layer->forward_ns / both_ns, 100 * layer->backward_ns / both_ns);
    cause_more(finding->evidence, "; called %.3g times per step", layer->calls);
    cause_text(finding->check,
               "`stepscope compare` a run before with a run after: it shows which layers changed");
}

static void find_hot(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    const double whole = divided_share(loop);
    size_t count;
    const struct snap_layer *layer = find_heaviest(&loop->layers, &count);

    if (!layer || count < HOT_AMONG || !(whole > 0) || !(layer->share.mid / whole >= hot_part))
        return;
    if (!isfinite(layer->share.high)) {
        cause_unobservable(input, FINDING_HOT_LAYER, "layers were sampled fewer than 20 times",
                           "a longer run");
        return;
    }
    if (layer->share.low / whole < hot_part)
        return;
    struct finding *finding =
        cause_add(input, FINDING_HOT_LAYER, FINDING_INFO, layer->share, OF_STEP);
    if (finding)
        say(finding, loop, layer, whole);
}

const struct finding_kind finding_hot_layer = {
    .name = "hot-layer",
    .gist = "one layer takes most of forward and backward",
    .find = find_hot,
    .ends = {{"", "upper bound: what the layer takes is the most that a faster one can save"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "make this layer cheaper before any other one",
            [FRAMEWORK_TORCH] =
                "make this layer cheaper before any other one: layer.compile(), torch.autocast(device, torch.bfloat16), fewer or narrower units, torch.utils.checkpoint only around others",
            [FRAMEWORK_KERAS] =
                "make this layer cheaper before any other one: compile(jit_compile=True), fewer or narrower units, keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")",
            [FRAMEWORK_JAX] = "make this layer cheaper before any other one",
        },
    .given = "always",
    .meaning = "One layer takes most of the time of forward and backward; the others do not matter "
               "until it is faster.",
    .computed =
        "At least 40 % of forward and backward are in one layer that calls no other one, by the lower end of its interval, in a model with four such layers or more. "
        "Layers are sampled; the interval needs 20 samples.",
    .fixes = "A cheaper layer of its kind, a compiler or lower precision for it.",
};
