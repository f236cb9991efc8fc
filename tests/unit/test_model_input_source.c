/* What marks say of where batches come from: whatever is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/input_source.h"

static struct input_source parse(const char *text)
{
    return input_source_parse((struct ss_text){text, strlen(text)});
}

static void words_of_each_kind(void **state)
{
    (void)state;
    struct input_source source = parse("tf.data generator map:serial map:python cache prefetch");
    assert_int_equal(source.kind, INPUT_TF_DATA);
    assert_int_equal(source.has, INPUT_HAS_GENERATOR | INPUT_HAS_SERIAL_MAP | INPUT_HAS_PYTHON_MAP |
                                     INPUT_HAS_CACHE | INPUT_HAS_PREFETCH);
    source = parse("PyDataset workers=4 processes");
    assert_int_equal(source.kind, INPUT_PY_DATASET);
    assert_int_equal(source.workers, 4);
    assert_int_equal(source.has, INPUT_HAS_PROCESSES);
    assert_int_equal(parse("generator").kind, INPUT_GENERATOR);
    assert_int_equal(parse("arrays").kind, INPUT_ARRAYS);
    assert_int_equal(parse("tf.data interleave:serial").has, INPUT_HAS_SERIAL_INTERLEAVE);
}

static void marks_of_another_form(void **state)
{
    (void)state;
    static const char *const texts[] = {"", " ", "tf", "tf.dataset", "cache tf.data", "workers=3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(parse(texts[i]).kind, INPUT_UNKNOWN);
    assert_int_equal(input_source_parse((struct ss_text){NULL, 0}).kind, INPUT_UNKNOWN);
    assert_int_equal(parse("  tf.data   shiny  cache ").has, INPUT_HAS_CACHE);
    static const char *const workers[] = {"PyDataset workers=", "PyDataset workers=-1",
                                          "PyDataset workers=x",
                                          "PyDataset workers=99999999999999999999"};
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
        assert_int_equal(parse(workers[i]).workers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_each_kind),
        cmocka_unit_test(marks_of_another_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
