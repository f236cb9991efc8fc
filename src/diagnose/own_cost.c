#include <math.h>

#include "diagnose/thresholds.h"
#include "diagnose/validity.h"
#include "read/run.h"
#include "stepscope/counters.h"

/* What a span costs inside a step, in spans as a process measures them at its start, one after
 * the other. In C, 53 to 31 ns by the median of single spans, and 2.4 by pairs of steps. In Python
 * it is a call of ours around another library's: 2.4 us for the 5 of a step of PyTorch where
 * one after the other takes 18 ns, by pairs (bench/README.md, steps of frameworks). */
static const double span_in_step = 2, python_span_in_step = 27;

static double spans_in_steps(const struct snapshot *snapshot)
{
    double count = 0;

    for (size_t i = 0; i < snapshot->span_count; i++)
        count += (double)snapshot->spans[i].at[CALLED_IN_STEP].count;
    return count;
}

/* Of a steady step; with too few for these of any. */
static double step_time(const struct snap_loop *loop)
{
    if (isfinite(loop->step_ns.mid) && loop->step_ns.mid > 0)
        return loop->step_ns.mid;
    return (double)(loop->segment_ns[SEGMENT_WARMUP_NS] + loop->segment_ns[SEGMENT_STEADY_NS]) /
           (double)loop->steps;
}

static double share_of_step(const struct snapshot *snapshot, const struct ss_run *run,
                            size_t process)
{
    const struct snap_loop *loop = snapshot->loop_count ? snapshot->loops : NULL;
    const double warm_ns = ss_run_process(run, process)->span_cost_ps / 1000.0;
    const bool is_python = ss_run_info(run, process, "python").size > 0;

    if (!loop || loop->steps == 0 || warm_ns <= 0)
        return NAN;
    const double span_ns = warm_ns * (is_python ? python_span_in_step : span_in_step);
    return spans_in_steps(snapshot) / (double)loop->steps * span_ns / step_time(loop);
}

static double helper_cores(const struct ss_process *process)
{
    const double life_ns = (double)process->end_ns - (double)process->start_ns;

    return life_ns > 0 ? (double)process->helper_cpu_ns / life_ns : 0;
}

struct own_cost own_cost_of(const struct snapshot *snapshot, const struct ss_run *run)
{
    const struct snap_loop *loop = snapshot->loop_count ? snapshot->loops : NULL;
    const size_t process = loop ? loop->process : run_first_training(run);
    const struct snap_resource *self = snapshot_value(snapshot, SS_COUNTER_ID_SELF_CPU, SNAP_ANY);
    struct own_cost cost = {.step = NAN, .beside = self ? self->mean / 1e9 : 0};

    if (loop)
        cost.beside += loop->sampler_cores;
    if (process < ss_run_processes(run)) {
        cost.beside += helper_cores(ss_run_process(run, process));
        cost.step = share_of_step(snapshot, run, process);
    }
    return cost;
}
