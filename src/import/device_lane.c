#include "import/device_lane.h"

#include <inttypes.h>
#include <stdio.h>

#include "import/intervals.h"
#include "import/run_items.h"

/* What a device does, of which only one thing counts at a time. */
struct doing {
    struct intervals compute, comm, copy;
};

static void release(struct doing *doing)
{
    intervals_release(&doing->compute);
    intervals_release(&doing->comm);
    intervals_release(&doing->copy);
}

static bool find_doing(struct doing *out, const struct trace *trace, uint16_t device)
{
    struct doing all = {0};
    struct intervals working = {0};

    *out = (struct doing){0};
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct device_event *event = &trace->events[i];
        if (event->device == device)
            intervals_add(event->activity == ACTIVITY_COPY   ? &all.copy
                          : event->activity == ACTIVITY_COMM ? &all.comm
                                                             : &out->compute,
                          event->start_ns, event->end_ns);
    }
    intervals_settle(&out->compute);
    intervals_settle(&all.comm);
    intervals_settle(&all.copy);
    intervals_subtract(&out->comm, &all.comm, &out->compute);
    intervals_unite(&working, &out->compute, &all.comm);
    intervals_subtract(&out->copy, &all.copy, &working);
    const bool failed = out->copy.failed || out->comm.failed;
    intervals_release(&working);
    release(&all);
    return !failed;
}

/* In a step only: the model gives what is outside to nothing. */
static void add_spans(struct run_items *items, const struct intervals *set, enum ss_stage stage,
                      const struct trace_step *steps, size_t count)
{
    for (size_t i = 0, step = 0; i < set->count; i++) {
        const struct stretch *one = &set->items[i];
        while (step < count && steps[step].end_ns <= one->start_ns)
            step++;
        for (size_t k = step; k < count && steps[k].start_ns < one->end_ns; k++) {
            const int64_t start_ns =
                one->start_ns > steps[k].start_ns ? one->start_ns : steps[k].start_ns;
            const int64_t end_ns = one->end_ns < steps[k].end_ns ? one->end_ns : steps[k].end_ns;
            struct run_item *item = run_items_add(items, ITEM_SPAN, start_ns, end_ns);
            if (!item)
                return;
            item->stage = (uint8_t)stage;
            item->name = run_items_name(items, TRACE_NO_NAME, stage, false);
        }
    }
}

static int write_device(const struct trace *trace, const struct run_lane_place *place,
                        uint16_t device, int64_t rank)
{
    struct run_items items;
    struct doing doing = {0};
    char name[32];
    size_t count;
    const struct trace_step *steps = trace_steps_of(trace, device, &count);

    /* Its own process: devices of one host share that of the trace. */
    if (run_items_begin(&items, trace, place, 0, rank)) {
        snprintf(name, sizeof name, "GPU %" PRId64, trace->devices[device].id);
        run_writer_thread(&items.writer, 0, name);
        items.failed |= !find_doing(&doing, trace, device);
        add_spans(&items, &doing.compute, SS_STAGE_COMPUTE, steps, count);
        add_spans(&items, &doing.comm, SS_STAGE_COMM, steps, count);
        add_spans(&items, &doing.copy, SS_STAGE_TRANSFER, steps, count);
        run_items_steps(&items, steps, count);
    }
    release(&doing);
    return run_items_finish(&items);
}

int device_lanes_write(const struct trace *trace, const struct run_lane_place *place)
{
    unsigned replicas = 0;
    int failed = 0;
    size_t count;

    for (uint16_t i = 0; i < trace->device_count; i++)
        replicas += trace_steps_of(trace, i, &count) != NULL;
    /* Replicas are ranks, those of further traces too. */
    const bool has_ranks = replicas > 1 || *place->processes > 0;
    for (uint16_t i = 0; i < trace->device_count && failed == 0; i++)
        if (trace_steps_of(trace, i, &count))
            failed = write_device(trace, place, i, has_ranks ? (int64_t)*place->processes : -1);
    return failed;
}
