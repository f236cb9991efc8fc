/* Stacks of the loop's getting of its next batch, told from other code of the script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/script.h"

enum { STEPS = 30, DEPTH = 4 };

/* Numbers of frames: 0 ends a stack. */
enum {
    MAIN = 1, /* calls train() */
    MAIN_FOR, /* or loops over it */
    TRAIN_FOR,
    TRAIN_CALL,
    TRAIN_FORWARD, /* in the body of that loop */
    TRAIN_BEFORE,  /* loops before and after that */
    TRAIN_AFTER,
    BATCHES,
    STEPS_CALL, /* of a generator that trains */
    STEPS_FORWARD,
    HELPER_FOR,
    EXPRESSION,
    LIBRARY,
    LIBRARY_GENERATOR,
    FRAMES
};

static const struct {
    const char *function, *file;
    uint32_t line;
    uint16_t body;
    uint8_t traits;
} frames[FRAMES] = {
    [MAIN] = {"<module>", "train.py", 90, 0, 0},
    [MAIN_FOR] = {"<module>", "train.py", 91, 4, SS_FRAME_FOR},
    [TRAIN_FOR] = {"train", "train.py", 10, 20, SS_FRAME_FOR},
    [TRAIN_CALL] = {"train", "train.py", 12, 0, 0},
    [TRAIN_FORWARD] = {"train", "train.py", 15, 0, 0},
    [TRAIN_BEFORE] = {"train", "train.py", 12, 1, SS_FRAME_FOR},
    [TRAIN_AFTER] = {"train", "train.py", 25, 2, SS_FRAME_FOR},
    [BATCHES] = {"batches", "input.py", 3, 0, SS_FRAME_GENERATOR},
    [STEPS_CALL] = {"steps", "train.py", 50, 0, SS_FRAME_GENERATOR},
    [STEPS_FORWARD] = {"steps", "train.py", 52, 0, SS_FRAME_GENERATOR},
    [HELPER_FOR] = {"helper", "train.py", 70, 3, SS_FRAME_FOR},
    [EXPRESSION] = {"train.<locals>.<genexpr>", "train.py", 13, 0, SS_FRAME_GENERATOR},
    [LIBRARY] = {"__enter__", "/usr/lib/python3.11/contextlib.py", 137, 0, 0},
    [LIBRARY_GENERATOR] = {"__iter__", "/x/site-packages/tqdm/std.py", 9, 2,
                           SS_FRAME_GENERATOR | SS_FRAME_FOR},
};

static void tell_frames(struct script *script)
{
    for (uint32_t id = 1; id < FRAMES; id++) {
        struct ss_record record = {.kind = SS_KIND_FRAME, .time_ns = script_now(script)};
        record.u.text.a = (struct ss_text){frames[id].function, strlen(frames[id].function)};
        record.u.text.b = (struct ss_text){frames[id].file, strlen(frames[id].file)};
        record.u.text.id = id;
        record.u.text.line = frames[id].line;
        record.u.text.body = frames[id].body;
        record.u.text.traits = frames[id].traits;
        model_feed(script_model(script), 0, &record);
    }
}

static void sample(struct script *script, const uint32_t stack[DEPTH])
{
    struct ss_record record = {.kind = SS_KIND_SAMPLE,
                               .tid = script_facts(script, 0)->pid,
                               .lane = 9,
                               .time_ns = script_now(script)};
    record.u.sample.frame = stack;
    while (record.u.sample.frames < DEPTH && stack[record.u.sample.frames])
        record.u.sample.frames++;
    model_feed(script_model(script), 0, &record);
}

static uint64_t count_with(enum ss_stage stage, const uint32_t forward[DEPTH],
                           const uint32_t other[DEPTH])
{
    struct script *s = script_new();
    const unsigned name = script_name(s, "forward", stage, 0, 0, "Net");
    uint64_t count = 0;
    tell_frames(s);
    script_lane(s, 1);
    for (int i = 0; i < STEPS; i++) {
        script_point(s, SS_KIND_STEP, 1);
        script_begin(s, name, 0);
        script_pass(s, 10);
        sample(s, forward);
        script_pass(s, 10);
        script_end(s, 0, 0);
        script_pass(s, 10);
        sample(s, other);
        script_pass(s, 10);
    }
    script_point(s, SS_KIND_STEP, 1);
    const struct snap_hot *hot = &script_finish(s)->hot;
    assert_int_equal(hot->place_samples[SS_STAGE_OTHER], STEPS);
    for (size_t i = 0; i < hot->line_count; i++) {
        assert_true(hot->lines[i].place == SS_STAGE_OTHER || !hot->lines[i].batch_count);
        count += hot->lines[i].batch_count;
    }
    script_free(s);
    return count;
}

/* How many samples of `other` are the next batch's, if each step has one of either stack. With
 * calls that return early it is the wait for them that shows where the training is. */
static uint64_t count_batches(const uint32_t forward[DEPTH], const uint32_t other[DEPTH])
{
    const uint64_t count = count_with(SS_STAGE_FORWARD, forward, other);
    assert_int_equal(count_with(SS_STAGE_SYNC, forward, other), count);
    return count;
}

static void the_loop_that_trains_gets_batches(void **state)
{
    static const uint32_t forward[DEPTH] = {TRAIN_FORWARD, MAIN};
    static const uint32_t batches[][DEPTH] = {
        {TRAIN_FOR, MAIN},
        {BATCHES, TRAIN_FOR, MAIN},
        {LIBRARY, TRAIN_FOR, MAIN},
        {BATCHES, LIBRARY_GENERATOR, TRAIN_FOR, MAIN},
        {HELPER_FOR, BATCHES, TRAIN_FOR, MAIN},
        {BATCHES, TRAIN_CALL, MAIN}, /* next() */
    };
    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        assert_int_equal(count_batches(forward, batches[i]), STEPS);
}

static void other_code_does_not(void **state)
{
    static const uint32_t forward[DEPTH] = {TRAIN_FORWARD, MAIN};
    static const uint32_t others[][DEPTH] = {
        {TRAIN_CALL, MAIN},
        {TRAIN_BEFORE, MAIN},
        {BATCHES, TRAIN_BEFORE, MAIN},
        {BATCHES, TRAIN_AFTER, MAIN},
        {BATCHES, HELPER_FOR, TRAIN_CALL, MAIN},
        {BATCHES, LIBRARY, TRAIN_CALL, MAIN}, /* a context manager */
        {EXPRESSION, TRAIN_CALL, MAIN},
        {LIBRARY_GENERATOR, TRAIN_CALL, MAIN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(count_batches(forward, others[i]), 0);
}

static void a_generator_that_trains_is_no_input(void **state)
{
    static const uint32_t forward[DEPTH] = {STEPS_FORWARD, MAIN_FOR};
    static const uint32_t other[DEPTH] = {STEPS_CALL, MAIN_FOR};
    (void)state;
    assert_int_equal(count_batches(forward, other), 0);
}

static void without_the_training_nothing_is_known(void **state)
{
    static const uint32_t forward[DEPTH] = {LIBRARY};
    static const uint32_t other[DEPTH] = {BATCHES, TRAIN_FOR, MAIN};
    (void)state;
    assert_int_equal(count_batches(forward, other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_that_trains_gets_batches),
        cmocka_unit_test(other_code_does_not),
        cmocka_unit_test(a_generator_that_trains_is_no_input),
        cmocka_unit_test(without_the_training_nothing_is_known),
    };
    return cmocka_run_group_tests_name("batches in stack samples", tests, NULL, NULL);
}
