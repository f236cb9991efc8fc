/* Which loop, names and quantiles a report shows. */
#include <math.h>
#include <string.h>

#include "read/run.h"
#include "report/report_parts.h"
/* Cuts are segments of the run, `produce` and `user` are views beside the step. */
static bool is_step_stage(int stage)
{
    switch (stage) {
    case SS_STAGE_EVAL:
    case SS_STAGE_INFER:
    case SS_STAGE_CHECKPOINT:
    case SS_STAGE_PRODUCE:
    case SS_STAGE_USER:
        return false;
    default:
        return true;
    }
}

int report_next_stage(int stage)
{
    for (stage++; stage < SS_STAGE_COUNT; stage++)
        if (is_step_stage(stage))
            return stage;
    return SS_STAGE_OTHER;
}

/* The largest one but `other`, which may be REPORT_NO_STAGE. */
static int largest_but(const struct snap_loop *loop, int other)
{
    int largest = REPORT_NO_STAGE;

    REPORT_FOR_STAGES(stage)
    {
        if (stage == other || !loop->stage[stage].measured || loop->stage[stage].total_ns <= 0)
            continue;
        if (largest == REPORT_NO_STAGE ||
            loop->stage[stage].total_ns > loop->stage[largest].total_ns)
            largest = stage;
    }
    return largest;
}

int report_largest_stage(const struct snap_loop *loop)
{
    return largest_but(loop, REPORT_NO_STAGE);
}

int report_second_stage(const struct snap_loop *loop, int largest)
{
    return largest_but(loop, largest);
}

const struct snap_span *report_top_span(const struct snapshot *snapshot, int stage)
{
    const struct snap_span *top = NULL;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (span->stage == stage && isfinite(span->share.mid) &&
            (!top || span->share.mid > top->share.mid))
            top = span;
    }
    return top;
}

double report_device_share(const struct snap_loop *loop)
{
    double share = 0;

    REPORT_FOR_STAGES(stage)
    if (loop->device[stage].mid > 0)
        share += loop->device[stage].mid;
    return share;
}

bool report_has_statistics(const struct snap_loop *loop)
{
    return loop->warmup.class != WARMUP_TOO_FEW && loop->steady_steps > 0;
}

struct snap_quantiles report_quantiles(struct snap_quantiles quantiles, uint64_t count)
{
    if (count < SNAP_LEAST_FOR_P95)
        quantiles.p95_ns = NAN;
    if (count < SNAP_LEAST_FOR_P99)
        quantiles.p99_ns = NAN;
    return quantiles;
}

void report_name(struct buf *out, struct ss_text text, struct ss_text object, enum ss_scope scope)
{
    struct buf own = {0}, owner = {0};

    buf_add(&own, text.data, text.size);
    buf_add(&owner, object.data, object.size);
    snapshot_span_name(out, &(struct snap_span){.text = buf_text(&own),
                                                .object = buf_text(&owner),
                                                .scope = (uint8_t)scope});
    out->failed |= own.failed || owner.failed;
    buf_release(&own);
    buf_release(&owner);
}

double report_span_share(const struct snap_span *span)
{
    const bool in_steps = is_step_stage(span->stage) || span->stage == SS_STAGE_USER;

    /* More than all: a first call that also compiled, or calls of several threads. */
    return in_steps && span->share.mid < 1.05 ? span->share.mid : NAN;
}

const char *report_span_place(const struct snap_span *span)
{
    static const char *const places[CALL_PLACES] = {
        [CALLED_BEFORE] = "before",
        [CALLED_BETWEEN] = "between",
        [CALLED_IN_CUT + CUT_EVAL] = "in eval",
        [CALLED_IN_CUT + CUT_INFER] = "in infer",
        [CALLED_IN_CUT + CUT_CHECKPOINT] = "in save",
    };
    int most = CALLED_IN_STEP;

    for (int i = 0; i < CALL_PLACES; i++)
        if (places[i] && span->at[i].count > 0 &&
            (most == CALLED_IN_STEP || span->at[i].total_ns > span->at[most].total_ns))
            most = i;
    return places[most];
}

/* The command may be a shell around the processes that recorded: it lived longer. */
int64_t report_begin_ns(const struct analysis *analysis)
{
    const int64_t started_ns = analysis->facts->started_ns;
    const int64_t begin_ns = analysis->snapshot->begin_ns;

    return started_ns > 0 && started_ns < begin_ns ? started_ns : begin_ns;
}

uint64_t report_steps(const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;

    return snapshot->loop_count > 0 ? (uint64_t)snapshot->loops[0].steps : 0;
}

uint64_t report_all_steps(const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    uint64_t steps = 0;

    for (size_t i = 0; i < snapshot->loop_count; i++)
        steps += (uint64_t)snapshot->loops[i].steps;
    return steps;
}

int64_t report_wall_ns(const struct analysis *analysis)
{
    const int64_t ended_ns = analysis->facts->ended_ns;
    const int64_t end_ns = analysis->snapshot->end_ns;
    const int64_t ns = (ended_ns > end_ns ? ended_ns : end_ns) - report_begin_ns(analysis);

    return ns > 0 ? ns : 0;
}

/* How much of that time loops of other threads have. */
static int64_t trained_beside(const struct snapshot *snapshot, const struct snap_thread *thread,
                              int64_t from_ns, int64_t to_ns)
{
    int64_t sum_ns = 0;

    while (from_ns < to_ns) {
        int64_t next_ns = to_ns, end_ns = from_ns;
        for (size_t i = 0; i < snapshot->loop_count; i++) {
            const struct snap_loop *loop = &snapshot->loops[i];
            if (loop->process == thread->process && loop->tid == thread->tid)
                continue;
            if (loop->begin_ns <= from_ns && loop->end_ns > end_ns)
                end_ns = loop->end_ns;
            else if (loop->begin_ns > from_ns && loop->begin_ns < next_ns)
                next_ns = loop->begin_ns;
        }
        end_ns = end_ns < to_ns ? end_ns : to_ns;
        sum_ns += end_ns - from_ns;
        from_ns = end_ns > from_ns ? end_ns : next_ns;
    }
    return sum_ns;
}

/* Of the run, before or after the thread: it belongs to one of these, whichever thread trained. */
static void book_beside(const struct snapshot *snapshot, struct snap_thread *thread,
                        int64_t from_ns, int64_t to_ns, enum model_segment segment)
{
    if (to_ns <= from_ns)
        return;
    const int64_t trained_ns = trained_beside(snapshot, thread, from_ns, to_ns);
    thread->segment_ns[SEGMENT_IDLE_NS] += trained_ns;
    thread->segment_ns[segment] += to_ns - from_ns - trained_ns;
    thread->wall_ns += to_ns - from_ns;
}

struct snap_thread report_thread(const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    const int64_t begin_ns = report_begin_ns(analysis);
    const int64_t end_ns = begin_ns + report_wall_ns(analysis);
    struct snap_thread thread = {.rank = -1, .begin_ns = begin_ns};

    if (snapshot->thread_count > 0)
        thread = snapshot->threads[0];
    if (snapshot->loop_count > 0 && snapshot->job.hosts > 1) /* each has a clock of its own */
        return thread;
    const int64_t ended_ns = thread.begin_ns + thread.wall_ns;
    const enum model_segment after =
        snapshot->loop_count > 0 ? SEGMENT_TEARDOWN_NS : SEGMENT_STARTUP_NS;
    book_beside(snapshot, &thread, begin_ns, thread.begin_ns, SEGMENT_STARTUP_NS);
    book_beside(snapshot, &thread, ended_ns, end_ns, after);
    thread.begin_ns = begin_ns < thread.begin_ns ? begin_ns : thread.begin_ns;
    return thread;
}

const char *report_segment_text(const struct analysis *analysis, unsigned segment)
{
    const struct snapshot *snapshot = analysis->snapshot;

    return segment == SEGMENT_STEADY_NS && snapshot->loop_count > 0 &&
                   !report_has_statistics(snapshot->loops)
               ? "steps"
               : model_segment_text(segment);
}

struct ss_text report_info(const struct analysis *analysis, const char *key)
{
    struct ss_text value = ss_run_info(analysis->run, SIZE_MAX, key);

    if (value.size == 0 && run_training_processes(analysis->run) > 0)
        value = ss_run_info(analysis->run, run_first_training(analysis->run), key);
    return value;
}

struct ss_text report_command(const struct analysis *analysis)
{
    const struct ss_text command = report_info(analysis, "command");

    return command.size > 0 ? command : report_info(analysis, "executable");
}

/* A run without a supervisor goes on as long as the program records: who watched the machine for it
 * ends a moment later. */
static bool goes_on(const struct analysis *analysis)
{
    if (analysis->facts->pid > 0 || run_training_processes(analysis->run) == 0)
        return ss_run_is_live(analysis->run);
    for (size_t i = 0; i < ss_run_processes(analysis->run); i++)
        if (run_is_training(analysis->run, i) &&
            ss_run_process(analysis->run, i)->end == SS_END_LIVE)
            return true;
    return false;
}

enum report_state report_state(const struct analysis *analysis)
{
    enum report_state state = REPORT_ENDED;

    if (goes_on(analysis))
        return REPORT_LIVE;
    if (analysis->facts->ended_ns > 0)
        return analysis->facts->signal > 0 ? REPORT_KILLED : REPORT_ENDED;
    if (run_training_processes(analysis->run) == 0)
        return REPORT_UNKNOWN;
    for (size_t i = 0; i < ss_run_processes(analysis->run); i++) {
        if (!run_is_training(analysis->run, i))
            continue;
        switch (ss_run_process(analysis->run, i)->end) {
        case SS_END_KILLED:
            return REPORT_KILLED;
        case SS_END_STOPPED:
            state = state == REPORT_ENDED ? REPORT_STOPPED : state;
            break;
        case SS_END_UNKNOWN:
            state = REPORT_UNKNOWN;
            break;
        default:
            break;
        }
    }
    return state;
}

const char *report_state_text(enum report_state state)
{
    static const char *const texts[] = {"live", "ended", "stopped", "killed", "unknown"};

    return texts[state];
}

struct report_losses report_losses(const struct ss_run *run)
{
    struct report_losses losses = {0};

    for (size_t i = 0; i < ss_run_lanes(run); i++) {
        if (!run_is_training(run, ss_run_lane(run, i)->process))
            continue;
        losses.dropped += ss_run_lane(run, i)->lost_records;
        losses.too_deep += ss_run_lane(run, i)->too_deep;
    }
    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *process = ss_run_process(run, i);
        losses.reused += process->reused_records;
        losses.names += process->lost_names;
        losses.threads += process->lost_threads;
        if (losses.recorder_error == 0)
            losses.recorder_error = process->recorder_error;
    }
    losses.folded_processes = fold_counts(run)->processes;
    losses.folded_records = fold_counts(run)->records;
    losses.places = ss_run_losses(run);
    for (size_t i = 0; i < losses.places; i++)
        losses.bytes += ss_run_loss(run, i)->bytes;
    return losses;
}

bool report_is_whole(const struct report_losses *losses)
{
    return losses->dropped == 0 && losses->reused == 0 && losses->too_deep == 0 &&
           losses->names == 0 && losses->threads == 0 && losses->places == 0 &&
           losses->folded_processes == 0 && losses->recorder_error == 0;
}
