#include "report/tally.h"

#include <stdlib.h>
#include <string.h>

#include "read/run.h"

static void add(uint64_t *sum, uint64_t more)
{
    *sum = more > INT64_MAX - *sum ? INT64_MAX : *sum + more;
}

uint64_t tally_difference(ss_ns a, ss_ns b)
{
    uint64_t difference = a > b ? (uint64_t)a - (uint64_t)b : 0;

    return difference < INT64_MAX ? difference : INT64_MAX;
}

void tally_extent(const struct ss_run *run, ss_ns *start_ns, ss_ns *end_ns)
{
    const bool any_trains = run_training_processes(run) > 0;

    *start_ns = 0;
    *end_ns = 0;
    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *process = ss_run_process(run, i);
        if (any_trains && !run_is_training(run, i))
            continue;
        if (*start_ns == 0 || process->start_ns < *start_ns)
            *start_ns = process->start_ns;
        if (*end_ns == 0 || process->end_ns > *end_ns)
            *end_ns = process->end_ns;
    }
}

static void count_span(struct tally *tally, const struct ss_record *record)
{
    unsigned stage = record->stage < SS_STAGE_COUNT ? record->stage : SS_STAGE_OTHER;

    if (record->flags & SS_FLAG_SAMPLED) /* a part of what is around it */
        return;
    tally->stages[stage].spans++;
    add(&tally->stages[stage].sum_ns, tally_difference(record->end_ns, record->start_ns));
    tally->unfinished += (record->flags & SS_FLAG_UNFINISHED) != 0;
    tally->nested |= record->depth > 0;
}

static void note_thread(struct lane_tally *lane, struct ss_text name)
{
    lane->thread_bytes = name.size < TALLY_THREAD_BYTES ? name.size : TALLY_THREAD_BYTES;
    if (lane->thread_bytes > 0)
        memcpy(lane->thread, name.data, lane->thread_bytes);
}

static void count_record(struct tally *tally, struct process_tally *process,
                         struct lane_tally *lane, const struct ss_record *record)
{
    tally->kinds[record->kind < SS_KIND_COUNT ? record->kind : 0]++;
    process->records++;
    lane->records++;
    switch (record->kind) {
    case SS_KIND_SPAN:
        process->spans++;
        lane->spans++;
        count_span(tally, record);
        break;
    case SS_KIND_STEP:
        process->steps++;
        add(&tally->samples, record->u.samples);
        break;
    case SS_KIND_MARK:
    case SS_KIND_HOOK:
        hook_list_take(&tally->hooks, HOOK_LIST_MOST, tally->run,
                       (uint32_t)(process - tally->processes), record);
        break;
    case SS_KIND_THREAD_BEGIN:
        lane->threads++;
        note_thread(lane, record->u.text.a);
        break;
    default:
        break;
    }
}

static int walk_lane(struct tally *tally, size_t index)
{
    const struct ss_lane *lane = ss_run_lane(tally->run, index);
    struct process_tally *process = &tally->processes[lane->process];
    struct lane_tally *own = &tally->lanes[index];
    struct ss_cursor *cursor = ss_cursor_new(tally->run, index);
    struct ss_record record;

    if (!cursor)
        return SS_E_NOMEM;
    while (ss_cursor_next(cursor, &record))
        count_record(tally, process, own, &record);
    ss_cursor_free(cursor);

    if (lane->number != SS_CONTROL_LANE)
        add(&process->threads, own->threads > lane->owners ? own->threads : lane->owners);
    add(&process->dropped, lane->lost_records);
    add(&process->too_deep, lane->too_deep);
    add(&process->unbalanced, lane->unbalanced);
    for (size_t i = 0; i < SS_STAGE_SLOTS; i++)
        add(&tally->dropped_by_stage[i], lane->lost_by_stage[i]);
    return 0;
}

static void sum_process(struct tally *tally, size_t index)
{
    const struct ss_process *process = ss_run_process(tally->run, index);
    struct process_tally *own = &tally->processes[index];

    own->measured = process->span_cost_ps > 0 ? own->spans : 0;
    own->cost_ns = (uint64_t)((double)own->spans * process->span_cost_ps / 1000.0);
    add(&tally->sum.records, own->records);
    add(&tally->sum.spans, own->spans);
    add(&tally->sum.steps, own->steps);
    add(&tally->sum.threads, own->threads);
    add(&tally->sum.dropped, own->dropped);
    add(&tally->sum.too_deep, own->too_deep);
    add(&tally->sum.unbalanced, own->unbalanced);
    add(&tally->sum.cost_ns, own->cost_ns);
    add(&tally->sum.measured, own->measured);
    add(&tally->bytes, process->file_bytes);
    add(&tally->names, process->names > 0 ? process->names - 1 : 0);
    add(&tally->process_ns, tally_difference(process->end_ns, process->start_ns));
    add(&tally->helper_cpu_ns, process->helper_cpu_ns);
    add(&tally->reused, process->reused_records);
    for (size_t i = 0; i < SS_STAGE_SLOTS; i++)
        add(&tally->reused_by_stage[i], process->reused_by_stage[i]);
    add(&tally->lost_names, process->lost_names);
    add(&tally->lost_threads, process->lost_threads);
    tally->whole &= process->recorder_error == 0;
}

int tally_gather(struct tally *tally, struct ss_run *run, const char *path)
{
    size_t lanes = ss_run_lanes(run);
    size_t processes = ss_run_processes(run);

    *tally = (struct tally){.run = run, .path = path, .whole = true};
    tally_extent(run, &tally->start_ns, &tally->end_ns);
    tally->processes = calloc(processes + 1, sizeof *tally->processes);
    tally->lanes = calloc(lanes + 1, sizeof *tally->lanes);
    if (!tally->processes || !tally->lanes)
        return SS_E_NOMEM;
    for (size_t i = 0; i < lanes; i++)
        if (walk_lane(tally, i) != 0)
            return SS_E_NOMEM;
    if (hook_list_failed(&tally->hooks))
        return SS_E_NOMEM;
    for (size_t i = 0; i < processes; i++)
        sum_process(tally, i);
    if (tally->sum.dropped || tally->sum.too_deep || tally->reused || tally->lost_names ||
        tally->lost_threads || ss_run_losses(run) > 0 || fold_counts(run)->processes > 0)
        tally->whole = false;
    return 0;
}

void tally_release(struct tally *tally)
{
    hook_list_release(&tally->hooks);
    free(tally->processes);
    free(tally->lanes);
}

const char *tally_end_word(enum ss_process_end end)
{
    switch (end) {
    case SS_END_LIVE:
        return "live";
    case SS_END_STOPPED:
        return "stopped";
    case SS_END_EXITED:
        return "exited";
    case SS_END_KILLED:
        return "killed";
    case SS_END_UNKNOWN:
        break;
    }
    return "unknown";
}

const char *tally_loss_word(enum ss_loss_kind kind)
{
    switch (kind) {
    case SS_LOSS_TRUNCATED:
        return "truncated";
    case SS_LOSS_HEADER:
        return "header";
    case SS_LOSS_RECORDS:
        return "records";
    case SS_LOSS_ORDER:
        return "order";
    case SS_LOSS_FILE:
        return "file";
    case SS_LOSS_CHANGED:
        return "changed";
    }
    return "unknown";
}
