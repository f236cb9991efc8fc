/* Runs cut at every byte, and damaged in thousands of ways: read without a crash, and
 * nothing that was not there. The soak test (test_reader_soak) does more of the
 * latter. */
#include <stdlib.h>
#include <string.h>

#include "support/damage.h"
#include "support/exercise.h"
#include "support/reading.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

enum { MOST_RECORDS = 200, MUTATIONS = 20000 };

/* What makes a record what it is; texts by their size only. */
struct essence {
    ss_ns time_ns, start_ns, end_ns;
    uint64_t value;
    uint16_t name, flags;
    uint8_t kind, depth;
};

static struct essence essence_of(const struct ss_record *record)
{
    struct essence essence;

    memset(&essence, 0, sizeof essence); /* padding too, since it is compared as bytes */
    essence.time_ns = record->time_ns;
    essence.start_ns = record->start_ns;
    essence.end_ns = record->end_ns;
    essence.value = record->kind == SS_KIND_MARK   ? record->u.text.a.size
                    : record->kind == SS_KIND_STEP ? record->u.samples
                                                   : 0;
    essence.name = record->name;
    essence.flags = record->flags;
    essence.kind = record->kind;
    essence.depth = record->depth;
    return essence;
}

static size_t read_essence(struct ss_run *run, uint32_t number, struct essence *out)
{
    static struct ss_record records[MOST_RECORDS];

    for (size_t i = 0; i < ss_run_lanes(run); i++) {
        if (ss_run_lane(run, i)->number != number)
            continue;
        const size_t count = reading_all(run, i, records, MOST_RECORDS);
        assert_true(count <= MOST_RECORDS);
        for (size_t k = 0; k < count; k++)
            out[k] = essence_of(&records[k]);
        return count;
    }
    return 0;
}

/* A cut inside a lane block or among the records of the last segment leaves a trace.
 * One between them does not: no field says how long a file should be. */
static bool leaves_a_trace(size_t size)
{
    if (size < SS_SEGMENT_BYTES)
        return size > SS_BLOCK_BYTES && size % SS_BLOCK_BYTES != 0;
    return size > 3 * SS_SEGMENT_BYTES;
}

static void a_run_cut_at_every_byte_gives_the_beginning_of_each_lane(void **state)
{
    (void)state;
    struct synth *const synth = damage_run(0);
    const size_t whole_size = synth_size(synth);
    static struct essence whole[3][MOST_RECORDS], part[MOST_RECORDS];
    size_t whole_count[3], missing;
    uint8_t *const bytes = malloc(whole_size);

    assert_non_null(bytes);
    memcpy(bytes, synth_bytes(synth), whole_size);
    struct ss_run *run = reading_open(synth);
    for (uint32_t lane = 0; lane < 3; lane++)
        whole_count[lane] = read_essence(run, lane, whole[lane]);
    assert_int_equal(ss_run_losses(run), 0);
    ss_run_close(run);
    for (size_t size = whole_size - 1; size >= 1024; size--) {
        ASAN_POISON_MEMORY_REGION(bytes + size, whole_size - size);
        const struct ss_blob blob = {"p.ssp", bytes, size};
        run = ss_run_open_memory(&blob, 1, NULL);
        assert_non_null(run);
        missing = 0;
        for (uint32_t lane = 0; lane < 3; lane++) {
            const size_t count = read_essence(run, lane, part);
            assert_true(count <= whole_count[lane]);
            assert_memory_equal(part, whole[lane], count * sizeof *part);
            missing += whole_count[lane] - count;
        }
        if (missing > 0 && leaves_a_trace(size))
            assert_true(ss_run_losses(run) > 0);
        ss_run_close(run);
    }
    ASAN_UNPOISON_MEMORY_REGION(bytes, whole_size);
    free(bytes);
    synth_free(synth);
}

static void thousands_of_damaged_runs_are_read(void **state)
{
    (void)state;
    damage_and_read(0, MUTATIONS);
}

/* Nothing that they rest on is broken: the undamaged runs, through the same eyes. */
static void the_undamaged_runs_are_whole(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DAMAGE_RUNS; i++) {
        struct synth *const synth = damage_run(i);
        const struct ss_blob blob = synth_blob(synth, "p.ssp");
        assert_true(exercise_files(&blob, 1));
        struct ss_run *const run = reading_open(synth);
        assert_true(reading_count(run) > 50);
        assert_int_equal(ss_run_losses(run), 0);
        ss_run_close(run);
        synth_free(synth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_undamaged_runs_are_whole),
        cmocka_unit_test(a_run_cut_at_every_byte_gives_the_beginning_of_each_lane),
        cmocka_unit_test(thousands_of_damaged_runs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
