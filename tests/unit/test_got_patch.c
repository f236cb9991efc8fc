/* Slots of the global offset table: found, patched, restored, shared with other patchers. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../python/core/got_patch.h"

struct caller {
    const char *name;
    void *library;
    int (*parent)(void);
    struct got_patch got;
};

static struct caller *present;
static int calls, other_calls;

static int replacement(void)
{
    calls++;
    return ((int (*)(void))present->got.function)();
}

static void *before_other;
static int other(void)
{
    other_calls++;
    return ((int (*)(void))before_other)();
}

static int load(void **state, const char *name)
{
    char path[4096];
    char *slash;
    struct caller *caller = calloc(1, sizeof *caller);
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 64);
    if (!caller || bytes < 0) {
        free(caller);
        return -1;
    }
    path[bytes] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash, 64, "/%s.so", name);
    caller->name = name;
    caller->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!caller->library) {
        free(caller);
        return -1;
    }
    *(void **)&caller->parent = dlsym(caller->library, "got_caller_parent");
    present = caller;
    calls = other_calls = 0;
    *state = caller;
    return 0;
}

static int load_lazy(void **state)
{
    return load(state, "got_caller_lazy");
}

static int load_now(void **state)
{
    return load(state, "got_caller_now");
}

static int unload(void **state)
{
    struct caller *caller = *state;
    const int failed = dlclose(caller->library);
    free(caller);
    return failed;
}

static void patch(struct caller *caller)
{
    assert_null(got_patch_find(&caller->got, caller->name, "getppid"));
    assert_null(got_patch_apply(&caller->got, (void *)replacement));
}

static void calls_go_through_the_replacement_until_it_is_restored(void **state)
{
    struct caller *caller = *state;
    patch(caller);
    assert_int_equal(caller->parent(), getppid());
    assert_int_equal(calls, 1); /* the program's own call has a slot of its own */
    assert_true(got_patch_check(&caller->got));
    assert_true(got_patch_restore(&caller->got));
    assert_int_equal(caller->parent(), getppid());
    assert_int_equal(calls, 1);
    got_patch_release(&caller->got);
}

static void a_slot_that_the_loader_bound_meanwhile_is_patched_again(void **state)
{
    struct caller *caller = *state;
    patch(caller);
    *caller->got.slots[0] = caller->got.function; /* as the stub does when it was under way */
    caller->parent();
    assert_int_equal(calls, 0);
    assert_true(got_patch_check(&caller->got));
    caller->parent();
    assert_int_equal(calls, 1);
    assert_true(got_patch_restore(&caller->got));
    got_patch_release(&caller->got);
}

static void a_patcher_that_was_there_first_is_called_too(void **state)
{
    struct caller *caller = *state;
    struct got_patch first;
    assert_null(got_patch_find(&first, caller->name, "getppid"));
    before_other = first.function;
    assert_null(got_patch_apply(&first, (void *)other));
    patch(caller);
    assert_int_equal(caller->parent(), getppid());
    assert_int_equal(calls, 1);
    assert_int_equal(other_calls, 1);
    assert_true(got_patch_restore(&caller->got));
    assert_true(got_patch_restore(&first));
    got_patch_release(&caller->got);
    got_patch_release(&first);
}

static void a_patcher_that_came_later_is_left_alone(void **state)
{
    struct caller *caller = *state;
    struct got_patch later;
    patch(caller);
    assert_null(got_patch_find(&later, caller->name, "getppid"));
    before_other = later.function;
    assert_null(got_patch_apply(&later, (void *)other));
    assert_false(got_patch_check(&caller->got));
    assert_false(got_patch_restore(&caller->got));
    assert_int_equal(caller->parent(), getppid());
    assert_int_equal(calls, 1);
    assert_int_equal(other_calls, 1);
    assert_true(got_patch_restore(&later));
    assert_true(got_patch_restore(&caller->got));
    got_patch_release(&later);
    got_patch_release(&caller->got);
}

static void a_patcher_that_came_while_it_was_off_is_left_alone(void **state)
{
    struct caller *caller = *state;
    struct got_patch later;
    patch(caller);
    assert_true(got_patch_restore(&caller->got));
    assert_null(got_patch_find(&later, caller->name, "getppid"));
    before_other = later.function;
    assert_null(got_patch_apply(&later, (void *)other));
    assert_non_null(got_patch_apply(&caller->got, (void *)replacement));
    assert_int_equal(caller->parent(), getppid());
    assert_int_equal(calls, 0);
    assert_int_equal(other_calls, 1);
    assert_true(got_patch_restore(&later));
    assert_null(got_patch_apply(&caller->got, (void *)replacement));
    assert_true(got_patch_restore(&caller->got));
    got_patch_release(&later);
    got_patch_release(&caller->got);
}

static void what_is_not_there_is_said(void **state)
{
    struct caller *caller = *state;
    assert_non_null(got_patch_find(&caller->got, "no_such_library", "getppid"));
    assert_non_null(got_patch_find(&caller->got, caller->name, "no_such_symbol"));
}

/* The kernel says in which memory the slot is: the protection has to be as it was. */
static void a_read_only_slot_is_read_only_again(void **state)
{
    struct caller *caller = *state;
    patch(caller);
    assert_true(caller->got.is_read_only[0]);
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool is_found = false;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        char *end = NULL;
        const uintptr_t from = strtoul(line, &end, 16);
        const uintptr_t to = strtoul(end + 1, &end, 16);
        const uintptr_t slot = (uintptr_t)caller->got.slots[0];
        if (slot >= from && slot < to) {
            is_found = true;
            assert_memory_equal(end, " r--p", 5);
        }
    }
    fclose(maps);
    assert_true(is_found);
    assert_true(got_patch_restore(&caller->got));
    got_patch_release(&caller->got);
}

#define FOR_BOTH(test)                                                                             \
    {#test " (lazy)", test, load_lazy, unload, NULL},                                              \
    {                                                                                              \
#test " (now)", test, load_now, unload, NULL                                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOR_BOTH(calls_go_through_the_replacement_until_it_is_restored),
        cmocka_unit_test_setup_teardown(a_slot_that_the_loader_bound_meanwhile_is_patched_again,
                                        load_lazy, unload),
        FOR_BOTH(a_patcher_that_was_there_first_is_called_too),
        FOR_BOTH(a_patcher_that_came_later_is_left_alone),
        FOR_BOTH(a_patcher_that_came_while_it_was_off_is_left_alone),
        FOR_BOTH(what_is_not_there_is_said),
        cmocka_unit_test_setup_teardown(a_read_only_slot_is_read_only_again, load_now, unload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
