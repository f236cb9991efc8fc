#include <math.h>
#include <string.h>

#include "output/report_parts.h"
#include "read/run.h"

enum { LEAST_FOR_P95 = 20, LEAST_FOR_P99 = 100 };

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
        if (stage == other || !loop->stage[stage].measured ||
            loop->stage[stage].total_ns <= 0)
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
    if (count < LEAST_FOR_P95)
        quantiles.p95_ns = NAN;
    if (count < LEAST_FOR_P99)
        quantiles.p99_ns = NAN;
    return quantiles;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void report_span_name(struct buf *out, const struct snap_span *span)
{
    const char *scope = ss_scope_text(span->scope);

    if (span->text[0] == '\0' && span->object[0] == '\0')
        buf_add_text(out, "(unnamed)");
    else if (span->object[0] == '\0')
        buf_add_text(out, span->text);
    else if (starts_with(span->object, span->text))
        buf_add_text(out, span->object);
    else
        buf_printf(out, "%s.%s", span->object, span->text);
    if (span->scope != SS_SCOPE_NONE && !strstr(span->text, scope))
        buf_printf(out, ", %s", scope);
}

void report_name(struct buf *out, struct ss_text text, struct ss_text object,
                 enum ss_scope scope)
{
    struct buf own = {0}, owner = {0};

    buf_add(&own, text.data, text.size);
    buf_add(&owner, object.data, object.size);
    report_span_name(out, &(struct snap_span){.text = buf_text(&own),
                                              .object = buf_text(&owner),
                                              .scope = (uint8_t)scope});
    out->failed |= own.failed || owner.failed;
    buf_release(&own);
    buf_release(&owner);
}

double report_span_share(const struct snap_span *span)
{
    const bool in_steps = is_step_stage(span->stage) || span->stage == SS_STAGE_USER;

    return in_steps ? span->share.mid : NAN;
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
int64_t report_begin_ns(const struct report_input *input)
{
    const int64_t started_ns = input->facts->started_ns;
    const int64_t begin_ns = input->snapshot->begin_ns;

    return started_ns > 0 && started_ns < begin_ns ? started_ns : begin_ns;
}

int64_t report_wall_ns(const struct report_input *input)
{
    const int64_t ended_ns = input->facts->ended_ns;
    const int64_t end_ns = input->snapshot->end_ns;
    const int64_t ns = (ended_ns > end_ns ? ended_ns : end_ns) - report_begin_ns(input);

    return ns > 0 ? ns : 0;
}

struct snap_thread report_thread(const struct report_input *input)
{
    const struct snapshot *snapshot = input->snapshot;
    const int64_t wall_ns = report_wall_ns(input);
    struct snap_thread thread = {.rank = -1};

    if (snapshot->thread_count > 0)
        thread = snapshot->threads[0];
    if (snapshot->loop_count == 0 && wall_ns > thread.wall_ns) {
        thread.segment_ns[SEGMENT_STARTUP_NS] += wall_ns - thread.wall_ns;
        thread.wall_ns = wall_ns;
        thread.begin_ns = report_begin_ns(input);
    }
    return thread;
}

const char *report_segment_text(const struct report_input *input, unsigned segment)
{
    const struct snapshot *snapshot = input->snapshot;

    return segment == SEGMENT_STEADY_NS && snapshot->loop_count > 0 &&
                   !report_has_statistics(snapshot->loops)
               ? "steps"
               : model_segment_text(segment);
}

struct ss_text report_info(const struct report_input *input, const char *key)
{
    struct ss_text value = ss_run_info(input->run, SIZE_MAX, key);

    if (value.size == 0 && run_training_processes(input->run) > 0)
        value = ss_run_info(input->run, run_first_training(input->run), key);
    return value;
}

struct ss_text report_command(const struct report_input *input)
{
    const struct ss_text command = report_info(input, "command");

    return command.size > 0 ? command : report_info(input, "executable");
}

enum report_state report_state(const struct report_input *input)
{
    enum report_state state = REPORT_ENDED;

    if (ss_run_is_live(input->run))
        return REPORT_LIVE;
    if (input->facts->ended_ns > 0)
        return input->facts->signal > 0 ? REPORT_KILLED : REPORT_ENDED;
    if (run_training_processes(input->run) == 0)
        return REPORT_UNKNOWN;
    for (size_t i = 0; i < ss_run_processes(input->run); i++) {
        if (!run_is_training(input->run, i))
            continue;
        switch (ss_run_process(input->run, i)->end) {
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
    losses.places = ss_run_losses(run);
    for (size_t i = 0; i < losses.places; i++)
        losses.bytes += ss_run_loss(run, i)->bytes;
    return losses;
}

bool report_is_whole(const struct report_losses *losses)
{
    return losses->dropped == 0 && losses->reused == 0 && losses->too_deep == 0 &&
           losses->names == 0 && losses->threads == 0 && losses->places == 0 &&
           losses->recorder_error == 0;
}
