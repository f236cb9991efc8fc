/* cli/options: what the words of a command line mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/options.h"

static bool json, quiet;
static const char *output;
static char taken[64]; /* the values of --take, one after the other */

static int take(const char *value, struct ss_error *why)
{
    if (strcmp(value, "bad") == 0)
        return error_set(why, SS_E_INVALID, "that is bad.");
    strncat(taken, value, sizeof taken - strlen(taken) - 1);
    return 0;
}

static const struct cli_option table[] = {
    {.name = "json", .letter = 'j', .is_given = &json},
    {.name = "quiet", .is_given = &quiet},
    {.name = "output", .letter = 'o', .argument = "FILE", .value = &output},
    {.name = "take", .letter = 't', .argument = "X", .take = take},
    {0},
};

static char *words[8];
static int count;
static struct ss_error error;

typedef int parser(const struct cli_option *options, int *count, char **words,
                   struct ss_error *error);

static int parse_words(parser *parse_all, const char *first, va_list more)
{
    json = quiet = false;
    output = NULL;
    taken[0] = '\0';
    error.message[0] = '\0';
    count = 0;
    for (const char *word = first; word; word = va_arg(more, const char *))
        words[count++] = (char *)(uintptr_t)word;
    return parse_all(table, &count, words, &error);
}

/* Parses up to 7 words; the last argument is NULL. */
static int parse(const char *first, ...)
{
    va_list more;

    va_start(more, first);
    int result = parse_words(options_parse, first, more);
    va_end(more);
    return result;
}

static int parse_leading(const char *first, ...)
{
    va_list more;

    va_start(more, first);
    int result = parse_words(options_parse_leading, first, more);
    va_end(more);
    return result;
}

static void operands_come_first_whatever_the_order(void **state)
{
    (void)state;

    assert_int_equal(parse("a", "--json", "b", "-", "--output", "f", "c", NULL), 0);
    assert_true(json);
    assert_false(quiet);
    assert_string_equal(output, "f");
    assert_int_equal(count, 4);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "b");
    assert_string_equal(words[2], "-");
    assert_string_equal(words[3], "c");
}

static void nothing_is_nothing(void **state)
{
    (void)state;

    assert_int_equal(parse(NULL), 0);
    assert_int_equal(count, 0);
}

static void values_may_stand_in_the_same_word(void **state)
{
    (void)state;

    assert_int_equal(parse("--output=x=y", NULL), 0);
    assert_string_equal(output, "x=y");
    assert_int_equal(parse("--output=", NULL), 0);
    assert_string_equal(output, "");
    assert_int_equal(parse("-ofile", NULL), 0);
    assert_string_equal(output, "file");
    assert_int_equal(parse("-jo", "file", NULL), 0);
    assert_true(json);
    assert_string_equal(output, "file");
    assert_int_equal(parse("--output", "--json", NULL), 0);
    assert_string_equal(output, "--json");
    assert_false(json);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;

    assert_int_equal(parse("--", "--json", "--", "-x", NULL), 0);
    assert_false(json);
    assert_int_equal(count, 3);
    assert_string_equal(words[0], "--json");
    assert_string_equal(words[1], "--");
    assert_string_equal(words[2], "-x");
}

static void help_is_always_there(void **state)
{
    (void)state;

    assert_int_equal(parse("a", "--help", NULL), OPTIONS_HELP);
    assert_int_equal(parse("-jh", NULL), OPTIONS_HELP);
    assert_int_equal(parse("--", "--help", NULL), 0);
}

static void expect_complaint(const char *sentence)
{
    assert_int_equal(error.code, SS_E_INVALID);
    assert_string_equal(error.message, sentence);
}

static void mistakes_are_explained(void **state)
{
    (void)state;

    assert_int_equal(parse("--jsno", NULL), SS_E_INVALID);
    expect_complaint("unknown option '--jsno'. Did you mean '--json'?");
    assert_int_equal(parse("--out=x", NULL), SS_E_INVALID);
    expect_complaint("unknown option '--out'. Did you mean '--output'?");
    assert_int_equal(parse("--hlep", NULL), SS_E_INVALID);
    expect_complaint("unknown option '--hlep'. Did you mean '--help'?");
    assert_int_equal(parse("--zzz", NULL), SS_E_INVALID);
    expect_complaint("unknown option '--zzz'.");
    assert_int_equal(parse("-z", NULL), SS_E_INVALID);
    expect_complaint("unknown option '-z'.");
    assert_int_equal(parse("--json=yes", NULL), SS_E_INVALID);
    expect_complaint("option '--json' takes no value.");
    assert_int_equal(parse("--output", NULL), SS_E_INVALID);
    expect_complaint("option '--output' needs a value: --output FILE.");
    assert_int_equal(parse("-o", NULL), SS_E_INVALID);
    expect_complaint("option '--output' needs a value: --output FILE.");
}

static size_t distance(const char *a, const char *b)
{
    size_t there = suggest_distance(a, strlen(a), b, strlen(b));

    assert_int_equal(suggest_distance(b, strlen(b), a, strlen(a)), there);
    return there;
}

static void values_are_taken_one_by_one(void **state)
{
    (void)state;

    assert_int_equal(parse("--take", "a", "x", "--take=b", "-tc", NULL), 0);
    assert_string_equal(taken, "abc");
    assert_int_equal(count, 1);

    assert_int_equal(parse("--take", "a", "--take", "bad", "--take=b", NULL), SS_E_INVALID);
    expect_complaint("that is bad.");
    assert_string_equal(taken, "a");
}

static void distance_counts_slips_of_the_finger(void **state)
{
    (void)state;

    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("info", "info"), 0);
    assert_int_equal(distance("", "info"), 4);
    assert_int_equal(distance("inf", "info"), 1);
    assert_int_equal(distance("infos", "info"), 1);
    assert_int_equal(distance("imfo", "info"), 1);
    assert_int_equal(distance("inof", "info"), 1);
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("an unusually long word without end", "info"), SIZE_MAX);
}

static const char *best_of(const char *word)
{
    struct suggestion suggestion = suggest_start(word, strlen(word));

    suggest_try(&suggestion, "report");
    suggest_try(&suggestion, "info");
    suggest_try(&suggestion, "import");
    suggest_try(&suggestion, "export");
    return suggestion.best;
}

static void the_nearest_word_is_suggested(void **state)
{
    (void)state;

    assert_string_equal(best_of("inof"), "info");
    assert_string_equal(best_of("information"), "info");
    assert_string_equal(best_of("imp"), "import");
    assert_string_equal(best_of("exprot"), "export");
    assert_string_equal(best_of("rep"), "report");
    assert_string_equal(best_of("ixport"), "import"); /* the first of equals */
    assert_null(best_of("train"));
    assert_null(best_of(""));
    assert_null(best_of("i"));
}

static void a_command_keeps_its_own_options(void **state)
{
    (void)state;

    assert_int_equal(parse_leading("-j", "ls", "--quiet", "--", "-h", NULL), 0);
    assert_true(json);
    assert_false(quiet);
    assert_int_equal(count, 4);
    assert_string_equal(words[0], "ls");
    assert_string_equal(words[1], "--quiet");
    assert_string_equal(words[2], "--");
    assert_string_equal(words[3], "-h");
    assert_int_equal(parse_leading("--quiet", "--", "--json", "--", NULL), 0);
    assert_true(quiet);
    assert_false(json);
    assert_int_equal(count, 2);
    assert_string_equal(words[0], "--json");
    assert_string_equal(words[1], "--");
    assert_int_equal(parse_leading("--help", "ls", NULL), OPTIONS_HELP);
    assert_int_equal(parse_leading("--quite", "ls", NULL), SS_E_INVALID);
    assert_int_equal(parse_leading("--json", NULL), 0);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_come_first_whatever_the_order),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(values_may_stand_in_the_same_word),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(help_is_always_there),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(values_are_taken_one_by_one),
        cmocka_unit_test(distance_counts_slips_of_the_finger),
        cmocka_unit_test(the_nearest_word_is_suggested),
        cmocka_unit_test(a_command_keeps_its_own_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
