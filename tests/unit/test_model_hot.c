/* Stack samples and the stages that had the thread then, in plays with exact times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/script.h"

enum { MAIN_FRAME = 7, WORK_FRAME, LIBRARY_FRAME, LATER_FRAME, EVALUATE_FRAME, STEPS = 30 };

struct play {
    struct script *script;
    unsigned data, user, optimizer, sync, eval;
};

static void tell_frame(struct play *play, uint32_t id, const char *function, const char *file,
                       uint32_t line)
{
    struct ss_record record = {.kind = SS_KIND_FRAME, .time_ns = script_now(play->script)};
    record.u.text.a = (struct ss_text){function, strlen(function)};
    record.u.text.b = (struct ss_text){file, strlen(file)};
    record.u.text.id = id;
    record.u.text.line = line;
    model_feed(script_model(play->script), 0, &record);
}

/* Innermost first. */
static void sample_stack(struct play *play, uint32_t tid, const uint32_t *frames, uint32_t count)
{
    struct ss_record record = {
        .kind = SS_KIND_SAMPLE, .tid = tid, .lane = 9, .time_ns = script_now(play->script)};
    record.u.sample.frame = frames;
    record.u.sample.frames = count;
    model_feed(script_model(play->script), 0, &record);
}

static void sample(struct play *play, uint32_t tid, uint32_t leaf)
{
    const uint32_t frames[] = {leaf, MAIN_FRAME};
    sample_stack(play, tid, frames, 2);
}

static uint32_t main_tid(const struct play *play)
{
    return script_facts(play->script, 0)->pid;
}

static struct play begin(void)
{
    struct play play = {.script = script_new()};
    struct script *s = play.script;
    play.data = script_name(s, "next", SS_STAGE_DATA, 0, 0, "");
    play.user = script_name(s, "mine", SS_STAGE_USER, 0, 0, "");
    play.optimizer = script_name(s, "step", SS_STAGE_OPTIMIZER, 0, 0, "Adam");
    play.sync = script_name(s, "item", SS_STAGE_SYNC, 0, 0, "");
    play.eval = script_name(s, "evaluate", SS_STAGE_EVAL, 0, 0, "");
    tell_frame(&play, MAIN_FRAME, "main", "train.py", 12);
    tell_frame(&play, WORK_FRAME, "work", "/home/x/work.py", 3);
    tell_frame(&play, LIBRARY_FRAME, "wait", "/usr/lib/python3.11/threading.py", 300);
    tell_frame(&play, LATER_FRAME, "main", "train.py", 20);
    tell_frame(&play, EVALUATE_FRAME, "evaluate", "train.py", 40);
    script_lane(s, 1);
    return play;
}

static const struct snap_hot_line *find(const struct snapshot *snapshot, uint32_t place,
                                        const char *function)
{
    for (size_t i = 0; i < snapshot->hot.line_count; i++) {
        const struct snap_hot_line *line = &snapshot->hot.lines[i];
        if (line->place == place && strcmp(line->at.function, function) == 0)
            return line;
    }
    return NULL;
}

static uint64_t count_at(const struct snapshot *snapshot, uint32_t place, const char *function)
{
    const struct snap_hot_line *line = find(snapshot, place, function);
    return line ? line->count : 0;
}

/* A sample in each of: data, optimizer with a sync in it, a name of the user, nothing. */
static void one_step(struct play *play)
{
    struct script *s = play->script;
    script_point(s, SS_KIND_STEP, 1);
    script_begin(s, play->data, 0);
    script_pass(s, 10);
    sample(play, main_tid(play), LIBRARY_FRAME);
    script_pass(s, 10);
    script_end(s, 0, 0);
    script_begin(s, play->optimizer, 0);
    script_pass(s, 5);
    script_begin(s, play->sync, 0);
    script_pass(s, 5);
    sample(play, main_tid(play), WORK_FRAME);
    script_pass(s, 5);
    script_end(s, 0, 0);
    script_end(s, 0, 0);
    script_begin(s, play->user, 0);
    script_pass(s, 5);
    sample(play, main_tid(play), WORK_FRAME);
    script_pass(s, 5);
    script_end(s, 0, 0);
    script_pass(s, 5);
    sample(play, main_tid(play), MAIN_FRAME);
    script_pass(s, 5);
}

static void samples_belong_to_the_innermost_stage_around_them(void **state)
{
    (void)state;
    struct play play = begin();
    for (int i = 0; i < STEPS; i++)
        one_step(&play);
    script_point(play.script, SS_KIND_STEP, 1);
    const struct snapshot *snapshot = script_finish(play.script);
    assert_int_equal(snapshot->hot.samples, 4 * STEPS);
    assert_int_equal(snapshot->hot.unplaced, 0);
    assert_int_equal(count_at(snapshot, SS_STAGE_DATA, "main"), STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_OPTIMIZER, "work"), STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_SYNC, "work"), 0);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "work"), STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "main"), STEPS);
    const struct snap_hot_line *line = find(snapshot, SS_STAGE_DATA, "main");
    assert_string_equal(line->leaf.function, "wait"); /* a library is not the script */
    assert_int_equal(line->at.line, 12);
    line = find(snapshot, SS_STAGE_OTHER, "main");
    assert_true(line->share.mid == 0.5 && line->share.low < 0.41 && line->share.low > 0.35);
    script_free(play.script);
}

static void a_look_in_between_changes_nothing(void **state)
{
    (void)state;
    struct play play = begin();
    for (int i = 0; i < STEPS; i++) {
        one_step(&play);
        script_span(play.script, play.data, 0,
                    10); /* the sample before is known to be in no span */
        script_look(play.script);
    }
    script_point(play.script, SS_KIND_STEP, 1);
    const struct snapshot *snapshot = script_finish(play.script);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "work"), STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "main"), STEPS);
    script_free(play.script);
}

static void what_is_before_the_first_step_is_outside(void **state)
{
    (void)state;
    struct play play = begin();
    script_pass(play.script, 100);
    sample(&play, main_tid(&play), WORK_FRAME);
    script_pass(play.script, 100);
    for (int i = 0; i < STEPS; i++)
        one_step(&play);
    script_point(play.script, SS_KIND_STEP, 1); /* ends the last one */
    const struct snapshot *snapshot = script_finish(play.script);
    assert_int_equal(count_at(snapshot, SNAP_HOT_OUTSIDE, "work"), 1);
    script_free(play.script);
}

/* An iterator that takes long to go when it has nothing left is no part of any step, though the
 * loop goes on. */
static void what_is_between_epochs_is_outside(void **state)
{
    (void)state;
    enum { EPOCHS = 3, LONG = 5 };
    struct play play = begin();
    struct script *s = play.script;
    const unsigned update = script_name(s, "update", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam");
    for (int i = 0; i < EPOCHS; i++) {
        for (int k = 0; k < STEPS; k++) {
            script_span(s, play.data, SS_FLAG_TRAIN, 10);
            script_pass(s, 10);
            sample(&play, main_tid(&play), WORK_FRAME);
            script_pass(s, 10);
            script_span(s, update, SS_FLAG_TRAIN, 10);
        }
        script_span(s, play.data, SS_FLAG_TRAIN | SS_FLAG_FAILED, 1);
        for (int k = 0; k < LONG; k++) {
            script_pass(s, 1000);
            sample(&play, main_tid(&play), MAIN_FRAME);
        }
        script_pass(s, 1000);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 1);
    assert_int_equal(snapshot->loops[0].steps, EPOCHS * STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "work"), EPOCHS * STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_OTHER, "main"), 0);
    assert_int_equal(count_at(snapshot, SNAP_HOT_OUTSIDE, "main"), EPOCHS * LONG);
    script_free(s);
}

static void inside_evaluation_all_is_evaluation(void **state)
{
    (void)state;
    struct play play = begin();
    struct script *s = play.script;
    for (int i = 0; i < STEPS; i++) {
        one_step(&play);
        script_begin(s, play.eval, 0);
        script_begin(s, play.data, 0);
        script_pass(s, 5);
        sample(&play, main_tid(&play), WORK_FRAME);
        script_pass(s, 5);
        script_end(s, 0, 0);
        script_end(s, 0, 0);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(count_at(snapshot, SS_STAGE_EVAL, "work"), STEPS);
    assert_int_equal(count_at(snapshot, SS_STAGE_DATA, "work"), 0);
    script_free(s);
}

/* A model that is called by the loop, and without gradients by a function or at another line. */
static const struct snap_cutter *evaluate_by(struct play *play, bool function)
{
    struct script *s = play->script;
    const unsigned forward = script_name(s, "forward", SS_STAGE_FORWARD, 0, 0, "Net");
    const unsigned update = script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "SGD");
    const uint32_t deep[] = {WORK_FRAME, EVALUATE_FRAME, LATER_FRAME},
                   flat[] = {WORK_FRAME, LATER_FRAME};
    for (int i = 0; i < STEPS; i++) {
        script_begin(s, forward, SS_FLAG_TRAIN);
        script_pass(s, 5);
        sample(play, main_tid(play), WORK_FRAME);
        script_end(s, 0, 0);
        script_span(s, update, SS_FLAG_TRAIN, 5);
        script_begin(s, forward, SS_FLAG_EVAL);
        script_pass(s, 5);
        sample_stack(play, main_tid(play), function ? deep : flat, function ? 3 : 2);
        script_pass(s, 1);
        script_end(s, 0, 0);
    }
    return &script_finish(s)->hot.cutter[CUT_EVAL];
}

static void what_evaluates_is_a_function_or_a_line(void **state)
{
    (void)state;
    struct play play = begin();
    const struct snap_cutter *who = evaluate_by(&play, true);
    assert_string_equal(who->at.function, "evaluate");
    assert_int_equal(who->at.line, 0);
    assert_true(who->share.mid == 1);
    script_free(play.script);
    play = begin();
    who = evaluate_by(&play, false);
    assert_string_equal(who->at.function, "main");
    assert_int_equal(who->at.line, 20);
    script_free(play.script);
}

static void threads_without_a_loop_are_beside(void **state)
{
    (void)state;
    struct play play = begin();
    for (int i = 0; i < STEPS; i++) {
        one_step(&play);
        sample(&play, 4242, WORK_FRAME); /* never records anything */
    }
    const struct snapshot *snapshot = script_finish(play.script);
    assert_int_equal(count_at(snapshot, SNAP_HOT_BESIDE, "work"), STEPS);
    assert_int_equal(snapshot->thread_count, 1); /* samples make no threads */
    script_free(play.script);
}

static void frames_that_nobody_told_are_counted(void **state)
{
    (void)state;
    struct play play = begin();
    one_step(&play);
    sample(&play, main_tid(&play), 999);
    const struct snapshot *snapshot = script_finish(play.script);
    assert_int_equal(snapshot->hot.unplaced, 1);
    script_free(play.script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_belong_to_the_innermost_stage_around_them),
        cmocka_unit_test(a_look_in_between_changes_nothing),
        cmocka_unit_test(what_is_before_the_first_step_is_outside),
        cmocka_unit_test(what_is_between_epochs_is_outside),
        cmocka_unit_test(inside_evaluation_all_is_evaluation),
        cmocka_unit_test(what_evaluates_is_a_function_or_a_line),
        cmocka_unit_test(threads_without_a_loop_are_beside),
        cmocka_unit_test(frames_that_nobody_told_are_counted),
    };
    return cmocka_run_group_tests_name("stack samples in the step model", tests, NULL, NULL);
}
