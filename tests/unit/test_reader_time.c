/* Ticks to nanoseconds: format 6. */
#include <stdlib.h>
#include <string.h>

#include "support/reading.h"

/* A counter of 3 GHz: 1 ns is 3 ticks. */
static struct synth *counter_run(void)
{
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);

    header->clock = SS_CLOCK_TSC;
    header->start_ticks = 1000000;
    header->start_raw_ns = 5000;
    header->ticks_per_s = 3000000000;
    header->end_ticks = 1000000;
    return synth;
}

/* The nanoseconds that a step at `ticks` is read with. */
static ss_ns ns_of(struct synth *synth, uint64_t ticks)
{
    struct synth *const copy = synth_new();
    struct ss_record record;
    ss_ns ns;

    synth_point(copy, 1, SS_KIND_STEP, 0, ticks, 0);
    memcpy(synth_bytes(copy), synth_bytes(synth), 2 * SS_BLOCK_BYTES);
    struct ss_run *const run = reading_open(copy);
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    ns = record.time_ns;
    ss_run_close(run);
    synth_free(copy);
    return ns;
}

static void ticks_of_the_raw_clock_are_nanoseconds(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_calibration(synth, 2000, 999999, 0); /* not looked at */
    assert_int_equal(ns_of(synth, 1000), 1000);
    assert_int_equal(ns_of(synth, 123456789012345), 123456789012345);
    assert_int_equal(ns_of(synth, INT64_MAX), INT64_MAX);
    assert_int_equal(ns_of(synth, UINT64_MAX), INT64_MAX);
    synth_free(synth);
}

/* m = floor(10^9 * 2^40 / (3 * 10^9)) = 366503875925; 3 * 10^9 ticks give
 * floor(3 * 10^9 * 366503875925 / 2^40) = 999999999 ns. */
static void without_calibration_the_first_estimate_counts(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();

    assert_int_equal(ns_of(synth, 1000000), 5000);
    assert_int_equal(ns_of(synth, 1000002), 5000);
    assert_int_equal(ns_of(synth, 1000004), 5001);
    assert_int_equal(ns_of(synth, 1000000 + 3000000000), 5000 + 999999999);
    synth_header(synth)->ticks_per_s = 0; /* not known: a tick is a nanosecond */
    assert_int_equal(ns_of(synth, 1000000 + 77), 5077);
    synth_free(synth);
}

/* From (1000000, 5000) to (1003000, 6500): m = 2^39, half a ns a tick; then to
 * (1005000, 10500): m = 2^41, two ns a tick, also after it. */
static void between_two_points_the_line_through_them_counts(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();

    synth_calibration(synth, 1003000, 6500, 0);
    synth_calibration(synth, 1005000, 10500, 0);
    assert_int_equal(ns_of(synth, 1000000), 5000);
    assert_int_equal(ns_of(synth, 1000003), 5001);
    assert_int_equal(ns_of(synth, 1002999), 6499);
    assert_int_equal(ns_of(synth, 1003000), 6500);
    assert_int_equal(ns_of(synth, 1003001), 6502);
    assert_int_equal(ns_of(synth, 1005000), 10500);
    assert_int_equal(ns_of(synth, 1005001), 10502);
    assert_int_equal(ns_of(synth, 2005000), 2010500);
    synth_free(synth);
}

static void a_point_counts_only_if_both_its_clocks_went_on(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();

    synth_calibration(synth, 1002000, 5000, 0); /* nanoseconds stood still */
    synth_calibration(synth, 1000000, 9000, 0); /* ticks stood still */
    synth_calibration(synth, 1002000, 6000, 0);
    synth_calibration(synth, 1001000, 7000, 0); /* ticks went back */
    synth_calibration(synth, 1003000, 5500, 0); /* nanoseconds went back */
    assert_int_equal(ns_of(synth, 1001000), 5500);
    assert_int_equal(ns_of(synth, 1004000), 7000);
    synth_free(synth);
}

static void the_whole_beat_is_the_last_point(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();

    synth_calibration(synth, 1002000, 6000, 0);
    synth_beat(synth, 1003000, 9000); /* beats is 1: beat[1] */
    synth_header(synth)->beat[0].ticks = 1002500;
    synth_header(synth)->beat[0].raw_ns = 1;
    assert_int_equal(ns_of(synth, 1001000), 5500);
    assert_int_equal(ns_of(synth, 1002500), 7500);
    assert_int_equal(ns_of(synth, 1004000), 12000);
    synth_header(synth)->beats = 0; /* none yet */
    assert_int_equal(ns_of(synth, 1004000), 7000);
    synth_free(synth);
}

static void calibrations_of_other_lanes_are_not_points(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();
    struct ss_rec_calibration calibration = {
        {.kind = SS_KIND_CALIBRATION, .units = 2}, 1002000, 99000, 0, 0, {0}};
    struct ss_record r[2];

    synth_record(synth, 1, &calibration.head, &calibration.ticks,
                 sizeof calibration - sizeof calibration.head);
    synth_point(synth, 1, SS_KIND_STEP, 0, 1003000, 0);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 2), 2);
    assert_int_equal(r[1].time_ns, 5999);
    assert_int_equal(ss_run_process(run, 0)->calibrations, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void times_beyond_the_range_are_its_ends(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();

    synth_header(synth)->start_raw_ns = INT64_MAX - 10;
    synth_header(synth)->ticks_per_s = 1000000000;
    assert_int_equal(ns_of(synth, 1000009), INT64_MAX - 1);
    assert_int_equal(ns_of(synth, 1000010), INT64_MAX);
    assert_int_equal(ns_of(synth, 1000011), INT64_MAX);
    assert_int_equal(ns_of(synth, UINT64_MAX), INT64_MAX);
    synth_free(synth);
}

/* The steepest line: all nanoseconds in one tick, m = (2^64 - 1) * 2^40. */
static void no_line_is_too_steep_or_too_flat(void **state)
{
    (void)state;
    struct synth *const steep = counter_run(), *const flat = counter_run();

    synth_header(steep)->start_raw_ns = INT64_MIN;
    synth_calibration(steep, 1000001, INT64_MAX, 0);
    assert_int_equal(ns_of(steep, 1000000), INT64_MIN);
    assert_int_equal(ns_of(steep, 1000001), INT64_MAX);
    assert_int_equal(ns_of(steep, UINT64_MAX), INT64_MAX);
    synth_free(steep);

    synth_header(flat)->start_ticks = 0;
    synth_calibration(flat, UINT64_MAX, 5001, 0); /* m = 0 */
    assert_int_equal(ns_of(flat, UINT64_MAX - 1), 5000);
    assert_int_equal(ns_of(flat, UINT64_MAX), 5001);
    synth_free(flat);
}

/* m = 2^102: its line is not kept for the second time of the span. */
static void two_times_on_a_steep_line_are_right(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();
    struct ss_record record;

    synth_header(synth)->start_raw_ns = -1;
    synth_calibration(synth, 1000001, ((int64_t)1 << 62) - 1, 0);
    synth_span(synth, 1, 0, 1000001, 1000002);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    assert_int_equal(record.start_ns, ((int64_t)1 << 62) - 1);
    assert_int_equal(record.end_ns, INT64_MAX);
    ss_run_close(run);
    synth_free(synth);
}

/* Times that alternate between lines come out as if each were the first. */
static void the_order_of_conversions_does_not_matter(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();
    struct ss_record r[6];
    const uint64_t ticks[] = {1009000, 1000500, 1003500, 1007500, 1000600, 1009500};

    synth_calibration(synth, 1001000, 6000, 0);
    synth_calibration(synth, 1005000, 7000, 0);
    synth_calibration(synth, 1008000, 7500, 0); /* 1/6 ns a tick, also after it */
    for (size_t i = 0; i < 6; i++)
        synth_span(synth, 1, 0, ticks[i], ticks[i]);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 6), 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(r[i].end_ns, ns_of(synth, ticks[i]));
    ss_run_close(run);
    synth_free(synth);
}

/* Of a killed process: the end is the whole beat, here before the start. */
static void a_time_before_the_first_point_lies_on_the_first_line(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();
    const struct ss_process *process;

    synth_header(synth)->end_ticks = 1000500;
    synth_calibration(synth, 1001000, 6000, 0);
    struct ss_run *run = reading_open(synth);
    process = ss_run_process(run, 0);
    assert_int_equal(process->start_ns, 5000);
    assert_int_equal(process->end_ns, 5500);
    assert_int_equal(process->end, SS_END_EXITED);
    assert_true(process->ticks_per_s == 1e9);
    ss_run_close(run);
    synth_header(synth)->end_ticks = 10;
    run = reading_open(synth);
    assert_int_equal(ss_run_process(run, 0)->end_ns, 5000); /* not before its start */
    ss_run_close(run);
    synth_free(synth);
}

/* A calibration a second, on a clock of 1 GHz; the last one is `off` ns off the line. */
static const struct ss_process *clock_with(struct synth *synth, int64_t off, struct ss_run **run)
{
    synth_header(synth)->ticks_per_s = 1000000000;
    for (int64_t s = 1; s <= 5; s++)
        synth_calibration(synth, 1000000 + (uint64_t)s * 1000000000,
                          5000 + s * 1000000000 + (s == 5 ? off : 0), 0);
    *run = reading_open(synth);
    return ss_run_process(*run, 0);
}

static void a_clock_that_jumps_or_drifts_is_suspect(void **state)
{
    (void)state;
    const int64_t off[] = {0, 40000, 60000, 2000000, -2000000};
    const bool suspect[] = {false, false, true, true, true};

    for (size_t i = 0; i < 5; i++) {
        struct synth *const synth = counter_run();
        struct ss_run *run;
        const struct ss_process *const process = clock_with(synth, off[i], &run);
        const double ppm = (double)llabs(off[i]) / 1000;
        assert_int_equal(process->clock_jump_ns, off[i]);
        assert_true(process->clock_drift_ppm >= ppm - 0.01 &&
                    process->clock_drift_ppm <= ppm + 0.01);
        assert_int_equal(process->clock_suspect, suspect[i]);
        ss_run_close(run);
        synth_free(synth);
    }
}

/* Readings are some 20 ns off, which is much of a millisecond: the first calibrations,
 * at 1, 10 and 100 ms, say nothing about the rate yet. */
static void the_first_calibrations_make_no_clock_suspect(void **state)
{
    (void)state;
    struct synth *const synth = counter_run();
    struct ss_run *run;

    synth_calibration(synth, 1000000 + 1000000, 5000 + 1000000 + 100, 0);
    synth_calibration(synth, 1000000 + 10000000, 5000 + 10000000 - 100, 0);
    synth_calibration(synth, 1000000 + 100000000, 5000 + 100000000 + 100, 0);
    assert_false(clock_with(synth, 0, &run)->clock_suspect);
    ss_run_close(run);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_of_the_raw_clock_are_nanoseconds),
        cmocka_unit_test(without_calibration_the_first_estimate_counts),
        cmocka_unit_test(between_two_points_the_line_through_them_counts),
        cmocka_unit_test(a_point_counts_only_if_both_its_clocks_went_on),
        cmocka_unit_test(the_whole_beat_is_the_last_point),
        cmocka_unit_test(calibrations_of_other_lanes_are_not_points),
        cmocka_unit_test(times_beyond_the_range_are_its_ends),
        cmocka_unit_test(no_line_is_too_steep_or_too_flat),
        cmocka_unit_test(two_times_on_a_steep_line_are_right),
        cmocka_unit_test(the_order_of_conversions_does_not_matter),
        cmocka_unit_test(a_time_before_the_first_point_lies_on_the_first_line),
        cmocka_unit_test(a_clock_that_jumps_or_drifts_is_suspect),
        cmocka_unit_test(the_first_calibrations_make_no_clock_suspect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
