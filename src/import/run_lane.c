#include "import/run_lane.h"

#include <stdlib.h>

#include "import/device_lane.h"
#include "import/host_stages.h"
#include "import/intervals.h"
#include "import/run_items.h"

static void add_stages(struct run_items *items, const struct stage_list *stages)
{
    for (size_t i = 0; i < stages->count; i++) {
        const struct stage_span *span = &stages->items[i];
        struct run_item *item = run_items_add(items, ITEM_SPAN, span->start_ns, span->end_ns);
        if (!item)
            return;
        item->stage = span->stage;
        item->name = run_items_name(items, span->name, (enum ss_stage)span->stage, span->is_update);
    }
}

static void add_notes(struct run_items *items, uint16_t thread)
{
    const struct span_list *notes = &items->trace->notes;

    for (size_t i = 0; i < notes->count; i++) {
        const struct host_span *note = &notes->items[i];
        if (note->thread != thread || note->end_ns <= note->start_ns)
            continue;
        struct run_item *item = run_items_add(items, ITEM_SPAN, note->start_ns, note->end_ns);
        if (!item)
            return;
        item->stage = SS_STAGE_USER;
        item->is_note = true;
        item->name = run_items_name(items, note->name, SS_STAGE_USER, false);
    }
}

/* A host that runs far ahead of its device leaves most of its work for after the steps, where it
 * would be of no step: such a run has none of it in its stages. */
static bool is_in_time(const struct trace *trace, const struct stretch *done, size_t count)
{
    const int64_t end_ns =
        trace->step_count > 0 ? trace->steps[trace->step_count - 1].end_ns : INT64_MAX;
    size_t all = 0, in_time = 0;

    for (size_t i = 0; i < count; i++) {
        all += done[i].end_ns != 0;
        in_time += done[i].end_ns != 0 && done[i].end_ns <= end_ns;
    }
    return in_time * 10 >= all * 9;
}

/* What the device did for each stage: from the begin of the first that was launched in it to the
 * end of the last, but not before it was done with the stage before. */
static void add_device_spans(struct run_items *items, const struct stage_list *stages)
{
    const struct trace *trace = items->trace;
    struct stretch *done = calloc(stages->count + 1, sizeof *done);
    uint16_t names[SS_STAGE_COUNT] = {0};
    int64_t before_ns = INT64_MIN;

    items->failed |= !done;
    for (size_t i = 0; done && i < trace->event_count; i++) {
        const struct device_event *event = &trace->events[i];
        size_t low = 0, high = stages->count;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (stages->items[middle].start_ns <= event->launch_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (event->launch_ns == TRACE_NO_TIME || low == 0 ||
            event->launch_ns > stages->items[low - 1].end_ns)
            continue;
        struct stretch *own = &done[low - 1];
        if (own->end_ns == 0)
            own->start_ns = event->start_ns;
        if (event->end_ns > own->end_ns)
            own->end_ns = event->end_ns;
    }
    const bool in_time = done && is_in_time(trace, done, stages->count);
    for (size_t i = 0; in_time && i < stages->count; i++) {
        const enum ss_stage stage = (enum ss_stage)stages->items[i].stage;
        const int64_t start_ns = done[i].start_ns > before_ns ? done[i].start_ns : before_ns;
        if (done[i].end_ns == 0 || done[i].end_ns <= start_ns)
            continue;
        struct run_item *item = run_items_add(items, ITEM_DEVICE_SPAN, start_ns, done[i].end_ns);
        if (!item)
            break;
        if (names[stage] == 0)
            names[stage] =
                run_writer_name(&items->writer, "on the device", "", stage, SS_ROLE_NONE);
        item->name = names[stage];
        item->stage = (uint8_t)stage;
        before_ns = done[i].end_ns;
    }
    free(done);
}

int run_lane_write(const struct trace *trace, const struct run_lane_place *place)
{
    const uint16_t thread = host_stages_thread(trace);
    struct run_items items;
    struct stage_list stages = {0};
    size_t count;

    if (trace->step_count > 0 && trace->steps[0].thread == TRACE_NO_THREAD)
        return device_lanes_write(trace, place);
    if (run_items_begin(&items, trace, place, trace->pid, trace->rank)) {
        const uint64_t tid = thread != TRACE_NO_THREAD ? trace->threads[thread].tid : 0;
        run_writer_thread(&items.writer, (uint32_t)tid, "");
        if (thread != TRACE_NO_THREAD) {
            host_stages_find(&stages, trace, thread);
            add_stages(&items, &stages);
            add_device_spans(&items, &stages);
            add_notes(&items, thread);
            const struct trace_step *steps = trace_steps_of(trace, 0, &count);
            run_items_steps(&items, steps, count);
        }
        items.failed |= stages.failed;
    }
    stage_list_release(&stages);
    return run_items_finish(&items);
}
