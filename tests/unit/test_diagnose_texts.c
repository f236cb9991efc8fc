/* diagnose/explain, diagnose/advice: every finding is explained, has advice for every framework, and uses no word that
 * nobody explains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/advice.h"
#include "diagnose/explain.h"
#include "diagnose/finding.h"

/* Every finding that any file of src/diagnose/ adds: the closed list, once more. */
static const char *const ids[] = {"input-bound",      "callback-bound",
                                  "user-code",        "overhead-bound",
                                  "instrument-more",  "transfer-bound",
                                  "sync-bound",       "comm-bound",
                                  "straggler",        "retrace-storm",
                                  "compile-heavy",    "eval-heavy",
                                  "checkpoint-heavy", "setup-heavy",
                                  "gc-pauses",        "page-faults",
                                  "fresh-memory",     "swap",
                                  "memory-leak",      "cpu-oversubscribed",
                                  "preempted",        "steal",
                                  "cgroup-throttled", "clock-drop",
                                  "gpu-idle",         "gpu-memory-full",
                                  "gpu-clocks-held",  "drift",
                                  "periodic-pause",   "bimodal",
                                  "latency-tail",     "compute-bound",
                                  "too-few-steps"};

enum { IDS = sizeof ids / sizeof ids[0] };

static void the_list_is_closed(void **state)
{
    size_t count = 0;

    (void)state;
    while (explain_at(count))
        count++;
    assert_int_equal(count, IDS);
    for (size_t i = 0; i < IDS; i++)
        assert_non_null(explain_find(ids[i]));
    assert_null(explain_find("nonsense"));
    assert_string_equal(advice_for("nonsense", FRAMEWORK_TORCH), "");
}

static void every_finding_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < IDS; i++) {
        const struct explanation *explanation = explain_find(ids[i]);
        const char *const texts[] = {explanation->meaning, explanation->computed,
                                     explanation->fixes};
        for (size_t k = 0; k < 3; k++) {
            assert_true(strlen(texts[k]) > 10);
            assert_int_equal(texts[k][strlen(texts[k]) - 1], '.');
            assert_null(strstr(texts[k], "  "));
        }
    }
}

static void every_framework_has_advice(void **state)
{
    (void)state;
    for (size_t i = 0; i < IDS; i++)
        for (int framework = 0; framework < FRAMEWORK_COUNT; framework++) {
            const char *advice = advice_for(ids[i], (enum framework)framework);
            assert_non_null(advice);
            /* Something may be appended to it. */
            assert_in_range(strlen(advice), 10, FINDING_TEXT_SIZE - 80);
            assert_null(strstr(advice, "  "));
        }
}

/* What may depend on the framework names a call of it. */
static void advice_names_calls(void **state)
{
    static const struct {
        enum framework framework;
        const char *id, *call;
    } wanted[] = {{FRAMEWORK_KERAS, "input-bound", ".prefetch(tf.data.AUTOTUNE)"},
                  {FRAMEWORK_TORCH, "input-bound", "num_workers="},
                  {FRAMEWORK_JAX, "sync-bound", "jax.block_until_ready"},
                  {FRAMEWORK_KERAS, "overhead-bound", "steps_per_execution="},
                  {FRAMEWORK_KERAS, "compute-bound", "jit_compile=True"},
                  {FRAMEWORK_TORCH, "compute-bound", "torch.compile"},
                  {FRAMEWORK_TORCH, "transfer-bound", "pin_memory=True"},
                  {FRAMEWORK_TORCH, "cpu-oversubscribed", "torch.set_num_threads"},
                  {FRAMEWORK_JAX, "overhead-bound", "donate_argnums"},
                  {FRAMEWORK_OTHER, "instrument-more", "ss_begin()"}};

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(advice_for(wanted[i].id, wanted[i].framework), wanted[i].call))
            fail_msg("%s: no %s", wanted[i].id, wanted[i].call);
    for (int framework = 0; framework < FRAMEWORK_COUNT; framework++)
        assert_true(strlen(advice_on_layers((enum framework)framework)) > 10);
}

static void words_are_found_as_words(void **state)
{
    (void)state;
    assert_true(explain_uses("all ranks wait", "rank"));
    assert_true(explain_uses("rank", "rank"));
    assert_false(explain_uses("ranking", "rank"));
    assert_false(explain_uses("steps_per_execution", "step"));
    assert_false(explain_uses("checkpoint-heavy", "heavy"));
}

/* Words of the trade that a text may have only if `explain` says what they mean. */
static void hard_words_are_explained(void **state)
{
    static const char *const hard[] = {"span",   "stage", "segment", "steady",
                                       "rank",   "host",  "device",  "worker",
                                       "median", "p99",   "window",  "estimate"};
    static const char *const banned[] = {"exposed", "run queue", "steal time",
                                         "kernel launch"};

    (void)state;
    for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++) {
        bool is_there = false;
        for (size_t i = 0; explain_word_at(i); i++)
            is_there |= strcmp(explain_word_at(i)->word, hard[k]) == 0;
        if (!is_there)
            fail_msg("nobody explains '%s'", hard[k]);
    }
    for (size_t i = 0; i < IDS; i++)
        for (size_t k = 0; k < sizeof banned / sizeof banned[0]; k++) {
            assert_false(explain_uses(explain_find(ids[i])->meaning, banned[k]));
            assert_false(explain_uses(explain_find(ids[i])->computed, banned[k]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_closed),
        cmocka_unit_test(every_finding_is_explained),
        cmocka_unit_test(every_framework_has_advice),
        cmocka_unit_test(advice_names_calls),
        cmocka_unit_test(words_are_found_as_words),
        cmocka_unit_test(hard_words_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
