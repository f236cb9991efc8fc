/* Properties of the step model on thousands of random plays (support/oracle.h), and exact books of
 * random training scripts whose structure is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

enum { WILD_PLAYS = 3000, KNOWN_PLAYS = 1500, TRUNCATED_PLAYS = 300, LIVE_PLAYS = 200 };

static int64_t excess(const struct snapshot *snapshot)
{
    int64_t total = snapshot->negative_ns;
    for (size_t i = 0; i < snapshot->loop_count; i++)
        total += snapshot->loops[i].negative_ns;
    return total;
}

static void check_wild(uint64_t seed, unsigned options)
{
    struct script *s = script_new();
    wild_play(s, seed, 20 + (unsigned)(seed % 60), options, NULL, NULL);
    const struct snapshot *snapshot = script_finish(s);
    if (!(options & WILD_APPENDS))
        assert_int_equal(excess(snapshot), 0);
    script_free(s);
}

static void books_close_on_any_play(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, WILD_PLAYS)
    {
        check_wild(seed, 0);
        check_wild(seed, WILD_ONE_LANE);
    }
}

static void books_close_where_spans_were_appended_over_others(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, WILD_PLAYS)
    {
        check_wild(seed, WILD_APPENDS);
    }
}

struct tape {
    struct ss_record *record;
    uint32_t *process;
    size_t count, capacity;
};

static void record_tape(void *context, uint32_t process, const struct ss_record *record)
{
    struct tape *tape = context;
    if (tape->count == tape->capacity) {
        tape->capacity = tape->capacity ? tape->capacity * 2 : 1024;
        tape->record = realloc(tape->record, tape->capacity * sizeof *tape->record);
        tape->process = realloc(tape->process, tape->capacity * sizeof *tape->process);
    }
    tape->process[tape->count] = process;
    tape->record[tape->count++] = *record;
}

/* The first `count` records of a tape, as those of a run that was killed there. */
static void check_beginning(const struct tape *tape, size_t count, const struct script *script,
                            bool with_appends)
{
    struct model *model = model_new();
    int64_t last_ns = 0;
    for (uint32_t i = 0; i < 2; i++)
        model_process(model, i, script_facts(script, i));
    for (size_t i = 0; i < count; i++) {
        model_feed(model, tape->process[i], &tape->record[i]);
        last_ns = tape->record[i].time_ns;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct ss_process facts = *script_facts(script, i);
        facts.end_ns = last_ns;
        facts.end = SS_END_KILLED;
        model_process(model, i, &facts);
    }
    model_finish(model);
    struct snapshot *snapshot = model_snapshot(model);
    script_check_books(snapshot);
    if (!with_appends)
        assert_int_equal(excess(snapshot), 0);
    snapshot_free(snapshot);
    model_free(model);
}

static void check_beginnings(uint64_t seed, unsigned options)
{
    struct script *s = script_new();
    struct tape tape = {0};
    struct dice dice = dice_new(seed);
    script_tap(s, record_tape, &tape);
    wild_play(s, seed, 30, options, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        check_beginning(&tape, dice_below(&dice, (unsigned)tape.count + 1), s,
                        options & WILD_APPENDS);
    }
    free(tape.record);
    free(tape.process);
    script_free(s);
}

static void any_beginning_of_a_play_can_be_all_of_it(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, TRUNCATED_PLAYS)
    {
        check_beginnings(seed, 0);
        check_beginnings(seed, WILD_APPENDS);
    }
}

static void look(void *context, unsigned act)
{
    struct script *s = context;
    if (act % 7 == 3) {
        struct snapshot *snapshot = model_snapshot(script_model(s));
        assert_non_null(snapshot);
        script_check_books(snapshot);
        snapshot_free(snapshot);
    }
}

static void check_looks(uint64_t seed, unsigned options)
{
    struct script *quiet = script_new(), *watched = script_new();
    wild_play(quiet, seed, 50, options, NULL, NULL);
    wild_play(watched, seed, 50, options, look, watched);
    char *expected = snapshot_text(script_finish(quiet));
    char *found = snapshot_text(script_finish(watched));
    assert_string_equal(found, expected);
    free(expected);
    free(found);
    script_free(quiet);
    script_free(watched);
}

static void looking_at_a_live_model_changes_nothing(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, LIVE_PLAYS)
    {
        check_looks(seed, 0);
        check_looks(seed, WILD_APPENDS);
    }
}

/* A training script of known structure, in the words of torch: what it does is drawn once, and each
 * step's stages are added up as they are played. */
enum { STEPS_MOST = 400 };

struct truth {
    int64_t start_ns, time_ns, stage_ns[SS_STAGE_COUNT];
};

struct known {
    struct script *s;
    struct dice dice;
    unsigned setup, data, transfer, forward, backward, optimizer[3], zero, sync, callback, predict,
        save, gc, user, fit, evaluate, compile;
    unsigned micro_batches, optimizers, batches, epochs;
    bool announced, epoch_marks, named_eval, grad_off, in_span, teacher;
    struct truth step[STEPS_MOST];
    struct truth *now; /* the open step, NULL: none */
    size_t steps;
    bool updated; /* there was an update */
    int64_t segment_ns[MODEL_SEGMENT_COUNT];
    size_t seen;
};

static unsigned plain(struct known *k, const char *text, unsigned stage)
{
    return script_name(k->s, text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, "");
}

static unsigned adam(struct known *k, const char *object)
{
    return script_name(k->s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, object);
}

static struct known known_new(uint64_t seed)
{
    struct known k = {.s = script_new(), .dice = dice_new(seed)};
    k.setup = plain(&k, "iter", SS_STAGE_SETUP);
    k.data = plain(&k, "next", SS_STAGE_DATA);
    k.transfer = plain(&k, "to", SS_STAGE_TRANSFER);
    k.forward = plain(&k, "forward", SS_STAGE_FORWARD);
    k.backward = plain(&k, "backward", SS_STAGE_BACKWARD);
    k.optimizer[0] = adam(&k, "Adam");
    k.optimizer[1] = adam(&k, "Adam#2");
    k.optimizer[2] = adam(&k, "SGD");
    k.zero = plain(&k, "zero_grad", SS_STAGE_OPTIMIZER);
    k.sync = plain(&k, "item", SS_STAGE_SYNC);
    k.callback = script_name(k.s, "on_batch_end", SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_END, "");
    k.predict = plain(&k, "predict", SS_STAGE_INFER);
    k.save = plain(&k, "save", SS_STAGE_CHECKPOINT);
    k.gc = plain(&k, "gen2", SS_STAGE_GC);
    k.compile = plain(&k, "trace", SS_STAGE_COMPILE);
    k.user = plain(&k, "block", SS_STAGE_USER);
    k.evaluate = plain(&k, "evaluate", SS_STAGE_EVAL);
    k.fit = script_name(k.s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    k.micro_batches = 1 + dice_below(&k.dice, 4);
    k.optimizers = 1 + (dice_chance(&k.dice, 30) ? dice_below(&k.dice, 3) : 0);
    k.epochs = 1 + dice_below(&k.dice, 3);
    k.batches = 2 + dice_below(&k.dice, 25);
    k.announced = dice_chance(&k.dice, 50);
    k.epoch_marks = dice_chance(&k.dice, 50);
    k.named_eval = dice_chance(&k.dice, 30);
    k.grad_off = dice_chance(&k.dice, 70);
    k.in_span = dice_chance(&k.dice, 30);
    k.teacher = dice_chance(&k.dice, 30);
    return k;
}

/* Time passes: in a stage of the open step, or in a segment. */
static void spend(struct known *k, int stage, int segment, int64_t ns)
{
    script_pass(k->s, ns);
    if (segment != SEGMENT_STEADY_NS || !k->now) {
        k->segment_ns[segment] += ns;
    } else {
        k->now->time_ns += ns;
        k->now->stage_ns[stage] += ns;
    }
}

static int64_t some(struct known *k)
{
    return 1 + dice_below(&k->dice, 50);
}

/* A span in a step, sometimes interrupted by garbage collection or a compiler. */
static void in_step(struct known *k, unsigned name, int stage, unsigned flags)
{
    script_begin(k->s, name, flags);
    spend(k, stage, SEGMENT_STEADY_NS, some(k));
    if (dice_chance(&k->dice, 10)) {
        script_begin(k->s, k->gc, 0);
        spend(k, SS_STAGE_GC, SEGMENT_STEADY_NS, some(k));
        script_end(k->s, 0, 0);
        spend(k, stage, SEGMENT_STEADY_NS, some(k));
    }
    if (stage != SS_STAGE_DATA && dice_chance(&k->dice, 10)) {
        script_begin(k->s, k->compile, 0);
        spend(k, SS_STAGE_COMPILE, k->updated ? SEGMENT_STEADY_NS : SEGMENT_COMPILE_NS, some(k));
        script_end(k->s, 0, 0);
    }
    script_end(k->s, 0, 0);
    if (dice_chance(&k->dice, 50))
        spend(k, SS_STAGE_OTHER, SEGMENT_STEADY_NS, some(k));
}

/* A span outside steps, or of what is cut out of one. */
static void apart(struct known *k, unsigned name, int segment, unsigned flags)
{
    script_begin(k->s, name, flags);
    spend(k, 0, segment, some(k));
    script_end(k->s, 0, 0);
}

static void start_step(struct known *k)
{
    assert_true(k->steps < STEPS_MOST);
    k->now = &k->step[k->steps++];
    k->now->start_ns = script_now(k->s);
}

static void micro_batch(struct known *k, bool with_data)
{
    if (with_data)
        in_step(k, k->data, SS_STAGE_DATA, 0);
    if (dice_chance(&k->dice, 50))
        in_step(k, k->transfer, SS_STAGE_TRANSFER, 0);
    if (k->teacher)
        in_step(k, k->forward, SS_STAGE_FORWARD, SS_FLAG_EVAL);
    in_step(k, k->forward, SS_STAGE_FORWARD, SS_FLAG_TRAIN);
    in_step(k, k->backward, SS_STAGE_BACKWARD, 0);
}

static void evaluation(struct known *k)
{
    const unsigned flag = k->grad_off ? SS_FLAG_EVAL : SS_FLAG_TRAIN;
    if (k->named_eval)
        script_begin(k->s, k->evaluate, 0);
    apart(k, k->setup, SEGMENT_EVAL_NS, 0);
    for (unsigned left = 1 + dice_below(&k->dice, 4); left > 0; left--) {
        spend(k, 0, SEGMENT_EVAL_NS, some(k));
        apart(k, k->data, SEGMENT_EVAL_NS, 0);
        if (left == 2) /* one batch is left out */
            continue;
        if (dice_chance(&k->dice, 30))
            apart(k, k->sync, SEGMENT_EVAL_NS, 0);
        apart(k, k->forward, SEGMENT_EVAL_NS, flag);
    }
    apart(k, k->data, SEGMENT_EVAL_NS, SS_FLAG_FAILED);
    if (k->named_eval)
        script_end(k->s, 0, 0);
}

/* Whatever a callback does stays its own. */
static void callback(struct known *k)
{
    script_begin(k->s, k->callback, 0);
    spend(k, SS_STAGE_CALLBACK, SEGMENT_STEADY_NS, some(k));
    script_begin(k->s, k->predict, 0);
    script_begin(k->s, k->forward, SS_FLAG_EVAL);
    spend(k, SS_STAGE_CALLBACK, SEGMENT_STEADY_NS, some(k));
    script_end(k->s, 0, 0);
    script_end(k->s, 0, 0);
    script_end(k->s, 0, 0);
}

/* What follows an update, in any order, up to the next batch. */
static void afterwards(struct known *k)
{
    while (dice_chance(&k->dice, 40)) {
        switch (dice_below(&k->dice, 7)) {
        case 0:
            in_step(k, k->zero, SS_STAGE_OPTIMIZER, 0);
            break;
        case 1:
            in_step(k, k->sync, SS_STAGE_SYNC, 0);
            break;
        case 2:
            callback(k);
            break;
        case 3:
            apart(k, k->save, SEGMENT_CHECKPOINT_NS, 0);
            break;
        case 4:
            evaluation(k);
            break;
        case 5: /* next(iter(loader)) */
            in_step(k, k->setup, SS_STAGE_SETUP, 0);
            return;
        default:
            spend(k, SS_STAGE_OTHER, SEGMENT_STEADY_NS, some(k));
        }
    }
}

static void iteration(struct known *k)
{
    start_step(k);
    for (unsigned i = 0; i < k->optimizers; i++) {
        for (unsigned left = k->micro_batches; left > 0; left--)
            micro_batch(k, i == 0);
        in_step(k, k->optimizer[i], SS_STAGE_OPTIMIZER, 0);
        k->updated = true;
    }
    afterwards(k);
}

static void epoch(struct known *k, int before, int after)
{
    if (k->epoch_marks)
        script_point(k->s, SS_KIND_EPOCH_BEGIN, 0);
    spend(k, 0, before, some(k));
    apart(k, k->setup, before, 0);
    if (dice_chance(&k->dice, 50))
        spend(k, 0, before, some(k));
    for (unsigned i = 0; i < k->batches; i++)
        iteration(k);
    k->now = NULL;
    if (!k->epoch_marks || dice_chance(&k->dice, 50)) {
        apart(k, k->data, after, SS_FLAG_FAILED);
        apart(k, k->sync, after, 0);
    }
    if (k->epoch_marks)
        script_point(k->s, SS_KIND_EPOCH_END, 0);
    if (dice_chance(&k->dice, 50))
        evaluation(k);
    apart(k, k->callback, after, 0);
}

static void play_known(struct known *k)
{
    spend(k, 0, SEGMENT_STARTUP_NS, some(k));
    apart(k, k->transfer, SEGMENT_STARTUP_NS, 0);
    apart(k, k->forward, SEGMENT_STARTUP_NS, SS_FLAG_TRAIN); /* to see that it works */
    if (k->in_span)
        script_begin(k->s, k->user, 0);
    if (k->announced)
        script_point(k->s, SS_KIND_LOOP_BEGIN, k->fit);
    for (unsigned i = 0; i < k->epochs; i++) {
        bool last = i + 1 == k->epochs && !k->announced;
        epoch(k, i == 0 ? SEGMENT_STARTUP_NS : SEGMENT_BETWEEN_NS,
              last ? SEGMENT_TEARDOWN_NS : SEGMENT_BETWEEN_NS);
    }
    if (k->announced)
        script_point(k->s, SS_KIND_LOOP_END, 0);
    if (k->in_span)
        script_end(k->s, 0, 0);
    spend(k, 0, SEGMENT_TEARDOWN_NS, some(k));
}

static void compare_step(void *context, const struct model_step *step)
{
    struct known *k = context;
    assert_true(k->seen < k->steps);
    const struct truth *truth = &k->step[k->seen++];
    assert_int_equal(step->start_ns, truth->start_ns);
    assert_int_equal(step->time_ns, truth->time_ns);
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        assert_int_equal(step->stage_ns[i], truth->stage_ns[i]);
    assert_true(step->counted);
}

static void known_scripts_have_exactly_their_books(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, KNOWN_PLAYS)
    {
        struct known *k = malloc(sizeof *k);
        *k = known_new(seed);
        model_observe(script_model(k->s), compare_step, k);
        play_known(k);
        const struct snapshot *snapshot = script_finish(k->s);
        assert_int_equal(snapshot->loop_count, 1);
        assert_int_equal(snapshot->loops[0].steps, k->steps);
        assert_int_equal(k->seen, k->steps);
        assert_int_equal(snapshot->loops[0].updates, k->steps * k->optimizers);
        assert_int_equal(snapshot->loops[0].batches, k->steps * k->micro_batches);
        for (size_t i = 0; i < k->steps; i++)
            k->segment_ns[SEGMENT_STEADY_NS] += k->step[i].time_ns;
        int64_t *books = snapshot->threads[0].segment_ns;
        books[SEGMENT_STEADY_NS] += books[SEGMENT_WARMUP_NS];
        books[SEGMENT_WARMUP_NS] = 0;
        for (int i = 0; i < MODEL_SEGMENT_COUNT; i++)
            assert_int_equal(books[i], k->segment_ns[i]);
        script_free(k->s);
        free(k);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(books_close_on_any_play, seeds_tell),
        cmocka_unit_test_teardown(books_close_where_spans_were_appended_over_others, seeds_tell),
        cmocka_unit_test_teardown(any_beginning_of_a_play_can_be_all_of_it, seeds_tell),
        cmocka_unit_test_teardown(looking_at_a_live_model_changes_nothing, seeds_tell),
        cmocka_unit_test_teardown(known_scripts_have_exactly_their_books, seeds_tell),
    };
    seeds_choose(argc, argv);
    return cmocka_run_group_tests_name("the step model on random plays", tests, NULL, NULL);
}
