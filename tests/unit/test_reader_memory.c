/* No memory: every call of malloc(), calloc() and realloc() fails once. And how much it takes. */
#include "support/damage.h"
#include "support/exercise.h"
#include "support/failing_memory.h"
#include "support/reading.h"

/* Fails the first allocation of opening a run, then the second, and so on until none
 * is left. */
static void try_opening(struct ss_run *(*open_run)(void *, struct ss_error *), void *what)
{
    size_t number = 0;

    do {
        struct ss_error error = {0};
        memory_fail_call(++number);
        struct ss_run *const run = open_run(what, &error);
        memory_fail_call(0);
        assert_true((run != NULL) == (error.code == 0));
        if (!run)
            assert_int_equal(error.code, SS_E_NOMEM);
        ss_run_close(run);
    } while (memory_has_failed());
    assert_true(number > 20);
}

static struct ss_run *open_memory(void *synth, struct ss_error *error)
{
    static const char manifest[] = "command: x\nhost: y\n";
    const struct ss_blob blobs[] = {synth_blob(synth, "p.ssp"),
                                    {"manifest", manifest, sizeof manifest - 1}};

    return ss_run_open_memory(blobs, 2, error);
}

static struct ss_run *open_disk(void *dir, struct ss_error *error)
{
    return ss_run_open(dir, error);
}

static void opening_fails_with_a_word_on_memory(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();

    for (unsigned i = 0; i < DAMAGE_RUNS; i++) {
        struct synth *const synth = damage_run(i);
        try_opening(open_memory, synth);
        assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
        try_opening(open_disk, dir);
        synth_free(synth);
    }
    reading_remove_dir(dir);
}

static void a_cursor_is_made_or_not(void **state)
{
    (void)state;
    struct synth *const synth = damage_run(2);
    struct ss_run *const run = reading_open(synth);
    struct ss_record record;
    size_t number = 0, records = 0;

    do {
        memory_fail_call(++number);
        struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
        memory_fail_call(0);
        assert_true((cursor == NULL) == memory_has_failed());
        for (records = 0; cursor && ss_cursor_next(cursor, &record);)
            records++;
        ss_cursor_free(cursor);
    } while (memory_has_failed());
    assert_true(records > 100);
    assert_true(number > 16);
    exercise_run(run); /* none of the failures left a trace */
    ss_run_close(run);
    synth_free(synth);
}

/* Whatever fails while a damaged run is read: no crash, at worst an answer that is
 * missing. */
static void reading_survives_every_failure(void **state)
{
    (void)state;
    struct synth *const synth = damage_run(1);
    struct ss_record open[4];
    size_t number = 0;

    synth_point(synth, 2, SS_KIND_STEP, 0, 1, 0); /* bad */
    struct ss_run *const run = reading_open(synth);
    do {
        struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
        memory_fail_call(++number);
        for (size_t lane = 0; lane < ss_run_lanes(run); lane++)
            ss_run_open_spans(run, lane, open, 4);
        assert_non_null(ss_run_name(run, 0, (uint32_t)(100 * number))->text.data);
        while (ss_cursor_next(cursor, &open[0]))
            ;
        memory_fail_call(0);
        ss_cursor_free(cursor);
    } while (memory_has_failed());
    assert_true(number > 5);
    exercise_run(run);
    ss_run_close(run);
    synth_free(synth);
}

/* A run that grows by a file, lanes and names at each refresh. */
static void a_refresh_without_memory_says_so_and_the_next_one_goes_on(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct synth *const synth = synth_new();
    size_t number = 0, failures = 0;

    reading_make_live(synth);
    const uint64_t past = (uint64_t)reading_now_ns() - 1000000000;
    assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
    struct ss_run *const run = ss_run_open(dir, NULL);
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    struct ss_record record;
    for (uint32_t lane = 1; lane < 60; lane++) {
        synth_name(synth, (uint16_t)lane, "name", 1, 0, 0, "");
        synth_span(synth, lane, 0, past + lane, past + lane);
        synth_beat(synth, (uint64_t)reading_now_ns(), reading_now_ns());
        assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
        memory_fail_call(++number);
        const int code = ss_run_refresh(run);
        memory_fail_call(0);
        assert_true(code == 0 || code == SS_E_NOMEM);
        failures += code != 0;
    }
    assert_true(failures > 3);
    synth_header(synth)->process_start++;
    assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
    assert_int_equal(ss_run_refresh(run), 0);
    size_t spans = 0;
    while (ss_cursor_next(cursor, &record))
        spans += record.kind == SS_KIND_SPAN;
    assert_int_equal(spans, 59);
    for (uint32_t id = 1; id < 60; id++)
        assert_true(text_is(ss_run_name(run, 0, id)->text, "name"));
    ss_cursor_free(cursor);
    exercise_run(run);
    ss_run_close(run);
    synth_free(synth);
    reading_remove_dir(dir);
}

/* Most memory that it takes to read a run of this many spans, all lanes merged; and its segments.
 */
static size_t memory_to_read(size_t spans, size_t *segments)
{
    struct synth *const synth = synth_new();
    struct ss_record record;
    size_t records = 0;

    for (size_t i = 0; i < spans; i++)
        synth_span(synth, 1 + i % 3, 1, 1000 + 10 * i, 1005 + 10 * i);
    *segments = synth_size(synth) / SS_SEGMENT_BYTES;
    memory_measure();
    struct ss_run *const run = reading_open(synth);
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    while (ss_cursor_next(cursor, &record))
        records++;
    assert_true(records >= spans);
    ss_cursor_free(cursor);
    ss_run_close(run);
    synth_free(synth);
    return (size_t)memory_most();
}

static void memory_does_not_grow_with_the_run(void **state)
{
    (void)state;
    size_t few, many;
    const size_t little = memory_to_read(20000, &few);
    const size_t much = memory_to_read(1000000, &many);

    print_message("%zu bytes for %zu segments, %zu for %zu\n", little, few, much, many);
    assert_true(many > 30 * few);
    /* What reader.h says; a list that grows by doubling has its old half beside it for a moment. */
    assert_true(much - little < 3 * 32 * (many - few) + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_fails_with_a_word_on_memory),
        cmocka_unit_test(a_cursor_is_made_or_not),
        cmocka_unit_test(reading_survives_every_failure),
        cmocka_unit_test(memory_does_not_grow_with_the_run),
        cmocka_unit_test(a_refresh_without_memory_says_so_and_the_next_one_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
