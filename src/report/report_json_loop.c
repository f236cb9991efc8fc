/* One loop as JSON. */
#include <math.h>
#include <stdio.h>

#include "report/metrics.h"
#include "report/report_arms.h"
#include "report/report_json.h"
#include "report/report_parts.h"

void report_json_books(struct json *json, int64_t wall_ns, const int64_t *segment_ns)
{
    char key[32];

    json_begin_object(json, "books");
    json_int(json, "wall_ns", wall_ns);
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        snprintf(key, sizeof key, "%s_ns", model_segment_text(i));
        json_int(json, key, segment_ns[i]);
    }
    json_end_object(json);
}

void report_json_pair(struct json *json, const char *key, double low, double high)
{
    json_begin_array(json, key);
    json_double(json, NULL, low);
    json_double(json, NULL, high);
    json_end_array(json);
}

void report_json_interval(struct json *json, const char *key, const char *ci_key,
                          struct interval interval)
{
    json_double(json, key, interval.mid);
    report_json_pair(json, ci_key, interval.low, interval.high);
}

const char *report_json_class_text(enum warmup_class class)
{
    static const char *const texts[] = {
        [WARMUP_TOO_FEW] = "too_few",           [WARMUP_FLAT] = "flat",
        [WARMUP_SLOWER_FIRST] = "slower_first", [WARMUP_FASTER_FIRST] = "faster_first",
        [WARMUP_DRIFTING] = "drifting",         [WARMUP_NO_STEADY_STATE] = "no_steady_state",
    };

    return texts[class];
}

/* Every step is in one of three: warm-up, steady, or in no statistics. */
static void put_steps(struct json *json, const struct snap_loop *loop)
{
    json_begin_object(json, "steps");
    json_int(json, "count", loop->steps);
    json_int(json, "warmup", loop->warmup_steps);
    json_int(json, "left_out", loop->steps - loop->warmup_steps - loop->steady_steps);
    json_bool(json, "asynchronous", loop->is_asynchronous);
    json_int(json, "parts", loop->parts);
    json_string(json, "source", model_source_text(loop->source));
    json_string(json, "warmup_class", report_json_class_text(loop->warmup.class));
    json_int(json, "warmup_ns", loop->warmup_ns);
    json_double(json, "warmup_cost_ns", loop->warmup.cost_ns);
    json_int(json, "missing",
             loop->warmup.class == WARMUP_TOO_FEW ? snapshot_steps_missing(loop) : 0);
    json_int(json, "updates", loop->updates);
    json_int(json, "batches", loop->batches);
    if (loop->samples > 0)
        json_int(json, "samples", loop->samples);
    else
        json_null(json, "samples");
    json_begin_object(json, "steady");
    metrics_json(json, &metrics_steady, loop);
    json_end_object(json);
    json_end_object(json);
}

static void put_stages(struct json *json, const struct snap_loop *loop)
{
    json_begin_object(json, "stages");
    REPORT_FOR_STAGES(number)
    {
        const struct snap_stage *stage = &loop->stage[number];
        if (!stage->measured) {
            json_null(json, ss_stage_text((unsigned)number));
            continue;
        }
        json_begin_object(json, ss_stage_text((unsigned)number));
        metrics_json(json, &metrics_stage, stage);
        metrics_json(json, &metrics_quantiles, &stage->quantiles);
        json_end_object(json);
    }
    json_end_object(json);
}

/* What a device took for the calls of a stage, beside the step; and what an imported trace says of
 * devices. */
static void put_device(struct json *json, const struct snap_loop *loop,
                       const struct device_table *imported)
{
    bool is_known = imported != NULL;

    if (imported) {
        json_begin_object(json, "device");
        report_json_devices(json, imported);
    }
    REPORT_FOR_STAGES(number)
    {
        const struct interval share = loop->device[number];
        if (!(share.mid > 0))
            continue;
        if (!is_known)
            json_begin_object(json, "device");
        is_known = true;
        json_begin_object(json, ss_stage_text((unsigned)number));
        json_double(json, "mean_ns", share.mid * loop->step_ns.mid);
        report_json_interval(json, "share", "share_ci", share);
        json_end_object(json);
    }
    if (is_known)
        json_end_object(json);
    else
        json_null(json, "device");
}

/* Why a stage was not measured, or may have been less than it is given as, where that is known. */
static void put_reasons(struct json *json, const char *key, const struct snap_loop *loop,
                        bool is_measured)
{
    json_begin_array(json, key);
    REPORT_FOR_STAGES(number)
    {
        const struct snap_stage *stage = &loop->stage[number];
        const char *reason = is_measured ? stage->at_most : stage->reason;
        if (stage->measured != is_measured || !reason)
            continue;
        json_begin_object(json, NULL);
        json_string(json, "stage", ss_stage_text((unsigned)number));
        json_string(json, "reason", reason);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_throughput(struct json *json, const struct snap_loop *loop)
{
    json_begin_object(json, "throughput");
    metrics_json(json, &metrics_throughput, loop);
    json_end_object(json);
}

static void put_slowest(struct json *json, const struct snap_loop *loop)
{
    json_begin_array(json, "slowest");
    for (int i = 0; i < loop->slow_count; i++) {
        const struct slow_step *slow = &loop->slowest[i];
        json_begin_object(json, NULL);
        json_int(json, "step", slow->number);
        json_int(json, "start_ns", slow->start_ns);
        json_int(json, "time_ns", slow->time_ns);
        json_begin_object(json, "stages_ns");
        REPORT_FOR_STAGES(stage)
        if (loop->stage[stage].measured)
            json_int(json, ss_stage_text((unsigned)stage), slow->stage_ns[stage]);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_change(struct json *json, const struct snap_loop *loop)
{
    static const char *const kinds[] = {
        [CHANGE_NONE] = "none", [CHANGE_DRIFT] = "drift", [CHANGE_SHIFT] = "shift"};
    const struct change *change = &loop->change;

    json_begin_object(json, "change");
    json_string(json, "kind", kinds[change->kind]);
    json_double(json, "trend",
                change->kind == CHANGE_DRIFT ? diagnosis_trend(loop) : change->trend);
    json_begin_array(json, "shifts");
    for (size_t i = 0; i < change->shift_count; i++) {
        json_begin_object(json, NULL);
        json_int(json, "step", loop->shift_step[i]);
        json_double(json, "before_ns", change->shifts[i].before);
        json_double(json, "after_ns", change->shifts[i].after);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    json_begin_array(json, "periods");
    for (int i = 0; i < loop->periods; i++) {
        json_begin_object(json, NULL);
        json_int(json, "steps", loop->period[i].steps);
        json_int(json, "first", loop->period[i].first);
        json_uint(json, "places", loop->period[i].places);
        json_uint(json, "hits", loop->period[i].hits);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_plan(struct json *json, const struct snap_loop *loop)
{
    static const char *const keys[] = {"steps", "epochs", "steps_per_epoch", "batch"};

    json_begin_object(json, "plan");
    for (int i = 0; i < 4; i++)
        if (loop->plan[i] > 0)
            json_uint(json, keys[i], loop->plan[i]);
        else
            json_null(json, keys[i]);
    report_json_interval(json, "left_ns", "left_ci_ns", loop->left_ns);
    json_end_object(json);
}

static void put_epochs(struct json *json, const struct snap_loop *loop)
{
    json_int(json, "epochs_seen", loop->epochs_seen);
    json_begin_array(json, "epochs");
    for (size_t i = 0; i < loop->epoch_count; i++) {
        const struct snap_epoch *epoch = &loop->epochs[i];
        json_begin_object(json, NULL);
        json_int(json, "epoch", epoch->number);
        json_int(json, "start_ns", epoch->start_ns);
        if (epoch->end_ns > 0)
            json_int(json, "wall_ns", epoch->end_ns - epoch->start_ns);
        else
            json_null(json, "wall_ns");
        json_int(json, "steps", epoch->steps);
        json_int(json, "step_ns", epoch->step_ns);
        json_int(json, "eval_ns", epoch->eval_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_parts(struct json *json, const struct snap_loop *loop)
{
    json_begin_array(json, "parts");
    for (size_t i = 0; i < loop->part_count; i++) {
        const struct snap_part *part = &loop->part[i];
        json_begin_object(json, NULL);
        json_int(json, "part", part->number);
        json_int(json, "start_ns", part->start_ns);
        if (part->end_ns > 0)
            json_int(json, "wall_ns", part->end_ns - part->start_ns);
        else
            json_null(json, "wall_ns");
        json_int(json, "steps", part->steps);
        json_int(json, "step_ns", part->step_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

/* What is known of a loop that was not there: nothing. */
static struct snap_loop no_loop(void)
{
    const struct interval unknown = {NAN, NAN, NAN};
    const struct snap_quantiles none = {NAN, NAN, NAN, NAN, NAN, 0};

    return (struct snap_loop){.step_ns = unknown,
                              .steps_per_s = unknown,
                              .samples_per_s = unknown,
                              .batches_per_s = unknown,
                              .bytes_per_s = unknown,
                              .overall_steps_per_s = NAN,
                              .left_ns = unknown,
                              .quantiles = none,
                              .mad_ns = NAN,
                              .spike_tax = NAN,
                              .max_step = -1};
}

void report_json_loop(struct json *json, const struct snap_loop *loop,
                      const struct device_table *imported)
{
    const struct snap_loop none = no_loop();

    loop = loop ? loop : &none;
    put_steps(json, loop);
    put_stages(json, loop);
    put_device(json, loop, imported);
    put_reasons(json, "not_measured", loop, false);
    put_reasons(json, "upper_bounds", loop, true);
    report_json_layers(json, &loop->layers);
    if (loop->arms.count > 0)
        report_json_arms(json, &loop->arms);
    put_throughput(json, loop);
    put_slowest(json, loop);
    put_change(json, loop);
    put_plan(json, loop);
    put_epochs(json, loop);
    put_parts(json, loop);
}
