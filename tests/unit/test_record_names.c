/* Names: interned once, in every file that needs them, at most 65,536 of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/names.h"
#include "support/own_run.h"

enum { LONGEST = 2000 };

static ss_name plain(const char *text, const char *object)
{
    return ss_intern(text, SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, object);
}

static void check_name(const struct own_run *own, ss_name name, const char *text,
                       const char *object)
{
    const struct ss_name_info *info = ss_run_name(own->run, 0, SS_NAME_ID(name));

    own_run_check_text(info->text, text);
    own_run_check_text(info->object, object);
}

static void the_same_name_is_interned_once(void **state)
{
    (void)state;
    char text[] = "forward";
    const ss_name first = plain(text, "Net");

    text[0] = 'F'; /* ours is a copy */
    assert_int_equal(plain("forward", "Net"), first);
    assert_int_not_equal(plain("Forward", "Net"), first);
    assert_int_equal(plain("none", NULL), plain("none", ""));
    assert_int_equal(plain(NULL, NULL), plain("", ""));
}

static void all_parts_make_a_name(void **state)
{
    (void)state;
    const ss_name names[] = {
        ss_intern("n", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "o"),
        ss_intern("m", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "o"),
        ss_intern("n", SS_STAGE_EVAL, SS_ROLE_NONE, SS_SCOPE_NONE, "o"),
        ss_intern("n", SS_STAGE_DATA, SS_ROLE_UPDATE, SS_SCOPE_NONE, "o"),
        ss_intern("n", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_BATCH_END, "o"),
        ss_intern("n", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "p"),
        ss_intern("no", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, ""),
        ss_intern("", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "no"),
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_not_equal(SS_NAME_ID(names[i]), 0);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(SS_NAME_ID(names[i]), SS_NAME_ID(names[k]));
    }
}

static void words_that_do_not_exist_become_the_first_of_their_list(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name odd = ss_intern("odd", (enum ss_stage)SS_STAGE_COUNT, (enum ss_role)SS_ROLE_COUNT,
                                  (enum ss_scope)99, NULL);
    own_run_stop(own);

    const struct ss_name_info *info = ss_run_name(own->run, 0, SS_NAME_ID(odd));
    assert_int_equal(info->stage, SS_STAGE_OTHER);
    assert_int_equal(info->role, SS_ROLE_NONE);
    assert_int_equal(info->scope, SS_SCOPE_NONE);
}

static void names_interned_while_off_are_in_every_file(void **state)
{
    struct own_run *own = *state;
    const ss_name before =
        ss_intern("before", SS_STAGE_GC, SS_ROLE_JIT_CALL, SS_SCOPE_EPOCH_BEGIN, "Adam#2");

    for (int i = 0; i < 2; i++) {
        own_run_start(own, 0);
        const ss_name during = plain(i ? "second" : "first", NULL);
        ss_begin(before, 0);
        ss_end(0, 0);
        own_run_stop(own);
        assert_int_equal(own_run_span(own, 0)->name, SS_NAME_ID(before));
        assert_int_equal(own_run_span(own, 0)->stage, SS_STAGE_GC);
        check_name(own, before, "before", "Adam#2");
        check_name(own, during, i ? "second" : "first", "");
        const struct ss_name_info *info = ss_run_name(own->run, 0, SS_NAME_ID(before));
        assert_int_equal(info->role, SS_ROLE_JIT_CALL);
        assert_int_equal(info->scope, SS_SCOPE_EPOCH_BEGIN);
        own_run_clear(own);
    }
}

static void a_name_is_in_the_file_when_it_is_interned(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name name = plain("just now", NULL);
    own_run_open(own); /* while it records */
    check_name(own, name, "just now", "");
}

static void long_names_are_cut_between_characters(void **state)
{
    struct own_run *own = *state;
    char text[LONGEST + 10], expected[LONGEST + 1];
    ss_name names[3];

    for (size_t ahead = 0; ahead < 3; ahead++) {
        memset(text, 'n', sizeof text);
        memcpy(text + LONGEST - 2 * ahead, "\xf0\x9f\x94\xa5", 4); /* a four-byte character */
        text[sizeof text - 1] = '\0';
        names[ahead] = plain(text, text);
        assert_int_equal(plain(text, text), names[ahead]);
        text[sizeof text - 2] = '?'; /* in the part that is cut off */
        assert_int_equal(plain(text, text), names[ahead]);
    }
    own_run_start(own, 0);
    own_run_stop(own);

    memset(expected, 'n', LONGEST);
    expected[LONGEST] = '\0';
    check_name(own, names[0], expected, expected);
    expected[LONGEST - 2] = '\0'; /* two of its four bytes would fit */
    check_name(own, names[1], expected, expected);
    memcpy(expected + LONGEST - 4, "\xf0\x9f\x94\xa5", 5);
    check_name(own, names[2], expected, expected);
}

/* The names would stay with the tests after this one, so it is a process of its own that interns
 * them. What it found comes back in memory that is shared. */
struct crowd {
    ss_name first, last, folded, folded_again, folded_eval, old;
    uint32_t count;
};

static void intern_a_crowd(struct own_run *own, struct crowd *crowd)
{
    char text[32];
    const struct ss_options options = {.dir = own->dir, .rank = -1};

    if (ss_start(&options) != 0)
        _exit(1);
    for (int i = 0; i < SS_MAX_NAMES + 500; i++) {
        snprintf(text, sizeof text, "name %d", i);
        const ss_name name = plain(text, "crowd");
        if (i == 0)
            crowd->first = name;
        if (i == 64000)
            crowd->last = name;
        if (i == SS_MAX_NAMES)
            crowd->folded = name;
    }
    crowd->folded_again = plain("one more", NULL);
    crowd->folded_eval = ss_intern("one more", SS_STAGE_EVAL, SS_ROLE_UPDATE, SS_SCOPE_NONE, "x");
    crowd->old = plain("name 0", "crowd");
    crowd->count = names_count();
    ss_begin(crowd->folded_eval, 0);
    ss_end(0, 0);
    ss_stop();
    _exit(0);
}

static void beyond_65536_names_become_more(void **state)
{
    struct own_run *own = *state;
    int status = -1;
    struct crowd *crowd =
        mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(crowd != MAP_FAILED);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        intern_a_crowd(own, crowd);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    own_run_open(own);

    assert_in_range(crowd->count, 64001, SS_MAX_NAMES);
    assert_int_equal(ss_run_process(own->run, 0)->names, crowd->count);
    assert_int_equal(ss_run_process(own->run, 0)->lost_names, 0);
    assert_int_equal(crowd->folded_again, crowd->folded);
    assert_int_not_equal(crowd->folded_eval, crowd->folded);
    assert_int_equal(crowd->old, crowd->first);
    check_name(own, crowd->first, "name 0", "crowd");
    check_name(own, crowd->last, "name 64000", "crowd");
    check_name(own, crowd->folded, "(more)", "");
    check_name(own, crowd->folded_eval, "(more)", "");
    assert_int_equal(own_run_span(own, 0)->stage, SS_STAGE_EVAL);
    munmap(crowd, sizeof *crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(the_same_name_is_interned_once),
        OWN_RUN_TEST(all_parts_make_a_name),
        OWN_RUN_TEST(words_that_do_not_exist_become_the_first_of_their_list),
        OWN_RUN_TEST(names_interned_while_off_are_in_every_file),
        OWN_RUN_TEST(a_name_is_in_the_file_when_it_is_interned),
        OWN_RUN_TEST(long_names_are_cut_between_characters),
        OWN_RUN_TEST(beyond_65536_names_become_more),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
