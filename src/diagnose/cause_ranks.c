/* Ranks of one job that wait for each other (method 9). Steps take equally long on all, so what
 * counts is each one's own work: the step without its time in communication. */
#include <math.h>
#include <stdlib.h>

#include "diagnose/causes.h"
#include "render/units.h"
#include "stats/robust.h"

/* A straggler (method 9.3): 5 % slower in all, 2.5 % in 80 % of 10 windows or more, and at least
 * two thirds of all blame are its own. */
static const double straggler_excess = 0.05, straggler_each = 0.025, straggler_part = 0.8,
                    straggler_blame = 2.0 / 3;
enum { STRAGGLER_WINDOWS = 10, NAMED_MOST = 3 };

/* Whether ranks can be compared; if not, the finding is unobservable. */
static bool can_compare(struct diagnosis_input *input, enum finding_id id)
{
    const struct snap_job *job = &input->snapshot->job;

    if (job->rank_count < 2 || (input->loop && !cause_can_see(input, id, SS_STAGE_COMM)))
        return false;
    if (job->blame.steps < STRAGGLER_WINDOWS) {
        cause_unobservable(input, id, "too few steps to compare the ranks", "a longer run");
        return false;
    }
    return true;
}

/* How many windows of their steady steps all ranks have. */
static int windows_of(const struct snap_job *job)
{
    int windows = SNAP_OWN_WINDOWS;

    for (size_t i = 0; i < job->compared; i++)
        if (job->ranks[i].windows < windows)
            windows = job->ranks[i].windows;
    return windows;
}

/* Whether the first rank is slower than the others for most of the time: one that was disturbed for
 * a while is not. */
static bool is_lasting(const struct snap_job *job)
{
    const int windows = windows_of(job);
    double *others = calloc(2 * job->compared, sizeof *others);
    int slow = 0;

    for (int w = 0; others && w < windows; w++) {
        for (size_t i = 1; i < job->compared; i++)
            others[i - 1] = job->ranks[i].window_ns[w];
        const double usual = robust_median(others, job->compared - 1, others + job->compared - 1);
        slow += job->ranks[0].window_ns[w] > usual * (1 + straggler_each);
    }
    free(others);
    return windows >= STRAGGLER_WINDOWS && slow >= straggler_part * windows;
}

static bool is_straggler(const struct snap_job *job)
{
    return job->ranks[0].excess >= straggler_excess && job->blame.most_part >= straggler_blame &&
           is_lasting(job);
}

/* With too few steps for an interval, half to twice as much. */
static struct interval known_share(struct interval share, enum share_kind *kind)
{
    *kind = isfinite(share.low) ? SHARE_INTERVAL : SHARE_ESTIMATE;
    if (!isfinite(share.low))
        share =
            (struct interval){share.mid * few_times_least, share.mid, share.mid * few_times_most};
    return (struct interval){fmax(0, share.low), share.mid, fmin(1, share.high)};
}

static enum finding_severity severity_of(double share)
{
    return share >= stage_bands.high   ? FINDING_HIGH
           : share >= stage_bands.warn ? FINDING_WARN
                                       : FINDING_INFO;
}

static struct finding *add_share(struct diagnosis_input *input, enum finding_id id,
                                 struct interval share)
{
    enum share_kind kind;
    const struct interval known = known_share(share, &kind);
    struct finding *finding = cause_add(input, id, severity_of(known.mid), known, OF_STEP);

    if (finding)
        finding->kind = kind;
    return finding;
}

/* The ranks that wait have the wait as communication: what is left of that is the exchange. */
static void leave_exchange(struct diagnosis_input *input)
{
    const struct blame *blame = &input->snapshot->job.blame;
    struct finding *comm = cause_find(input, FINDING_COMM_BOUND);
    const double part = blame->exchange_ns / (blame->exchange_ns + blame->wait_ns);
    char wait[UNITS_SIZE], exchange[UNITS_SIZE];

    if (!comm || !(part >= 0))
        return;
    comm->share =
        (struct interval){comm->share.low * part, comm->share.mid * part, comm->share.high * part};
    comm->severity = severity_of(comm->share.low);
    cause_text(
        comm->claim,
        "communication between ranks takes %.1f %% of the step, not counting the wait for the slowest rank",
        100 * comm->share.mid);
    cause_text(comm->evidence,
               "on average over the ranks %s per step; they wait another %s for the slowest rank",
               units_duration(exchange, (int64_t)blame->exchange_ns),
               units_duration(wait, (int64_t)blame->wait_ns));
}

static void find_straggler(struct diagnosis_input *input)
{
    const struct snap_job *job = &input->snapshot->job;
    char own[UNITS_SIZE], stage[UNITS_SIZE], usual[UNITS_SIZE];

    if (!can_compare(input, FINDING_STRAGGLER) || !is_straggler(job))
        return;
    const struct snap_rank *rank = &job->ranks[0];
    /* The rule that found it is the test; the interval says how much it is. */
    struct finding *finding = add_share(input, FINDING_STRAGGLER, rank->blame);
    if (!finding)
        return;
    cause_text(
        finding->claim,
        "rank %d is slower than the others: its own work is %s, and they wait for it %.1f %% of the step",
        rank->rank, units_longer(own, 1 + rank->excess), 100 * rank->blame.mid);
    cause_text(finding->evidence, "it is the last of %zu ranks in %.0f %% of the steps",
               job->compared, 100 * rank->last_share);
    if (rank->stage >= 0)
        cause_more(finding->evidence, "; %s takes %s there, and %s on the others",
                   ss_stage_text((unsigned)rank->stage),
                   units_duration(stage, (int64_t)rank->stage_ns),
                   units_duration(usual, (int64_t)rank->stage_usual_ns));
    cause_more(finding->evidence, "; its own work takes %s per step, without communication",
               units_duration(own, (int64_t)rank->own_ns));
    if (rank->host && job->hosts > 1)
        cause_more(finding->evidence, "; it runs on %.64s", rank->host);
    cause_text(finding->check,
               "swap its machine or its data with another rank: does the delay move along?");
    if (job->compared == 2)
        cause_text(finding->unknown, "with two ranks, whether one is slow or the other fast");
    leave_exchange(input);
}

static void name_last(struct finding *finding, const struct snap_job *job)
{
    cause_text(finding->evidence, "slowest was ");
    for (size_t i = 0; i < job->compared && i < NAMED_MOST; i++)
        cause_more(finding->evidence, "%srank %d in %.0f %%", i == 0 ? "" : ", ",
                   job->ranks[i].rank, 100 * job->ranks[i].last_share);
    cause_more(finding->evidence, " of %zu steps; each step takes as long as the last of %zu ranks",
               job->blame.steps, job->compared);
}

/* What ranks wait for each other, and not for a straggler alone. */
static void find_jitter(struct diagnosis_input *input)
{
    const struct snap_job *job = &input->snapshot->job;
    char wait[UNITS_SIZE];

    if (!can_compare(input, FINDING_RANK_JITTER))
        return;
    const struct blame *blame = &job->blame;
    const struct finding *straggler = cause_find(input, FINDING_STRAGGLER);
    const double alone = straggler ? straggler->share.high : 0;
    const struct interval share = {blame->waiting.low - alone, blame->waiting.mid - alone,
                                   blame->waiting.high - alone};
    if (!(share.low >= stage_bands.info))
        return;
    struct finding *finding = add_share(input, FINDING_RANK_JITTER, share);
    if (!finding)
        return;
    cause_text(
        finding->claim,
        "the ranks wait %s per step (%.1f %% of the step) for the slowest one, which is not always the same",
        units_duration(wait, (int64_t)(share.mid * blame->step_ns)), 100 * share.mid);
    name_last(finding, job);
    cause_text(finding->check, "the table 'Ranks' of the report: their own work gets closer");
    if (!straggler)
        leave_exchange(input);
}

const struct finding_kind finding_straggler = {
    .name = "straggler",
    .gist = "one rank is slower than the others, which wait for it",
    .find = find_straggler,
    .said = {{&stage_bands, OF_STEP, ""}},
    .ends = {{"below 20 steps", "estimate: half to twice"}},
    .advice =
        "find out how that rank differs: more or longer samples, a slower or shared core, logging and saving in that process alone",
    .given = "always",
    .meaning = "One rank takes longer per step than the others, and all wait for it.",
    .computed =
        "A step without its time in communication, rank by rank, in up to 512 steps that all ranks have. "
        "In each step the slowest rank is charged with its lead over the second slowest; the share is the sum of these charges. "
        "It is a straggler if its own work is at least 5 % above the median of the others, by 2.5 % in at least 80 % of up to 32 stretches of the run, and if at least two thirds of all blame are its own. "
        "Not measurable where the communication was not recorded, or in fewer than 10 steps or stretches.",
    .fixes =
        "Equal work for all ranks, nothing done by one rank alone, and a check of that machine.",
};

const struct finding_kind finding_rank_jitter = {
    .name = "rank-jitter",
    .gist = "ranks wait for the slowest, not always the same one",
    .find = find_jitter,
    .said = {{&stage_bands, OF_STEP, ""}},
    .advice =
        "even out the work: batches of equal length (bucketing), no logging or garbage collection at different times, and no more processes than free cores",
    .given = "always",
    .meaning =
        "In each step some rank takes longer than the others and all wait for it, but it is not always the same one.",
    .computed =
        "What a rank spends in communication beyond the rank that spends least in the same step, on average over ranks and steps, without what is due to a straggler. "
        "The limits are those of input-bound.",
    .fixes =
        "Batches of equal cost on all ranks, pauses such as garbage collection at the same step on all of them, cores of their own.",
};
