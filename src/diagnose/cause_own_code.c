/* What no span covers: code of the user's own that samples name, or that nothing names (method
 * 11.3, 11.4). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/code_place.h"
#include "diagnose/causes.h"
#include "diagnose/hot_function.h"
#include "render/units.h"

/* The script's own code, as stages. */
static const struct bands own_bands = {0.03, 0.05, 0.2};
/* What nothing names: coverage below 90 % (method 11.4). It is a trainer's own if most of its
 * samples are below a call of that (ours). */
static const struct bands unnamed_bands = {0.1, 0.1, 0.5};
static const double unnamed_trainer = 0.5;

/* The script's own code as samples of `other` saw it. */
struct own_code {
    uint64_t samples;                 /* of `other` */
    uint64_t own, batch;              /* of these: it, and what gets the next batch */
    uint64_t trainer;                 /* and the trainer's own, around its stages */
    const struct snap_hot_line *line; /* the one that has most of it; NULL: none */
    uint64_t at_line;
    int lines;
    struct hot_function function; /* the same by function */
};

/* The line that calls a trainer is below everything that it does: what has no stage there is the
 * trainer's own code. */
static bool is_call_of_trainer(const struct diagnosis_input *input,
                               const struct snap_hot_line *line)
{
    const struct snap_hot *hot = &input->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *other = &hot->lines[i];
        if (other->place < SS_STAGE_COUNT && other->place != SS_STAGE_OTHER &&
            other->share.low >= line_share && other->at.line == line->at.line &&
            strcmp(other->at.file, line->at.file) == 0)
            return true;
    }
    return false;
}

/* Without what gets the next batch. */
static uint64_t count_own(const struct diagnosis_input *input, const struct snap_hot_line *line)
{
    return is_call_of_trainer(input, line) ? 0 : line->count - line->batch_count;
}

static struct own_code look(const struct diagnosis_input *input)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    struct own_code code = {.samples = hot->place_samples[SS_STAGE_OTHER]};

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place != SS_STAGE_OTHER)
            continue;
        const uint64_t own = line->count - line->batch_count;
        code.batch += line->batch_count;
        if (own == 0 || line->at.line == 0)
            continue;
        if (is_call_of_trainer(input, line)) {
            code.trainer += own;
            continue;
        }
        code.own += own;
        code.lines++;
        if (own > code.at_line) {
            code.at_line = own;
            code.line = line;
        }
    }
    code.function = hot_function_most(input, SS_STAGE_OTHER, count_own);
    return code;
}

/* What has at least half of it: a function whose lines have it together, a line, or neither. */
enum own_part { PART_FUNCTION, PART_LINE, PART_ALL };

static enum own_part find_part(const struct own_code *code)
{
    const double least = own_line_least * (double)code->own;

    if (hot_function_is_whole(&code->function) && (double)code->function.samples >= least)
        return PART_FUNCTION;
    return (double)code->at_line >= least ? PART_LINE : PART_ALL;
}

/* Cases of user-code, in the order of its descriptor. */
enum { OWN_LOGS, OWN_STEPS_WORLDS, OWN_DRAWS, OWN_WAITS };

/* What code does, by names in the innermost frame, of files and of the function of the script. */
static const struct {
    int which;
    const char *file, *function; /* a part of it; NULL: any */
} known_work[] = {{OWN_LOGS, "/logging/", NULL},
                  {OWN_LOGS, "/wandb/", NULL},
                  {OWN_LOGS, "/mlflow/", NULL},
                  {OWN_LOGS, "/tensorboard", NULL},
                  {OWN_LOGS, "/tqdm/", NULL},
                  {OWN_LOGS, "/rich/", NULL},
                  {OWN_LOGS, NULL, "log"},
                  {OWN_STEPS_WORLDS, "/gym", NULL},
                  {OWN_STEPS_WORLDS, "/pettingzoo/", NULL},
                  {OWN_STEPS_WORLDS, "/mujoco", NULL},
                  {OWN_STEPS_WORLDS, "/dm_", NULL},
                  {OWN_STEPS_WORLDS, NULL, "rollout"},
                  {OWN_STEPS_WORLDS, NULL, "play_episode"},
                  {OWN_DRAWS, "/matplotlib/", NULL},
                  {OWN_DRAWS, "/plotly/", NULL},
                  {OWN_DRAWS, NULL, "plot"}};

/* "log", "log_metrics", "write_log"; not "logits". */
static bool has_word(const char *name, const char *word)
{
    const size_t size = strlen(word);
    const char *at = strstr(name, word);

    return at && (at == name || at[-1] == '_') && (at[size] == '\0' || at[size] == '_');
}

/* What it does is known by names; else whether it waits. */
static void advise_own(struct finding *finding, const struct snap_hot_line *line, bool waits)
{
    for (size_t i = 0; i < sizeof known_work / sizeof known_work[0]; i++) {
        const char *file = known_work[i].file, *function = known_work[i].function;
        if ((file && strstr(line->leaf.file, file)) ||
            (function && has_word(line->at.function, function))) {
            cause_advise(finding, known_work[i].which);
            return;
        }
    }
    if (waits)
        cause_advise(finding, OWN_WAITS);
}

static void describe(struct finding *finding, const struct diagnosis_input *input,
                     const struct own_code *code, enum own_part part)
{
    const struct snap_hot_place *at = &code->line->at;
    const struct interval busy = cause_busy(input, SS_STAGE_OTHER);
    char mean[UNITS_SIZE];

    cause_text(finding->evidence,
               "%s per step are in no stage; %" PRIu64 " of %" PRIu64
               " stack samples of that time are ",
               units_duration(mean, (int64_t)input->loop->stage[SS_STAGE_OTHER].mean_ns),
               part == PART_FUNCTION ? code->function.samples : code->at_line, code->samples);
    if (part == PART_FUNCTION)
        cause_more(finding->evidence, "in %s()", code->function.line->at.function);
    else
        cause_more(finding->evidence, "at %s%s%" PRIu32, at->file, code_line_mark(at->file, false),
                   at->line);
    if (isfinite(busy.mid))
        cause_more(finding->evidence, "; the thread was running %.0f %% of that time",
                   100 * busy.mid);
    advise_own(finding, part == PART_FUNCTION ? code->function.line : code->line,
               busy.high <= mostly_waiting);
    cause_text(finding->check,
               "train without that %s once; `stepscope report --hot` lists all lines",
               part == PART_FUNCTION ? "call" : "line");
    cause_text(finding->unknown,
               "how long the %s took each time: samples only give its share of the time",
               part == PART_FUNCTION ? "function" : "line");
}

/* All of it is worth as much as what nothing names: moving ten lines out of a loop is not done for
 * some per cent. */
static void add_own(struct diagnosis_input *input, const struct own_code *code)
{
    const enum own_part part = find_part(code);
    const uint64_t samples = part == PART_FUNCTION ? code->function.samples
                             : part == PART_LINE   ? code->at_line
                                                   : code->own;
    struct finding *finding =
        cause_add_share(input, FINDING_USER_CODE, cause_of_other(input, samples),
                        part == PART_ALL ? unnamed_bands : own_bands, OF_STEP);

    if (!finding)
        return;
    cause_text(finding->claim, "the script's own code takes %.1f %% of the step, ",
               100 * finding->share.mid);
    const struct hot_function function =
        part == PART_ALL ? hot_function_most_whole(input, SS_STAGE_OTHER, count_own)
                         : code->function;
    const bool in_function = part != PART_LINE && function.samples > 0;
    if (part == PART_ALL)
        cause_more(finding->claim, "spread over %d lines, %.0f %% of that ", code->lines,
                   100 * (double)(in_function ? function.samples : code->at_line) /
                       (double)code->own);
    if (in_function) {
        cause_more(finding->claim, "in ");
        hot_function_say(finding->claim, input, &function, count_own);
    } else {
        cause_more(finding->claim, "at %s%s%" PRIu32 " (%s)", code->line->at.file,
                   code_line_mark(code->line->at.file, false), code->line->at.line,
                   code->line->at.function);
    }
    finding->leaves_cold = cause_may_wait(input, SS_STAGE_OTHER);
    describe(finding, input, code, part);
    cause_weigh_host(finding, input);
}

/* Names of the user's own are a second view: they say what it is, but make no stage. What a trainer
 * calls at a place of its loop, as a callback that saves, is not the user's own. */
static void say_user_spans(struct finding *finding, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (span->stage != SS_STAGE_USER || span->scope != SS_SCOPE_NONE || !(span->share.mid > 0))
            continue;
        cause_more(finding->evidence, "; the script's own span %s takes %.1f %% of the step",
                   span->text, 100 * span->share.mid);
        return;
    }
}

static void say_line(struct finding *finding, const struct diagnosis_input *input)
{
    const struct snap_hot_line *line = cause_hot_line(input, SS_STAGE_OTHER);

    if (line)
        cause_more(finding->evidence,
                   "; most samples taken in no stage, %.0f %%, are at %s%s%" PRIu32,
                   100 * line->share.mid, line->at.file, code_line_mark(line->at.file, false),
                   line->at.line);
}

/* What neither spans nor samples name. */
static void add_unnamed(struct diagnosis_input *input, const struct own_code *code)
{
    const struct interval other = input->loop->stage[SS_STAGE_OTHER].share;
    const uint64_t unnamed = code->samples - code->own - code->batch;
    const bool is_sampled = code->samples >= OWN_SAMPLES;
    const struct interval share = is_sampled ? cause_of_other(input, unnamed) : other;
    struct finding *finding =
        cause_add_share(input, FINDING_INSTRUMENT_MORE, share, unnamed_bands, OF_STEP);

    if (!finding)
        return;
    finding->leaves_cold = cause_may_wait(input, SS_STAGE_OTHER);
    const bool is_trainers =
        code->trainer > 0 && (double)code->trainer >= unnamed_trainer * (double)unnamed;
    const bool may_be = !is_sampled && input->framework != FRAMEWORK_OTHER;
    if ((is_trainers || may_be) && share.low < stage_bands.high)
        finding->severity = FINDING_INFO; /* what is not the script's cannot be named */
    cause_text(finding->claim,
               is_trainers ? "%.1f %% of the step is the trainer's own code, outside any stage"
                           : "%.1f %% of the step is outside any stage, and its cause is unknown",
               100 * share.mid);
    if (is_sampled)
        cause_text(finding->evidence,
                   "%" PRIu64 " of %" PRIu64
                   " of its stack samples are outside the script's own code",
                   unnamed, code->samples);
    else
        cause_text(finding->evidence, "%" PRIu64 " stack samples of it, too few to name a line",
                   code->samples);
    say_line(finding, input);
    say_user_spans(finding, input->snapshot);
    cause_text(finding->check, "the row other of 'Step breakdown' should shrink");
    cause_weigh_host(finding, input);
}

/* A line of the script that waits inside a forward pass. No span has it alone, as the body of
 * Lightning's training_step is one: samples name the line, looks at the thread say that it waits
 * (method 8.6, 11.3). Where a device computes the wait may be for that, and nothing is said. */

/* Nothing in Python below it: what the line calls is what waits. */
static bool is_leaf(const struct snap_hot_line *line)
{
    return (double)line->leaf_count >= own_line_least * (double)line->count &&
           line->leaf.line == line->at.line && strcmp(line->leaf.file, line->at.file) == 0;
}

static void describe_wait(struct finding *finding, const struct diagnosis_input *input,
                          const struct snap_hot_line *line, double waits)
{
    char mean[UNITS_SIZE];

    cause_text(
        finding->claim,
        "the script waits an estimated %.1f %% of the step inside the forward pass, at %s%s%" PRIu32
        " (%s)",
        100 * finding->share.mid, line->at.file, code_line_mark(line->at.file, false),
        line->at.line, line->at.function);
    cause_text(
        finding->evidence,
        "the forward pass takes %s per step; %" PRIu64 " of %" PRIu64
        " of its stack samples are at that line, and the thread was waiting in %.0f %% of its samples",
        units_duration(mean, (int64_t)input->loop->stage[SS_STAGE_FORWARD].mean_ns), line->count,
        line->place_samples, 100 * waits);
    cause_text(finding->check, "train without that line once");
    cause_text(
        finding->unknown,
        "how long the line took each time, and what it waits for: helper threads and the GIL count as waits");
}

/* No more of the line is waiting than was seen at the thread, which counts as running while it
 * waits for a core; if that is less than half of it, another line may have waited. */
static void find_waiting_line(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    const struct snap_hot_line *line = cause_hot_line(input, SS_STAGE_FORWARD);
    const struct interval whole = loop->stage[SS_STAGE_FORWARD].share,
                          busy = cause_busy(input, SS_STAGE_FORWARD),
                          waits = {1 - busy.high, 1 - busy.mid, 1 - busy.low};

    if (!line || !is_leaf(line) || loop->is_asynchronous || line->place_samples < OWN_SAMPLES ||
        !(waits.mid >= own_line_least * line->share.mid))
        return;
    const struct interval share = {whole.low * fmin(line->share.low, waits.low),
                                   whole.mid * fmin(line->share.mid, waits.mid),
                                   whole.high * line->share.high};
    struct finding *finding = cause_add_share(input, FINDING_USER_CODE, share, own_bands, OF_STEP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    finding->leaves_cold = true;
    describe_wait(finding, input, line, waits.mid);
}

static bool has_trainer(enum framework framework)
{
    return framework == FRAMEWORK_LIGHTNING || framework == FRAMEWORK_TRANSFORMERS ||
           framework == FRAMEWORK_KERAS;
}

/* Between epochs, and in no span. No warning where it may be the trainer's own doing, as in short
 * epochs. */
static void add_unnamed_between(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    int64_t ns = loop->segment_ns[SEGMENT_BETWEEN_NS];

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        ns -= loop->between_ns[i];
    const struct interval share = cause_cut_share(input, ns, (double)loop->epochs_seen);
    struct finding *finding =
        loop->epochs_seen > 1
            ? cause_add_share(input, FINDING_INSTRUMENT_MORE, share, cut_bands, OF_LOOP)
            : NULL;
    char took[UNITS_SIZE], all[UNITS_SIZE];

    if (!finding)
        return;
    if (has_trainer(input->framework))
        finding->severity = FINDING_INFO;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim, "%.1f %% of the loop's time is between epochs, outside any span",
               100 * share.mid);
    cause_text(finding->evidence, "%s of %s", units_duration(took, ns),
               units_duration(all, loop->wall_ns));
    cause_say_outside(finding, input, ns);
    cause_text(finding->check, "the row between of 'Run breakdown' should shrink");
}

static void find_own_code(struct diagnosis_input *input)
{
    const struct own_code code = look(input);

    if (code.samples >= OWN_SAMPLES && code.line)
        add_own(input, &code);
    find_waiting_line(input);
}

static void find_unnamed(struct diagnosis_input *input)
{
    const struct own_code code = look(input);

    add_unnamed(input, &code);
    add_unnamed_between(input);
}

const struct finding_kind finding_user_code = {
    .name = "user-code",
    .gist = "the script's own code takes a noticeable part of the step",
    .find = find_own_code,
    .said = {{&own_bands, OF_STEP, ""}},
    .ends =
        {{"inside the forward pass",
          "estimate: the line's share of the samples, at least the share in which the thread was seen waiting"},
         {"on a device", ENDS_ON_DEVICE}},
    .advice =
        "do it less often (every 50 steps), vectorised over the whole batch, or in a background thread",
    .given = "where stack samples do not show what the code does",
    .cases =
        {{"it writes logs or metrics", NULL,
          "log less often (every 50 steps), or hand the values to a background thread, such as logging.handlers.QueueHandler"},
         {"it steps environments of reinforcement learning", NULL,
          "step several environments at once (gymnasium.vector), or in other processes, and act on all of them in one call of the model"},
         {"it draws", NULL,
          "draw less often (every 50 steps), or write the numbers and draw them after the training"},
         {"its thread mostly waits", NULL,
          "do it less often (every 50 steps) or in a background thread: that code mostly waits, for a sleep, a disk, the network or a lock"}},
    .meaning =
        "The script's own code, between the framework's calls, takes a noticeable part of the step.",
    .computed =
        "Time of the steady steps outside any span (other), times the share of its stack samples in the hottest function or at the hottest line; "
        "each with its 95 % interval. "
        "Reported at 3 % or more. "
        "If no function or line has half of the script's samples, all of them together, at 10 % or more. "
        "A line that only waits inside the forward pass is found by the samples of that stage, as an estimate, if `stepscope run` saw the thread waiting.",
    .fixes = "Take the line out of the loop, do it less often or elsewhere. "
             "`stepscope report --hot` lists all lines.",
};

const struct finding_kind finding_instrument_more = {
    .name = "instrument-more",
    .gist = "part of the step is outside any span, and unexplained",
    .find = find_unnamed,
    .said = {{&unnamed_bands, OF_STEP, "in steps"}, {&cut_bands, OF_LOOP, "between epochs"}},
    .ends = {{"between epochs", ENDS_OF_CUT}, {"on a device", ENDS_ON_DEVICE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "name its parts: ss_begin() and ss_end() with a stage in C, with stepscope.stage(\"data\") in Python",
            [FRAMEWORK_TORCH] =
                "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): in the loop, @stepscope.timed on functions",
            [FRAMEWORK_KERAS] =
                "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): in the loop and in callbacks; "
                "inside a tf.function only its tracing is seen",
            [FRAMEWORK_JAX] =
                "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): around the calls; "
                "inside jax.jit only its tracing is seen",
        },
    .given = "always",
    .meaning =
        "Part of the step is unexplained: it is outside any span, and no stack samples point to a line.",
    .computed =
        "Time outside any span (other) that stack samples do not explain: reported at 10 % of the step or more.",
    .fixes =
        "Name the parts of the script: stepscope.stage() and stepscope.span() in Python, ss_begin() and ss_end() in C.",
};
