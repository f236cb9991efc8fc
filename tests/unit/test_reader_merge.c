/* Records of all lanes in the order of time: format 8.7. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/reading.h"

static void records_come_by_time(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    static struct ss_record r[3000];
    uint64_t ticks = 2000;

    for (unsigned i = 0; i < 3000; i++) {
        ticks += 1 + i * 7919 % 13;
        synth_point(synth, 1 + i * 31 % 5, SS_KIND_STEP, 0, ticks, i);
    }
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_all(run, SS_ALL_LANES, r, 3000), 3000);
    for (unsigned i = 0; i < 3000; i++) {
        assert_int_equal(r[i].u.samples, i);
        assert_int_equal(ss_run_lane(run, r[i].lane)->number, 1 + i * 31 % 5);
    }
    ss_run_close(run);
    synth_free(synth);
}

/* Segments 2 and 3 of lane 1 were given up. */
static void records_know_of_the_gaps_before_them(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    enum { IN_SEGMENT = 2046 };
    uint64_t steps = 0;
    static struct ss_record r[6 * IN_SEGMENT];

    synth_next_segment(synth, 1);
    for (; steps < 5 * IN_SEGMENT; steps++)
        synth_point(synth, 1, SS_KIND_STEP, 0, 1000 + steps, steps);
    synth_give_up(synth, 1, 2);
    synth_give_up(synth, 1, 3);
    synth_point(synth, 2, SS_KIND_STEP, 0, 1000 + steps, 0);
    struct ss_run *const run = reading_open(synth);
    const size_t count = reading_all(run, SS_ALL_LANES, r, 6 * IN_SEGMENT);
    assert_int_equal(count, 3 * IN_SEGMENT + 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(r[i].gaps, i >= IN_SEGMENT && i + 1 < count);
    ss_run_close(run);
    synth_free(synth);
}

/* At one time: by file, by lane, by place. Two files, lanes 1 to 9, three records
 * each. */
static void at_the_same_time_the_order_is_file_lane_place(void **state)
{
    (void)state;
    struct synth *const a = synth_new(), *const b = synth_new();
    static struct ss_record r[60];
    size_t at = 0;

    for (uint32_t lane = 9; lane >= 1; lane--)
        for (uint64_t place = 0; place < 3; place++) {
            synth_point(b, lane, SS_KIND_STEP, 0, 5000, place);
            synth_point(a, lane, SS_KIND_STEP, 0, 5000, place);
        }
    const struct ss_blob blobs[] = {synth_blob(b, "b.ssp"), synth_blob(a, "a.ssp")};
    struct ss_run *const run = ss_run_open_memory(blobs, 2, NULL);
    assert_int_equal(reading_all(run, SS_ALL_LANES, r, 60), 54);
    for (uint32_t process = 0; process < 2; process++)
        for (uint32_t lane = 1; lane <= 9; lane++)
            for (uint64_t place = 0; place < 3; place++, at++) {
                assert_int_equal(ss_run_lane(run, r[at].lane)->process, process);
                assert_int_equal(ss_run_lane(run, r[at].lane)->number, lane);
                assert_int_equal(r[at].u.samples, place);
            }
    ss_run_close(run);
    synth_free(a);
    synth_free(b);
}

/* The appended span of lane 1 counts with the time of the one before it. */
static void a_record_that_is_late_in_its_lane_keeps_its_place(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record r[4];

    synth_span(synth, 1, 1, 2000, 5000);
    synth_span(synth, 1, 2, 2000, 3000);
    synth_span(synth, 2, 3, 2000, 4000);
    synth_span(synth, 2, 4, 2000, 5000);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_all(run, SS_ALL_LANES, r, 4), 4);
    assert_int_equal(r[0].name, 3);
    assert_int_equal(r[1].name, 1);
    assert_int_equal(r[2].name, 2);
    assert_int_equal(r[2].time_ns, 5000);
    assert_int_equal(r[2].end_ns, 3000);
    assert_int_equal(r[3].name, 4);
    ss_run_close(run);
    synth_free(synth);
}

static struct synth *many_lanes(uint32_t lanes, uint32_t records)
{
    struct synth *const synth = synth_new();

    for (uint32_t i = 0; i < records; i++)
        for (uint32_t lane = 1; lane <= lanes; lane++)
            synth_point(synth, lane, SS_KIND_STEP, 0, 2000 + (uint64_t)i * lanes + lane, lane);
    return synth;
}

static void expect_merged(struct ss_run *run, uint32_t lanes, uint32_t records)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    struct ss_record record;

    assert_non_null(cursor);
    for (uint64_t i = 0; i < (uint64_t)lanes * records; i++) {
        assert_true(ss_cursor_next(cursor, &record));
        assert_int_equal(record.time_ns, 2001 + i);
    }
    assert_false(ss_cursor_next(cursor, &record));
    ss_cursor_free(cursor);
}

static void two_thousand_lanes_are_merged(void **state)
{
    (void)state;
    struct synth *const synth = many_lanes(2000, 20);
    struct ss_run *const run = reading_open(synth);

    assert_int_equal(ss_run_lanes(run), 2001);
    expect_merged(run, 2000, 20);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

/* From a file, where each lane needs a buffer. Records may be longer than what a lane
 * has in view: here a text of 5000 bytes in each. */
static void ten_thousand_lanes_on_disk_need_little_memory(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct synth *const synth = synth_new();
    enum { LANES = 10000, TEXT = 5000 };
    char text[TEXT + 1];
    struct ss_record record;

    memset(text, 'x', TEXT);
    text[TEXT] = '\0';
    for (uint32_t lane = 1; lane <= LANES; lane++)
        synth_text(synth, lane, SS_KIND_MARK, 0, 2000 + lane, 0, text, "");
    assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
    synth_free(synth);
    struct ss_run *const run = ss_run_open(dir, NULL);
    assert_non_null(run);
    const size_t before = mallinfo2().uordblks;
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    assert_non_null(cursor);
    assert_true(mallinfo2().uordblks - before < 40 << 20);
    for (uint32_t lane = 1; lane <= LANES; lane++) {
        assert_true(ss_cursor_next(cursor, &record));
        assert_int_equal(record.time_ns, 2000 + lane);
        assert_true(text_is(record.u.text.a, text));
    }
    assert_false(ss_cursor_next(cursor, &record));
    ss_cursor_free(cursor);
    ss_run_close(run);
    reading_remove_dir(dir);
}

static void a_run_on_disk_reads_like_one_in_memory(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct synth *const synth = synth_new();
    static struct ss_record disk[9000], memory[9000];

    for (uint32_t i = 0; i < 9000; i++)
        synth_span(synth, 1 + i % 3, (uint16_t)i, 2000 + i, 3000 + i);
    assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
    struct ss_run *const on_disk = ss_run_open(dir, NULL);
    struct ss_run *const in_memory = reading_open(synth);
    assert_int_equal(reading_all(on_disk, SS_ALL_LANES, disk, 9000), 9000);
    assert_int_equal(reading_all(in_memory, SS_ALL_LANES, memory, 9000), 9000);
    for (size_t i = 0; i < 9000; i++) {
        assert_int_equal(disk[i].name, memory[i].name);
        assert_int_equal(disk[i].lane, memory[i].lane);
        assert_int_equal(disk[i].time_ns, memory[i].time_ns);
    }
    ss_run_close(on_disk);
    ss_run_close(in_memory);
    synth_free(synth);
    reading_remove_dir(dir);
}

static void cursors_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct synth *const synth = many_lanes(3, 300);
    struct ss_run *const run = reading_open(synth);
    struct ss_cursor *const merged = ss_cursor_new(run, SS_ALL_LANES);
    struct ss_cursor *const lane = ss_cursor_new(run, reading_lane(run, 0, 2));
    struct ss_record record;

    for (uint64_t i = 0; i < 300; i++) {
        assert_true(ss_cursor_next(lane, &record));
        assert_int_equal(record.time_ns, 2000 + i * 3 + 2);
        assert_true(ss_cursor_next(merged, &record));
        assert_int_equal(record.time_ns, 2001 + i);
    }
    assert_null(ss_cursor_new(run, 99));
    ss_cursor_free(NULL);
    ss_cursor_free(lane);
    ss_run_close(run); /* before its cursor, which then is empty */
    assert_false(ss_cursor_next(merged, &record));
    ss_cursor_free(merged);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_by_time),
        cmocka_unit_test(records_know_of_the_gaps_before_them),
        cmocka_unit_test(at_the_same_time_the_order_is_file_lane_place),
        cmocka_unit_test(a_record_that_is_late_in_its_lane_keeps_its_place),
        cmocka_unit_test(two_thousand_lanes_are_merged),
        cmocka_unit_test(ten_thousand_lanes_on_disk_need_little_memory),
        cmocka_unit_test(a_run_on_disk_reads_like_one_in_memory),
        cmocka_unit_test(cursors_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
