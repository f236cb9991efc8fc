#include "support/oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The state is rolled itself: rows of neighbours that only differ in where they begin would be of
 * one row. */
struct dice dice_new(uint64_t seed)
{
    struct dice dice = {seed};
    dice.state = dice_roll(&dice);
    return dice;
}

uint64_t dice_roll(struct dice *dice)
{
    uint64_t x = dice->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

unsigned dice_below(struct dice *dice, unsigned limit)
{
    return (unsigned)(dice_roll(dice) >> 32) % limit;
}

bool dice_chance(struct dice *dice, unsigned percent)
{
    return dice_below(dice, 100) < percent;
}

struct seeds seeds;

void seeds_choose(int argc, char **argv)
{
    if (argc > 1) {
        seeds.first = strtoull(argv[1], NULL, 10);
        seeds.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    }
}

int seeds_tell(void **state)
{
    (void)state;
    print_message("last seed: %llu\n", (unsigned long long)seeds.now);
    return 0;
}

/* What there is to record: one name at least for each stage, role and scope that matters. */
static const struct {
    const char *text;
    unsigned stage, role, scope;
    const char *object;
} cast[] = {
    {"next", SS_STAGE_DATA, 0, 0, ""},
    {"to", SS_STAGE_TRANSFER, 0, 0, ""},
    {"forward", SS_STAGE_FORWARD, 0, 0, ""},
    {"backward", SS_STAGE_BACKWARD, 0, 0, ""},
    {"step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam"},
    {"step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "SGD"},
    {"step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam#2"},
    {"zero_grad", SS_STAGE_OPTIMIZER, 0, 0, ""},
    {"setup", SS_STAGE_SETUP, 0, 0, ""},
    {"call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, "model"},
    {"call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, "opponent"},
    {"call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, "other"},
    {"grad_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, 0, "grad_fn"},
    {"apply_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, 0, "apply_fn"},
    {"eval_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, 0, "eval_fn"},
    {"fused", SS_STAGE_COMPUTE, 0, 0, ""},
    {"test", SS_STAGE_COMPUTE, SS_ROLE_EVAL_CALL, 0, ""},
    {"reduce", SS_STAGE_COMM, 0, 0, ""},
    {"item", SS_STAGE_SYNC, 0, 0, ""},
    {"on_batch_begin", SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_BEGIN, ""},
    {"on_batch_end", SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_END, ""},
    {"on_epoch_end", SS_STAGE_CALLBACK, 0, SS_SCOPE_EPOCH_END, ""},
    {"evaluate", SS_STAGE_EVAL, 0, 0, ""},
    {"predict", SS_STAGE_INFER, 0, 0, ""},
    {"save", SS_STAGE_CHECKPOINT, 0, 0, ""},
    {"trace", SS_STAGE_COMPILE, 0, 0, ""},
    {"gen2", SS_STAGE_GC, 0, 0, ""},
    {"make", SS_STAGE_PRODUCE, 0, 0, ""},
    {"block", SS_STAGE_USER, 0, 0, ""},
    {"epoch", SS_STAGE_USER, SS_ROLE_EPOCH, 0, ""},
    {"fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, ""},
};
enum {
    CAST = sizeof cast / sizeof cast[0],
    DATA = 0,
    FORWARD = 2,
    BACKWARD = 3,
    ADAM = 4, /* three of them */
    SETUP = 8,
    CALL = 9, /* three of them */
    GRAD_FN = 12,
    APPLY_FN = 13,
    EVAL_FN = 14,
    FUSED = 15,
    SYNC = 18,
    BATCH_END = 20,
    EVALUATE = 22,
    SAVE = 24,
    GC = 26,
    FIT = 30,
    DEEPEST = 8
};

struct wild {
    struct script *s;
    struct dice dice;
    unsigned options;
    unsigned names[CAST];
    unsigned noise, points, trouble; /* percent */
    unsigned habits;                 /* which scenes are played: bits */
};

static void pass(struct wild *w)
{
    static const unsigned most[] = {1, 5, 20, 100, 3000};
    script_pass(w->s, dice_below(&w->dice, most[dice_below(&w->dice, 5)]));
}

static unsigned odd_flags(struct wild *w)
{
    static const unsigned odd[] = {SS_FLAG_TRAIN,   SS_FLAG_EVAL,     SS_FLAG_FAILED,
                                   SS_FLAG_OVERLAY, SS_FLAG_PRODUCER, SS_FLAG_ESTIMATE};
    unsigned flags = 0;
    while (dice_chance(&w->dice, 30))
        flags |= odd[dice_below(&w->dice, 6)];
    if (dice_chance(&w->dice, w->trouble))
        flags |= dice_chance(&w->dice, 50) ? SS_FLAG_PERTURBED : SS_FLAG_UNFINISHED;
    return flags;
}

static void noise(struct wild *w);

static void span(struct wild *w, unsigned who, unsigned flags, int64_t arg)
{
    if (script_depth(w->s) >= DEEPEST)
        return;
    script_begin(w->s, w->names[who], flags);
    pass(w);
    if (dice_chance(&w->dice, w->noise)) {
        noise(w);
        pass(w);
    }
    if (dice_chance(&w->dice, w->trouble))
        script_drop(w->s);
    else
        script_end(w->s, 0, arg);
    if (dice_chance(&w->dice, w->noise))
        noise(w);
    pass(w);
}

static void append(struct wild *w)
{
    int64_t end = script_now(w->s) - dice_below(&w->dice, 50);
    int64_t start = end - dice_below(&w->dice, 200);
    script_append(w->s, w->names[dice_below(&w->dice, CAST)], odd_flags(w),
                  start > 1000 ? start : 1000, end > 1000 ? end : 1000);
}

static void point(struct wild *w)
{
    static const unsigned kinds[] = {SS_KIND_EPOCH_BEGIN, SS_KIND_EPOCH_END, SS_KIND_LOOP_BEGIN,
                                     SS_KIND_LOOP_END,    SS_KIND_STEP,      SS_KIND_LOST};
    unsigned kind = kinds[dice_below(&w->dice, w->habits & 1 ? 6 : 4)];
    script_point(w->s, kind, kind == SS_KIND_LOOP_BEGIN ? w->names[FIT] : 3);
}

static void noise(struct wild *w)
{
    unsigned kind = dice_below(&w->dice, 10);
    if (kind < 2 && dice_chance(&w->dice, w->points))
        point(w);
    else if (kind == 2 && w->options & WILD_APPENDS)
        append(w);
    else
        span(w, dice_below(&w->dice, CAST), odd_flags(w), dice_below(&w->dice, 4));
}

static void batch(struct wild *w, unsigned optimizer)
{
    bool with_data = dice_chance(&w->dice, 80);
    for (unsigned micro = dice_chance(&w->dice, 20) ? 3 : 1; micro > 0; micro--) {
        if (with_data)
            span(w, DATA, 0, 0);
        if (dice_chance(&w->dice, 10))
            span(w, FORWARD, SS_FLAG_EVAL, 0); /* a teacher */
        span(w, FORWARD, SS_FLAG_TRAIN, 0);
        span(w, BACKWARD, 0, 0);
    }
    span(w, optimizer, 0, 0);
}

static void train(struct wild *w)
{
    unsigned second = ADAM + dice_below(&w->dice, 3);
    unsigned first = ADAM + dice_below(&w->dice, w->habits & 2 ? 3 : 1);
    for (unsigned left = dice_below(&w->dice, 24); left > 0; left--) {
        batch(w, first);
        if (w->habits & 4)
            batch(w, second);
    }
    if (dice_chance(&w->dice, 50))
        span(w, DATA, SS_FLAG_FAILED, 0);
}

static void evaluate(struct wild *w)
{
    if (dice_chance(&w->dice, 50))
        span(w, SETUP, 0, 0);
    for (unsigned left = dice_below(&w->dice, 5); left > 0; left--) {
        span(w, DATA, 0, 0);
        if (dice_chance(&w->dice, 80))
            span(w, FORWARD, dice_chance(&w->dice, 70) ? SS_FLAG_EVAL : SS_FLAG_TRAIN, 0);
    }
    if (dice_chance(&w->dice, 70))
        span(w, DATA, SS_FLAG_FAILED, 0);
}

/* Of one function, of several by turns, or of one for now and then. */
static void call(struct wild *w)
{
    const unsigned functions = 1 + (w->habits >> 8 & 3) % 3;
    const bool by_turns = w->habits >> 10 & 1;
    for (unsigned i = 0, count = dice_below(&w->dice, 24); i < count; i++) {
        const unsigned who = by_turns ? i % functions : dice_below(&w->dice, functions);
        if (dice_chance(&w->dice, 30))
            span(w, DATA, 0, 0);
        span(w, CALL + who, SS_FLAG_TRAIN, dice_below(&w->dice, 5));
        if (dice_chance(&w->dice, 50))
            span(w, BATCH_END, 0, 0);
    }
    if (dice_chance(&w->dice, 50))
        span(w, CALL, SS_FLAG_FAILED, 0);
}

static void jitted(struct wild *w)
{
    unsigned train = dice_chance(&w->dice, 50) ? SS_FLAG_TRAIN : 0;
    for (unsigned left = dice_below(&w->dice, 40); left > 0; left--) {
        span(w, GRAD_FN + dice_below(&w->dice, 2), train, 0);
        if (dice_chance(&w->dice, 10))
            span(w, EVAL_FN, 0, 0);
        if (dice_chance(&w->dice, 10))
            span(w, SYNC, 0, 0);
    }
}

static void closed(struct wild *w)
{
    static const unsigned which[] = {EVALUATE, SAVE, BATCH_END, GC};
    span(w, which[dice_below(&w->dice, 4)], 0, 0);
}

static void move(struct wild *w)
{
    if (w->options & WILD_ONE_LANE)
        return;
    uint32_t lane = 1 + dice_below(&w->dice, 4);
    script_process(w->s, lane > 2, -1);
    script_lane(w->s, lane);
    if (dice_chance(&w->dice, w->trouble))
        script_new_owner(w->s);
}

/* Opens a span that stays open, or closes one. */
static void hang(struct wild *w)
{
    if (script_depth(w->s) > 0 && dice_chance(&w->dice, 60)) {
        script_end(w->s, 0, 0);
    } else if (script_depth(w->s) < DEEPEST / 2) {
        unsigned who = dice_chance(&w->dice, 70) ? CAST - 3 : dice_below(&w->dice, CAST);
        script_begin(w->s, w->names[who], 0);
    }
}

static void act(struct wild *w)
{
    static void (*const scenes[])(struct wild * w) = {train, evaluate, closed, noise, noise, pass,
                                                      move,  hang,     jitted, call,  point};
    unsigned scene;
    do {
        scene = dice_below(&w->dice, 11);
    } while (scene > 6 && !(w->habits >> (scene - 3) & 1));
    scenes[scene](w);
}

void wild_play(struct script *script, uint64_t seed, unsigned acts, unsigned options,
               void (*between)(void *context, unsigned act), void *context)
{
    struct wild w = {.s = script, .dice = dice_new(seed), .options = options};
    static const unsigned levels[] = {0, 0, 2, 10, 40};
    w.noise = levels[dice_below(&w.dice, 5)];
    w.points = levels[dice_below(&w.dice, 5)];
    w.trouble = dice_chance(&w.dice, 50) ? 0 : levels[dice_below(&w.dice, 4)];
    w.habits = (unsigned)dice_roll(&w.dice);
    script_process(script, 1, 0);
    script_process(script, 0, -1);
    for (unsigned i = 0; i < CAST; i++) {
        w.names[i] = script_name(script, cast[i].text, cast[i].stage, cast[i].role, cast[i].scope,
                                 cast[i].object);
    }
    for (unsigned i = 0; i < acts; i++) {
        if (between)
            between(context, i);
        act(&w);
    }
}

static void put_numbers(FILE *out, const char *what, const int64_t *number, size_t count)
{
    fprintf(out, "%s", what);
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %lld", (long long)number[i]);
    fputc('\n', out);
}

static void put_interval(FILE *out, const char *what, struct interval interval)
{
    fprintf(out, "%s %a %a %a\n", what, interval.low, interval.mid, interval.high);
}

static void put_quantiles(FILE *out, const struct snap_quantiles *q)
{
    fprintf(out, "quantiles %a %a %a %a %lld\n", q->p50_ns, q->p90_ns, q->p95_ns, q->p99_ns,
            (long long)q->max_ns);
}

static void put_stages(FILE *out, const struct snap_loop *loop)
{
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const struct snap_stage *stage = &loop->stage[i];
        fprintf(out, "stage %d %d %lld %a\n", i, stage->measured, (long long)stage->total_ns,
                stage->mean_ns);
        put_interval(out, "share", stage->share);
        put_quantiles(out, &stage->quantiles);
    }
}

static void put_course(FILE *out, const struct snap_loop *loop)
{
    for (size_t i = 0; i < loop->change.shift_count; i++)
        fprintf(out, "shift %lld\n", (long long)loop->shift_step[i]);
    for (int i = 0; i < loop->periods; i++)
        fprintf(out, "period %lld\n", (long long)loop->period[i].steps);
    for (int i = 0; i < loop->slow_count; i++) {
        put_numbers(out, "slow", &loop->slowest[i].number, 3);
        put_numbers(out, "stages", loop->slowest[i].stage_ns, SS_STAGE_COUNT);
    }
    for (size_t i = 0; i < loop->epoch_count; i++)
        put_numbers(out, "epoch", &loop->epochs[i].number, 6);
}

static void put_loop(FILE *out, const struct snap_loop *loop)
{
    fprintf(out, "loop %u %u %u %d %s %d %d\n", loop->process, loop->tid, loop->lane, loop->rank,
            loop->name, (int)loop->source, loop->ended);
    const int64_t whole[] = {loop->begin_ns,     loop->end_ns,       loop->wall_ns,
                             loop->negative_ns,  loop->steps,        loop->updates,
                             loop->batches,      loop->samples,      loop->flagged_steps,
                             loop->warmup.start, loop->warmup_steps, loop->warmup_ns,
                             loop->steady_steps, loop->steady_ns,    loop->window_steps,
                             loop->max_step,     loop->epochs_seen,  loop->more_steps_needed};
    put_numbers(out, "numbers", whole, sizeof whole / sizeof whole[0]);
    put_numbers(out, "segments", loop->segment_ns, MODEL_SEGMENT_COUNT);
    fprintf(out, "of steps %a %a %a\n", loop->mad_ns, loop->spike_tax, loop->overall_steps_per_s);
    put_quantiles(out, &loop->quantiles);
    put_interval(out, "step", loop->step_ns);
    put_interval(out, "steps/s", loop->steps_per_s);
    put_interval(out, "samples/s", loop->samples_per_s);
    put_interval(out, "batches/s", loop->batches_per_s);
    put_interval(out, "bytes/s", loop->bytes_per_s);
    put_interval(out, "left", loop->left_ns);
    put_stages(out, loop);
    put_course(out, loop);
}

static void put_thread(FILE *out, const struct snap_thread *thread)
{
    fprintf(out, "thread %u %u %d %lld %lld\n", thread->process, thread->tid, thread->rank,
            (long long)thread->begin_ns, (long long)thread->wall_ns);
    put_numbers(out, "segments", thread->segment_ns, MODEL_SEGMENT_COUNT);
}

static void put_span(FILE *out, const struct snap_span *span)
{
    fprintf(out, "span %s %s %d %d %d %llu %llu %lld %lld %a\n", span->text, span->object,
            span->stage, span->role, span->scope, (unsigned long long)span->count,
            (unsigned long long)span->failed, (long long)span->total_ns, (long long)span->self_ns,
            span->mean_ns);
    put_quantiles(out, &span->quantiles);
    put_interval(out, "share", span->share);
}

char *snapshot_text(const struct snapshot *snapshot)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const int64_t whole[] = {snapshot->begin_ns,
                             snapshot->end_ns,
                             snapshot->negative_ns,
                             (int64_t)snapshot->records,
                             (int64_t)snapshot->spans_seen,
                             (int64_t)snapshot->lost_records,
                             (int64_t)snapshot->orphan_spans,
                             (int64_t)snapshot->forgotten_loops};
    put_numbers(out, "run", whole, sizeof whole / sizeof whole[0]);
    for (size_t i = 0; i < snapshot->loop_count; i++)
        put_loop(out, &snapshot->loops[i]);
    for (size_t i = 0; i < snapshot->thread_count; i++)
        put_thread(out, &snapshot->threads[i]);
    for (size_t i = 0; i < snapshot->span_count; i++)
        put_span(out, &snapshot->spans[i]);
    fclose(out);
    return text;
}
