/* The model of 8 parts, each of other processes, merged: to the last bit that of one model that was
 * fed with all. The parts are wild plays (support/oracle.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

enum { PARTS = 8, PROCESSES = 2, LANES = 16, PLAYS = 60 };

struct fed {
    struct ss_record record;
    uint32_t process;
    size_t place;
};

struct whole { /* what all parts were fed with */
    uint32_t part;
    struct fed *fed;
    size_t count, capacity;
};

static void note(void *context, uint32_t process, const struct ss_record *record)
{
    struct whole *whole = context;
    if (whole->count == whole->capacity) {
        whole->capacity = whole->capacity ? whole->capacity * 2 : 4096;
        whole->fed = realloc(whole->fed, whole->capacity * sizeof *whole->fed);
        assert_non_null(whole->fed);
    }
    struct fed *fed = &whole->fed[whole->count];
    *fed = (struct fed){*record, whole->part * PROCESSES + process, whole->count};
    fed->record.lane += whole->part * LANES;
    whole->count++;
}

static int by_time(const void *a, const void *b)
{
    const struct fed *x = a, *y = b;
    if (x->record.time_ns != y->record.time_ns)
        return x->record.time_ns < y->record.time_ns ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static void tell_processes(struct model *model, uint32_t first, const struct script *script)
{
    for (uint32_t i = 0; i < PROCESSES; i++)
        model_process(model, first + i, script_facts(script, i));
}

static struct model *new_model(void)
{
    struct model *model = model_new();
    assert_non_null(model);
    return model;
}

/* Names come first, as they do in a run; their order is that of the parts. */
static void feed_all(struct model *model, struct whole *whole)
{
    for (size_t i = 0; i < whole->count; i++)
        if (whole->fed[i].record.kind == SS_KIND_NAME)
            whole->fed[i].record.time_ns = INT64_MIN;
    qsort(whole->fed, whole->count, sizeof *whole->fed, by_time);
    for (size_t i = 0; i < whole->count; i++) {
        struct ss_record record = whole->fed[i].record;
        if (record.kind == SS_KIND_NAME)
            record.time_ns = record.start_ns;
        model_feed(model, whole->fed[i].process, &record);
    }
}

/* A merge renumbers lanes. */
static char *text_of(const struct model *model)
{
    struct snapshot *snapshot = model_snapshot(model);
    assert_non_null(snapshot);
    script_check_books(snapshot);
    for (size_t i = 0; i < snapshot->loop_count; i++)
        snapshot->loops[i].lane = 0;
    char *text = snapshot_text(snapshot);
    snapshot_free(snapshot);
    return text;
}

typedef void player(struct script *script, uint64_t seed);

static void play_wild(struct script *script, uint64_t seed)
{
    wild_play(script, seed, 20 + (unsigned)(seed % 60), 0, NULL, NULL);
}

static void play_over_others(struct script *script, uint64_t seed)
{
    wild_play(script, seed, 20 + (unsigned)(seed % 60), WILD_APPENDS, NULL, NULL);
}

/* Threads that train one after the other, each on the lane of the one before. */
static void play_successors(struct script *script, uint64_t seed)
{
    const unsigned call =
        script_name(script, "call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, "model");
    script_process(script, 1, 0);
    script_process(script, 0, -1);
    for (int thread = 0; thread < 3; thread++) {
        for (uint32_t lane = 2; lane < 4; lane++) {
            script_lane(script, lane);
            script_new_owner(script);
            script_span(script, call, SS_FLAG_TRAIN, 10 + (int64_t)(seed % PARTS));
        }
    }
}

/* A play gives its own model to the script; its records are fed to a model of ours again. */
static void play(struct whole *whole, struct model *part, uint64_t seed, player *act,
                 struct script *script)
{
    size_t before = whole->count;
    script_tap(script, note, whole);
    act(script, seed);
    script_finish(script);
    tell_processes(part, 0, script);
    for (size_t i = before; i < whole->count; i++) {
        struct ss_record record = whole->fed[i].record;
        record.lane -= whole->part * LANES;
        model_feed(part, whole->fed[i].process - whole->part * PROCESSES, &record);
    }
    model_finish(part);
}

static void check_merge(uint64_t seed, player *act)
{
    struct whole whole = {0};
    struct model *one = new_model(), *merged = new_model();
    struct script *script[PARTS];

    for (whole.part = 0; whole.part < PARTS; whole.part++) {
        struct model *part = whole.part ? new_model() : merged;
        script[whole.part] = script_new();
        play(&whole, part, seed * PARTS + whole.part, act, script[whole.part]);
        tell_processes(one, whole.part * PROCESSES, script[whole.part]);
        if (part != merged)
            assert_int_equal(model_merge(merged, part), SS_E_OK);
    }
    feed_all(one, &whole);
    model_finish(one);

    char *expected = text_of(one), *got = text_of(merged);
    assert_string_equal(got, expected);
    free(expected);
    free(got);
    model_free(one);
    model_free(merged);
    free(whole.fed);
    for (int i = 0; i < PARTS; i++)
        script_free(script[i]);
}

static void eight_parts_are_the_whole(void **state)
{
    (void)state;
    FOR_EACH_SEED(seed, PLAYS)
    {
        check_merge(seed, play_wild);
        check_merge(seed, play_over_others);
    }
}

/* Which of them ended first differs between the parts and the whole. */
static void threads_have_one_order_in_parts_and_in_the_whole(void **state)
{
    (void)state;
    check_merge(0, play_successors);
}

static void an_empty_part_changes_nothing(void **state)
{
    (void)state;
    struct whole whole = {0};
    struct script *script = script_new();
    struct model *part = new_model(), *empty = new_model();
    play(&whole, part, 1, play_wild, script);
    char *before = text_of(part);
    assert_int_equal(model_merge(part, new_model()), SS_E_OK);
    char *after = text_of(part);
    assert_string_equal(after, before);
    assert_int_equal(model_merge(empty, part), SS_E_OK);
    free(after);
    after = text_of(empty);
    assert_string_equal(after, before);
    free(before);
    free(after);
    free(whole.fed);
    model_free(empty);
    script_free(script);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(eight_parts_are_the_whole, seeds_tell),
        cmocka_unit_test(threads_have_one_order_in_parts_and_in_the_whole),
        cmocka_unit_test(an_empty_part_changes_nothing),
    };
    seeds_choose(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
