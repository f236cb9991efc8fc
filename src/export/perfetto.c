/* A trace for ui.perfetto.dev: each process with its threads and their spans, a track of steps for
 * each loop, counters, marks. Names are written once, then referred to by number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/perfetto_packet.h"
#include "export/perfetto_parts.h"
#include "export/run_walk.h"

enum { PID_STEP = 1 << 22 }; /* the kernel gives no number from here on */

struct process_track {
    uint64_t track;
    int32_t pid;
};

struct perfetto {
    const struct export_job *job;
    struct sink *out;
    uint64_t next_track;
    struct process_track *processes;
    struct perfetto_lane *lanes;
    size_t process_count, lane_count;
    uint64_t *loop_tracks;
    struct perfetto_names names;
    struct counter_tracks counters;
    int error;
};

/* Processes of two hosts may have the same number, which would make them one. */
static int32_t own_pid(const struct perfetto *trace, size_t process)
{
    int32_t pid = (int32_t)(ss_run_process(trace->job->run, process)->pid % PID_STEP);
    bool taken = true;

    while (taken && pid < INT32_MAX - PID_STEP) {
        taken = false;
        for (size_t i = 0; i < process && !taken; i++)
            taken = trace->processes[i].pid == pid;
        pid += taken ? PID_STEP : 0;
    }
    return pid;
}

static void name_process(struct buf *out, const struct ss_run *run, size_t process)
{
    const struct ss_process *facts = ss_run_process(run, process);
    const struct ss_text command = ss_run_info(run, process, "command");

    if (facts->kind == SS_PROCESS_SUPERVISOR) {
        buf_add_text(out, "machine");
        return;
    }
    if (facts->rank >= 0)
        buf_printf(out, "rank %d: ", facts->rank);
    text_safe(out, command.data, command.size);
}

static void put_processes(struct perfetto *trace)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        struct process_track *process = &trace->processes[i];
        struct buf name = {0};
        process->track = trace->next_track++;
        process->pid = own_pid(trace, i);
        name_process(&name, trace->job->run, i);
        packet_process(trace->out, process->track, process->pid, buf_text(&name));
        buf_release(&name);
    }
}

static void put_loop(struct perfetto *trace, const struct snap_loop *loop, size_t number)
{
    struct buf name = {0};

    buf_printf(&name, "steps of loop %zu", number);
    if (loop->name[0]) {
        buf_add_text(&name, ", ");
        text_safe(&name, loop->name, strlen(loop->name));
    }
    trace->loop_tracks[number] = trace->next_track++;
    packet_track(trace->out, trace->loop_tracks[number], trace->processes[loop->process].track,
                 buf_text(&name));
    buf_release(&name);
}

static void begin(void *context, const struct snapshot *snapshot)
{
    struct perfetto *trace = context;

    trace->loop_tracks = calloc(snapshot->loop_count + 1, sizeof *trace->loop_tracks);
    if (!trace->loop_tracks) {
        trace->error = SS_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < snapshot->loop_count; i++)
        put_loop(trace, &snapshot->loops[i], i);
}

static void add_step(void *context, const struct run_walk_step *step)
{
    struct perfetto *trace = context;
    const struct model_step *own = step->step;
    char name[64];

    if (step->loop == SIZE_MAX || trace->error)
        return;
    if (own->steps > 1)
        snprintf(name, sizeof name, "steps %" PRId64 " to %" PRId64, own->number,
                 own->number + own->steps - 1);
    else
        snprintf(name, sizeof name, "step %" PRId64, own->number);
    struct packet_event event = {
        .track = trace->loop_tracks[step->loop],
        .time_ns = own->start_ns,
        .stage = -1,
        .text = name,
        .notes = {{.name = NOTE_STEP, .value = own->number},
                  {.name = NOTE_STEPS, .value = own->steps},
                  {.name = NOTE_PART, .text = run_walk_part_text(step->part)},
                  {.name = NOTE_TIME, .value = own->time_ns}}};
    if (own->epoch >= 0)
        event.notes[4] = (struct packet_note){.name = NOTE_EPOCH, .value = own->epoch};
    packet_begin(trace->out, &event);
    packet_end(trace->out, event.track, own->end_ns);
}

/* Moved as the number of its process; 0: not known. */
static int32_t own_tid(const struct process_track *process, uint32_t tid)
{
    return tid == 0 ? 0 : (int32_t)(tid % PID_STEP) + process->pid / PID_STEP * PID_STEP;
}

static void add_to_lane(struct perfetto *trace, uint32_t process, const struct ss_record *record)
{
    if (record->lane >= trace->lane_count)
        return;
    struct perfetto_lane *lane = &trace->lanes[record->lane];
    if (!lane->in_use || lane->owner != record->owner) {
        const struct process_track *around = &trace->processes[process];
        perfetto_lane_begin(lane, &trace->names, record, around->track, around->pid,
                            own_tid(around, record->tid));
    }
    if (record->kind != SS_KIND_THREAD_BEGIN)
        perfetto_lane_add(lane, &trace->names, process, record);
}

static void add_record(void *context, uint32_t process, const struct ss_record *record)
{
    struct perfetto *trace = context;

    if (process >= trace->process_count || trace->error)
        return;
    switch (record->kind) {
    case SS_KIND_SPAN:
    case SS_KIND_MARK:
    case SS_KIND_PERTURBED:
    case SS_KIND_LOST:
    case SS_KIND_THREAD_BEGIN:
        add_to_lane(trace, process, record);
        break;
    case SS_KIND_COUNTER:
    case SS_KIND_SYSTEM:
        counter_tracks_add(&trace->counters, process, trace->processes[process].track, record);
        break;
    default:
        break;
    }
}

static void put_start(const struct perfetto *trace)
{
    const struct ss_process *first =
        trace->process_count > 0 ? ss_run_process(trace->job->run, 0) : NULL;

    packet_start(trace->out, first ? first->start_ns : 0, first ? first->start_realtime_ns : 0);
}

static int init(struct perfetto *trace)
{
    struct ss_run *run = trace->job->run;

    trace->next_track = 1;
    trace->process_count = ss_run_processes(run);
    trace->lane_count = ss_run_lanes(run);
    trace->processes = calloc(trace->process_count + 1, sizeof *trace->processes);
    trace->lanes = calloc(trace->lane_count + 1, sizeof *trace->lanes);
    trace->names =
        (struct perfetto_names){.out = trace->out, .run = run, .next_track = &trace->next_track};
    const int failed = counter_tracks_init(&trace->counters, trace->out, run, &trace->next_track);
    return trace->processes && trace->lanes ? failed : SS_E_NOMEM;
}

static void release(struct perfetto *trace)
{
    for (size_t i = 0; trace->lanes && i < trace->lane_count; i++)
        perfetto_lane_release(&trace->lanes[i]);
    name_slots_release(&trace->names.slots);
    counter_tracks_release(&trace->counters);
    free(trace->loop_tracks);
    free(trace->lanes);
    free(trace->processes);
}

static int write_trace(const struct export_job *job, struct sink *out)
{
    struct perfetto trace = {.job = job, .out = out};
    const struct run_walk_reader reader = {
        .context = &trace, .out = out, .begin = begin, .record = add_record, .step = add_step};
    int failed = init(&trace);

    if (!failed) {
        put_start(&trace);
        put_processes(&trace);
        failed = run_walk_steps(job, &reader);
    }
    if (!failed)
        failed = trace.error;
    release(&trace);
    return failed;
}

const struct export_format export_perfetto = {
    .name = "perfetto",
    .summary = "a trace for ui.perfetto.dev: threads, steps, counters",
    .is_binary = true,
    .write = write_trace,
};
