/* What is not in steps, as shares of the loop: evaluation and saving, which are cut out of them or are in callbacks,
 * and what is between epochs (rule book 5.3: a class of their own; 9.5, goodput). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

static const struct cut {
    enum model_segment segment;
    enum call_place place;
    enum call_part part;
    unsigned stage;
    const char *id, *what;
} cuts[] = {{SEGMENT_EVAL_NS, CALLED_IN_CUT + CUT_EVAL, PART_EVAL, SS_STAGE_EVAL,
             "eval-heavy", "evaluation takes"},
            {SEGMENT_CHECKPOINT_NS, CALLED_IN_CUT + CUT_CHECKPOINT, PART_SAVE,
             SS_STAGE_CHECKPOINT, "checkpoint-heavy", "saving takes"}};

/* In the loop, from one place on up to another. */
static struct call_sum sum_of(const struct snap_span *span, enum call_place first,
                              enum call_place last)
{
    struct call_sum sum = {0};

    for (int place = (int)first; place <= (int)last; place++) {
        sum.count += span->at[place].count;
        sum.total_ns += span->at[place].total_ns;
    }
    return sum;
}

/* How often: as the name that has most of it; what nobody names comes with epochs, or at least twice. */
static double times_of(const struct patient *patient, unsigned stage,
                       enum call_place first, enum call_place last)
{
    struct call_sum most = {0};

    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        const struct call_sum sum = sum_of(span, first, last);
        if (span->stage == stage && sum.total_ns > most.total_ns)
            most = sum;
    }
    return most.count > 0 ? (double)most.count
                          : fmax((double)patient->loop->epochs_seen, 2);
}

/* Of a callback's time. */
static int64_t part_of(const struct snap_span *span, enum call_part part)
{
    int64_t ns = 0;

    for (int place = 0; span->callback && place < CALLED_IN_CUT; place++)
        ns += span->callback->part_ns[place][part];
    return ns;
}

/* Time of that kind in callbacks, and the one that has most of it. */
static int64_t in_callbacks(const struct patient *patient, enum call_part part,
                            const struct snap_span **most)
{
    int64_t all = 0, largest = 0;

    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        const int64_t ns = part_of(span, part);
        all += ns;
        if (ns > largest) {
            largest = ns;
            *most = span;
        }
    }
    return all;
}

/* The callback that has a good part of what is cut out, as those that are called for each batch of an evaluation. */
static const struct snap_span *heavy_inside(const struct patient *patient,
                                            enum call_place place, int64_t ns)
{
    const struct snap_span *most = NULL;

    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        const int64_t own = span->at[place].total_ns;
        if (span->stage == SS_STAGE_CALLBACK && (double)own >= cut_part * (double)ns &&
            (!most || own > most->at[place].total_ns))
            most = span;
    }
    return most;
}

static void say_inside(struct finding *finding, const struct patient *patient,
                       const struct cut *cut, int64_t ns)
{
    const struct snap_span *heavy = heavy_inside(patient, cut->place, ns);
    char name[CAUSE_NAME_SIZE], mean[UNITS_SIZE];

    if (!heavy)
        return;
    const struct call_sum *sum = &heavy->at[cut->place];
    cause_more(finding->evidence, "; %.0f %% of it in %s, %" PRIu64 " calls of %s",
               100 * (double)sum->total_ns / (double)ns, cause_name(name, heavy),
               sum->count, units_duration(mean, sum->total_ns / (int64_t)sum->count));
    if ((double)sum->total_ns >= cut_most * (double)ns)
        cause_text(finding->advice,
                   "do less in %s, which was called %" PRIu64 " times meanwhile", name,
                   sum->count);
}

static void judge_cut(struct patient *patient, const struct cut *cut)
{
    const struct snap_loop *loop = patient->loop;
    const struct snap_span *callback = NULL;
    const int64_t inside_ns = in_callbacks(patient, cut->part, &callback);
    const int64_t ns = loop->segment_ns[cut->segment] + inside_ns;
    const double times = times_of(patient, cut->stage, CALLED_BEFORE, CALL_PLACES - 1);
    const struct interval share = cause_cut_share(patient, ns, times);
    struct finding *finding =
        cause_add_share(patient, cut->id, share, cut_bands, "the loop");
    char took[UNITS_SIZE], all[UNITS_SIZE], name[CAUSE_NAME_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim, "%s %.1f %% of the loop's time", cut->what,
               100 * share.mid);
    cause_text(finding->evidence, "%s of %s", units_duration(took, ns),
               units_duration(all, loop->wall_ns));
    if (callback)
        cause_more(finding->evidence, "; %s of it inside %s",
                   units_duration(took, part_of(callback, cut->part)),
                   cause_name(name, callback));
    say_inside(finding, patient, cut, ns);
    cause_text(finding->check, "'The run by segment' of the next report");
}

/* Iterators and workers that are made and torn down between epochs. What comes once, before or after the only
 * epoch, is not between epochs. */
static void judge_setup(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const int64_t ns = loop->between_ns[SS_STAGE_SETUP];
    const double times =
        times_of(patient, SS_STAGE_SETUP, CALLED_BETWEEN, CALLED_BETWEEN);
    const struct interval share = cause_cut_share(patient, ns, times);
    const bool comes_again =
        loop->epochs_seen > 1 || (loop->epochs_seen == 0 && times >= 2);
    struct finding *finding = comes_again ? cause_add_share(patient, "setup-heavy", share,
                                                            cut_bands, "the loop")
                                          : NULL;
    char took[UNITS_SIZE], all[UNITS_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim,
               "making iterators and workers between epochs takes %.1f %% of the loop's "
               "time",
               100 * share.mid);
    cause_text(finding->evidence, "%s of %s, %.0f times", units_duration(took, ns),
               units_duration(all, loop->wall_ns), times);
    cause_text(finding->check, "the row between of 'The run by segment' gets smaller");
}

/* Between epochs, and in no span. No warning: in short epochs it may be the trainer's own doing. */
static void judge_unnamed(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    int64_t ns = loop->segment_ns[SEGMENT_BETWEEN_NS];

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        ns -= loop->between_ns[i];
    const struct interval share = cause_cut_share(patient, ns, (double)loop->epochs_seen);
    struct finding *finding =
        loop->epochs_seen > 1
            ? cause_add_share(patient, "instrument-more", share, cut_bands, "the loop")
            : NULL;
    char took[UNITS_SIZE], all[UNITS_SIZE];

    if (!finding)
        return;
    finding->severity = FINDING_INFO;
    finding->kind = SHARE_ESTIMATE;
    cause_text(
        finding->claim,
        "%.1f %% of the loop's time is between epochs, and nothing says what it is",
        100 * share.mid);
    cause_text(finding->evidence, "%s of %s in no span", units_duration(took, ns),
               units_duration(all, loop->wall_ns));
    cause_text(finding->check, "the row between of 'The run by segment' gets smaller");
}

double cause_cut_in_steps(const struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const int64_t steps_ns =
        loop->segment_ns[SEGMENT_WARMUP_NS] + loop->segment_ns[SEGMENT_STEADY_NS];
    int64_t ns = 0;

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        const struct finding *found = cause_find(patient, cuts[i].id);
        for (size_t k = 0; found && k < patient->snapshot->span_count; k++) {
            const struct snap_callback *callback = patient->snapshot->spans[k].callback;
            if (callback && found->severity >= FINDING_WARN)
                ns += callback->part_ns[CALLED_IN_STEP][cuts[i].part];
        }
    }
    return steps_ns > 0 ? (double)ns / (double)steps_ns : 0;
}

void causes_of_cuts(struct patient *patient)
{
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        judge_cut(patient, &cuts[i]);
    judge_setup(patient);
    judge_unnamed(patient);
}
