/* Records that are not spans: steps, loops, epochs, plans, counters, marks, and their texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/notes.h"
#include "support/own_run.h"

/* A record has at most 255 units of 32 bytes; 24 of them are no text. */
enum { LONGEST_MARK = 255 * 32 - 24 };

static ss_name name_of(const char *text, enum ss_stage stage)
{
    return ss_intern(text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

static void record_a_loop(struct own_run *own, ss_name fit, ss_name loss)
{
    own_run_start(own, 0);
    ss_plan(1000, 10, 100, 32);
    ss_loop_begin(fit);
    ss_epoch_begin(7);
    ss_begin(fit, 0);
    ss_step(UINT64_MAX);
    ss_counter(loss, -0.125);
    ss_mark(loss, "best so far");
    ss_end(0, 0);
    ss_epoch_end(0);
    ss_loop_end(SS_FLAG_FAILED);
    own_run_stop(own);
}

static void a_training_loop_comes_back_in_order(void **state)
{
    struct own_run *own = *state;
    static const uint8_t expected[] = {SS_KIND_THREAD_BEGIN, SS_KIND_PLAN,      SS_KIND_LOOP_BEGIN,
                                       SS_KIND_EPOCH_BEGIN,  SS_KIND_STEP,      SS_KIND_COUNTER,
                                       SS_KIND_MARK,         SS_KIND_SPAN,      SS_KIND_EPOCH_END,
                                       SS_KIND_LOOP_END,     SS_KIND_THREAD_END};

    record_a_loop(own, name_of("fit", SS_STAGE_USER), name_of("loss", SS_STAGE_OTHER));

    assert_int_equal(own->count, sizeof expected);
    ss_ns before = ss_run_process(own->run, 0)->start_ns;
    for (size_t i = 0; i < sizeof expected; i++) {
        const struct ss_record *record = &own->records[i];
        const bool inside = record->kind == SS_KIND_STEP || record->kind == SS_KIND_COUNTER ||
                            record->kind == SS_KIND_MARK;
        assert_int_equal(record->kind, expected[i]);
        assert_true(record->time_ns >= before);
        assert_int_equal(record->depth, inside);
        assert_int_equal(record->nest, inside ? SS_NEST_OPEN | SS_STAGE_USER : 0);
        before = record->time_ns;
    }
}

static void a_training_loop_keeps_its_numbers(void **state)
{
    struct own_run *own = *state;
    static const uint64_t plan[4] = {1000, 10, 100, 32};
    const ss_name fit = name_of("fit", SS_STAGE_USER);
    const ss_name loss = name_of("loss", SS_STAGE_OTHER);

    record_a_loop(own, fit, loss);

    assert_memory_equal(own_run_get(own, SS_KIND_PLAN, 0)->u.plan, plan, sizeof plan);
    assert_int_equal(own_run_get(own, SS_KIND_LOOP_BEGIN, 0)->name, SS_NAME_ID(fit));
    assert_int_equal(own_run_get(own, SS_KIND_EPOCH_BEGIN, 0)->u.epoch, 7);
    assert_true(own_run_get(own, SS_KIND_STEP, 0)->u.samples == UINT64_MAX);
    assert_int_equal(own_run_get(own, SS_KIND_COUNTER, 0)->name, SS_NAME_ID(loss));
    assert_true(own_run_get(own, SS_KIND_COUNTER, 0)->u.value == -0.125);
    assert_int_equal(own_run_get(own, SS_KIND_MARK, 0)->name, SS_NAME_ID(loss));
    own_run_check_text(own_run_get(own, SS_KIND_MARK, 0)->u.text.a, "best so far");
    assert_int_equal(own_run_get(own, SS_KIND_EPOCH_END, 0)->flags, 0);
    assert_int_equal(own_run_get(own, SS_KIND_LOOP_END, 0)->flags, SS_FLAG_FAILED);
}

static void counters_keep_every_value(void **state)
{
    struct own_run *own = *state;
    const double values[] = {0.0, -0.0, INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308};
    const size_t count = sizeof values / sizeof values[0];

    own_run_start(own, 0);
    for (size_t i = 0; i < count; i++)
        ss_counter(0, values[i]);
    ss_counter(0, NAN);
    own_run_stop(own);

    for (size_t i = 0; i < count; i++)
        assert_memory_equal(&own_run_get(own, SS_KIND_COUNTER, i)->u.value, &values[i],
                            sizeof values[i]);
    assert_true(isnan(own_run_get(own, SS_KIND_COUNTER, count)->u.value));
}

/* Units have 32 bytes, the first one 8 bytes of text. */
static void marks_of_any_length_come_back(void **state)
{
    struct own_run *own = *state;
    static const size_t lengths[] = {0, 1, 7, 8, 9, 39, 40, 41, 6000, LONGEST_MARK};
    char *text = calloc(1, LONGEST_MARK + 1);

    assert_non_null(text);
    own_run_start(own, 0);
    assert_true(own_run_catch_up(own));
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(text, 'a' + (int)i, lengths[i]);
        text[lengths[i]] = '\0';
        ss_mark(0, text);
    }
    ss_mark(0, NULL);
    ss_step(1);
    own_run_stop(own);

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(text, 'a' + (int)i, lengths[i]);
        text[lengths[i]] = '\0';
        own_run_check_text(own_run_get(own, SS_KIND_MARK, i)->u.text.a, text);
    }
    own_run_check_text(own_run_get(own, SS_KIND_MARK, sizeof lengths / sizeof lengths[0])->u.text.a,
                       "");
    assert_int_equal(own_run_count(own, SS_KIND_STEP), 1);
    free(text);
}

/* A three-byte character that would be cut after one or two of its bytes is left out. */
static void long_marks_are_cut_between_characters(void **state)
{
    struct own_run *own = *state;
    char *text = malloc(LONGEST_MARK + 100);

    assert_non_null(text);
    own_run_start(own, 0);
    assert_true(own_run_catch_up(own));
    for (size_t ahead = 0; ahead < 4; ahead++) {
        memset(text, 'x', LONGEST_MARK + 99);
        text[LONGEST_MARK + 99] = '\0';
        memcpy(text + LONGEST_MARK - ahead, "\xe2\x82\xac", 3); /* the euro sign */
        ss_mark(0, text);
    }
    own_run_stop(own);

    static const size_t kept[] = {0, 1, 2, 0}; /* bytes left out */
    for (size_t ahead = 0; ahead < 4; ahead++) {
        const struct ss_text cut = own_run_get(own, SS_KIND_MARK, ahead)->u.text.a;
        assert_int_equal(cut.size, LONGEST_MARK - kept[ahead]);
        assert_int_equal((unsigned char)cut.data[cut.size - 1], ahead == 3 ? 0xac : 'x');
    }
    free(text);
}

/* A text that does not fit into the rest of a block or segment goes to the next segment, and what
 * comes after it follows there. */
static void long_records_do_not_cross_the_end_of_a_segment(void **state)
{
    struct own_run *own = *state;
    enum { MARKS = 60, LENGTH = 5000 };
    char text[LENGTH + 1];

    memset(text, 'm', LENGTH);
    text[LENGTH] = '\0';
    own_run_start(own, 0);
    for (int i = 0; i < MARKS; i++) {
        if (i % 12 == 0)
            assert_true(own_run_catch_up(own));
        text[0] = (char)('A' + i);
        ss_mark(0, text);
        ss_step((uint64_t)i);
    }
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_MARK), MARKS);
    const struct ss_record *record = own_run_get(own, SS_KIND_MARK, 0);
    for (int i = 0; i < MARKS; i++, record += 2) {
        assert_int_equal(record[0].kind, SS_KIND_MARK);
        assert_int_equal(record[0].u.text.a.size, LENGTH);
        assert_int_equal(record[0].u.text.a.data[0], 'A' + i);
        assert_int_equal(record[0].u.text.a.data[LENGTH - 1], 'm');
        assert_int_equal(record[1].kind, SS_KIND_STEP);
        assert_int_equal(record[1].u.samples, i);
    }
}

static void records_outside_of_any_span_say_so(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name eval = ss_intern("eval", SS_STAGE_EVAL, SS_ROLE_EVAL_CALL, SS_SCOPE_NONE, NULL);
    ss_step(1);
    ss_begin(eval, SS_FLAG_EVAL);
    ss_step(2);
    ss_end(0, 0);
    ss_step(3);
    own_run_stop(own);

    assert_int_equal(own_run_get(own, SS_KIND_STEP, 0)->nest, 0);
    assert_int_equal(own_run_get(own, SS_KIND_STEP, 1)->depth, 1);
    assert_int_equal(own_run_get(own, SS_KIND_STEP, 1)->nest,
                     SS_NEST_OPEN | SS_NEST_CLOSED | SS_NEST_OPAQUE | SS_STAGE_EVAL);
    assert_int_equal(own_run_get(own, SS_KIND_STEP, 2)->nest, 0);
}

static void hooks_samples_and_windows_come_back(void **state)
{
    struct own_run *own = *state;
    const uint32_t frames[] = {7, 8, 7};
    const struct ss_rec_frame load = {.id = 7, .line = 41, .traits = SS_FRAME_FOR, .body = 300};

    assert_int_equal(notes_recording(), 0);
    assert_false(notes_frame(&load, "f", "a.py"));
    own_run_start(own, 0);
    assert_true(notes_recording() != 0);
    notes_hook("torch.Tensor.backward", NULL);
    notes_hook("torch.Tensor.item", "not a method");
    assert_true(notes_frame(&load, "load", "/data/a.py"));
    notes_sample(1234, ss_now(), frames, 3);
    notes_sample(1234, ss_now(), frames, 0);
    notes_perturbed(ss_now(), ss_now(), SS_PERTURBED_EXPERIMENT);
    own_run_stop(own);

    const struct ss_record *hook = own_run_get(own, SS_KIND_HOOK, 0);
    own_run_check_text(hook->u.text.a, "torch.Tensor.backward");
    assert_int_equal(hook->flags, 0);
    hook = own_run_get(own, SS_KIND_HOOK, 1);
    own_run_check_text(hook->u.text.b, "not a method");
    assert_int_equal(hook->flags, SS_FLAG_FAILED);
    const struct ss_record *sample = own_run_get(own, SS_KIND_SAMPLE, 0);
    assert_int_equal(sample->tid, 1234);
    assert_int_equal(sample->u.sample.frames, 3);
    assert_int_equal(own_run_get(own, SS_KIND_SAMPLE, 1)->u.sample.frames, 0);
    assert_int_equal(own_run_get(own, SS_KIND_PERTURBED, 0)->u.arg, SS_PERTURBED_EXPERIMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(a_training_loop_comes_back_in_order),
        OWN_RUN_TEST(a_training_loop_keeps_its_numbers),
        OWN_RUN_TEST(counters_keep_every_value),
        OWN_RUN_TEST(marks_of_any_length_come_back),
        OWN_RUN_TEST(long_marks_are_cut_between_characters),
        OWN_RUN_TEST(long_records_do_not_cross_the_end_of_a_segment),
        OWN_RUN_TEST(records_outside_of_any_span_say_so),
        OWN_RUN_TEST(hooks_samples_and_windows_come_back),
    };

    return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
