/* diagnose/finding_kind, diagnose/explain: every finding is explained, has advice for every
 * framework, and uses no unexplained word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/explain.h"
#include "diagnose/finding.h"

static enum finding_id by_name(const char *name)
{
    return finding_by_name(name, strlen(name));
}

static void every_finding_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++) {
        const char *name = finding_name((enum finding_id)i);
        assert_int_equal(by_name(name), i);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        assert_non_null(finding_kind_of((enum finding_id)i)->find);
    }
    assert_int_equal(by_name("nonsense"), FINDING_NONE);
    assert_int_equal(by_name("swa"), FINDING_NONE);
    assert_int_equal(finding_by_name("swap:10%", 4), FINDING_SWAP);
}

/* What is said of a share: more of it is no less severe. */
static void bands_rise(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++)
        for (int k = 0; k < FINDING_SAID_MOST; k++) {
            const struct bands *bands = finding_kind_of((enum finding_id)i)->said[k].bands;
            if (!bands)
                continue;
            assert_true(bands->info >= 0 && bands->info <= bands->warn);
            assert_true(bands->warn < bands->high && bands->high <= 1); /* 1: never */
        }
}

static void every_finding_is_explained(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++) {
        const struct finding_kind *kind = finding_kind_of((enum finding_id)i);
        const char *const texts[] = {kind->meaning, kind->computed, kind->fixes};
        for (size_t k = 0; k < 3; k++) {
            assert_true(strlen(texts[k]) > 10);
            assert_int_equal(texts[k][strlen(texts[k]) - 1], '.');
            assert_null(strstr(texts[k], "  "));
        }
    }
}

static void advice_has_a_condition(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++) {
        const struct finding_kind *kind = finding_kind_of((enum finding_id)i);
        assert_non_null(kind->given);
        assert_true(strlen(kind->given) > 5);
        for (int k = 0; k < FINDING_CASES_MOST && kind->cases[k].when; k++) {
            assert_true(strlen(kind->cases[k].when) > 5);
            assert_true(!kind->cases[k].advice ||
                        strlen(kind->cases[k].advice) < FINDING_TEXT_SIZE - 80);
            assert_true(kind->cases[k].advice || !kind->cases[k].holds);
        }
    }
}

static void every_framework_has_advice(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++)
        for (int framework = 0; framework < FRAMEWORK_COUNT; framework++) {
            const char *advice = finding_advice((enum finding_id)i, (enum framework)framework);
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
        enum finding_id id;
        const char *call;
    } wanted[] = {{FRAMEWORK_KERAS, FINDING_INPUT_BOUND, ".prefetch(tf.data.AUTOTUNE)"},
                  {FRAMEWORK_TORCH, FINDING_INPUT_BOUND, "num_workers="},
                  {FRAMEWORK_JAX, FINDING_SYNC_BOUND, "jax.block_until_ready"},
                  {FRAMEWORK_KERAS, FINDING_OVERHEAD_BOUND, "steps_per_execution="},
                  {FRAMEWORK_KERAS, FINDING_COMPUTE_BOUND, "jit_compile=True"},
                  {FRAMEWORK_TORCH, FINDING_COMPUTE_BOUND, "torch.compile"},
                  {FRAMEWORK_TORCH, FINDING_TRANSFER_BOUND, "pin_memory=True"},
                  {FRAMEWORK_TORCH, FINDING_CPU_OVERSUBSCRIBED, "torch.set_num_threads"},
                  {FRAMEWORK_JAX, FINDING_OVERHEAD_BOUND, "donate_argnums"},
                  {FRAMEWORK_LIGHTNING, FINDING_EVAL_HEAVY, "Trainer(check_val_every_n_epoch="},
                  {FRAMEWORK_TRANSFORMERS, FINDING_EVAL_HEAVY, "TrainingArguments(eval_steps="},
                  {FRAMEWORK_TRANSFORMERS, FINDING_INPUT_BOUND, "dataloader_num_workers="},
                  {FRAMEWORK_OTHER, FINDING_INSTRUMENT_MORE, "ss_begin()"}};

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(finding_advice(wanted[i].id, wanted[i].framework), wanted[i].call))
            fail_msg("%s: no %s", finding_name(wanted[i].id), wanted[i].call);
}

/* Each trainer on PyTorch has its own arguments, and PyTorch alone has neither's. */
static void advice_is_that_of_one_trainer(void **state)
{
    static const char *const lightning[] = {"Trainer(", "log_every_n_steps", "val_check_interval",
                                            "Lightning", "every_n_epochs"};
    static const char *const transformers[] = {"TrainingArguments", "logging_steps", "save_steps",
                                               "Hugging Face", "eval_steps"};
    const size_t count = sizeof lightning / sizeof lightning[0];

    (void)state;
    for (int i = 0; i < FINDING_COUNT; i++)
        for (size_t k = 0; k < count; k++) {
            const enum finding_id id = (enum finding_id)i;
            assert_null(strstr(finding_advice(id, FRAMEWORK_TORCH), lightning[k]));
            assert_null(strstr(finding_advice(id, FRAMEWORK_TORCH), transformers[k]));
            assert_null(strstr(finding_advice(id, FRAMEWORK_LIGHTNING), transformers[k]));
            assert_null(strstr(finding_advice(id, FRAMEWORK_TRANSFORMERS), lightning[k]));
        }
    /* What they have no argument for is as in PyTorch. */
    assert_ptr_equal(finding_advice(FINDING_COMPUTE_BOUND, FRAMEWORK_LIGHTNING),
                     finding_advice(FINDING_COMPUTE_BOUND, FRAMEWORK_TORCH));
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
    static const char *const banned[] = {"exposed", "run queue", "kernel launch"};

    (void)state;
    for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++) {
        bool is_there = false;
        for (size_t i = 0; explain_word_at(i); i++)
            is_there |= strcmp(explain_word_at(i)->word, hard[k]) == 0;
        if (!is_there)
            fail_msg("'%s' is not explained", hard[k]);
    }
    for (int i = 0; i < FINDING_COUNT; i++)
        for (size_t k = 0; k < sizeof banned / sizeof banned[0]; k++) {
            assert_false(explain_uses(finding_kind_of((enum finding_id)i)->meaning, banned[k]));
            assert_false(explain_uses(finding_kind_of((enum finding_id)i)->computed, banned[k]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finding_has_a_name_of_its_own),
        cmocka_unit_test(bands_rise),
        cmocka_unit_test(every_finding_is_explained),
        cmocka_unit_test(advice_has_a_condition),
        cmocka_unit_test(every_framework_has_advice),
        cmocka_unit_test(advice_names_calls),
        cmocka_unit_test(advice_is_that_of_one_trainer),
        cmocka_unit_test(words_are_found_as_words),
        cmocka_unit_test(hard_words_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
