/* What the records of a lane are and which of them count: format 5, 8.5 and
 * 8.6. */
#include <stdlib.h>
#include <string.h>

#include "support/reading.h"

enum {
    SEGMENT = SS_SEGMENT_BYTES,
    BLOCK_1 = 2 * SS_BLOCK_BYTES, /* lane block 1, and where its records start */
    RECORDS_1 = BLOCK_1 + SS_INLINE_OFFSET,
    END_1 = BLOCK_1 + SS_BLOCK_BYTES
};

static void put_u16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static void a_span_has_all_its_fields(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const struct ss_rec_span span = {
        {SS_KIND_SPAN, 1, 3, SS_FLAG_TRAIN | SS_FLAG_FAILED, 2, SS_NEST_OPEN | 9}, 2000, 2500, -7};
    struct ss_record record;

    synth_name(synth, 3, "fwd", SS_STAGE_FORWARD, SS_ROLE_UPDATE, SS_SCOPE_BATCH_END, "Net");
    synth_full_span(synth, 1, &span);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    assert_int_equal(record.kind, SS_KIND_SPAN);
    assert_int_equal(record.time_ns, 2500);
    assert_int_equal(record.start_ns, 2000);
    assert_int_equal(record.end_ns, 2500);
    assert_int_equal(record.u.arg, -7);
    assert_int_equal(record.name, 3);
    assert_int_equal(record.stage, SS_STAGE_FORWARD);
    assert_int_equal(record.flags, SS_FLAG_TRAIN | SS_FLAG_FAILED);
    assert_int_equal(record.depth, 2);
    assert_int_equal(record.nest, SS_NEST_OPEN | 9);
    assert_int_equal(record.lane, reading_lane(run, 0, 1));
    assert_int_equal(record.tid | record.owner, 0);
    assert_int_equal(record.subject, 0);
    assert_int_equal(record.role | record.scope, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void points_have_their_value(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record r[8];

    synth_point(synth, 1, SS_KIND_STEP, 0, 2001, 64);
    synth_point(synth, 1, SS_KIND_LOOP_BEGIN, 5, 2002, 0);
    synth_point(synth, 1, SS_KIND_EPOCH_BEGIN, 0, 2003, 12);
    synth_counter(synth, 1, 6, 2004, -0.25);
    synth_point(synth, 1, SS_KIND_EPOCH_END, 0, 2005, 0);
    synth_point(synth, 1, SS_KIND_LOOP_END, 0, 2006, 0);
    synth_system(synth, 1, 7, 2007, 1.5, 99, SS_SYSTEM_DENIED);
    synth_point(synth, 1, SS_KIND_THREAD_END, 0, 2008, 0);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 8), 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(r[i].time_ns, 2001 + i);
        assert_int_equal(r[i].start_ns | r[i].end_ns, 0);
    }
    assert_int_equal(r[0].u.samples, 64);
    assert_int_equal(r[1].name, 5);
    assert_int_equal(r[2].u.epoch, 12);
    assert_true(r[3].u.value == -0.25 && r[3].name == 6);
    assert_int_equal(r[4].kind, SS_KIND_EPOCH_END);
    assert_int_equal(r[5].kind, SS_KIND_LOOP_END);
    assert_true(r[6].u.value == 1.5);
    assert_int_equal(r[6].subject, 99);
    assert_int_equal(r[6].flags, SS_SYSTEM_DENIED);
    assert_int_equal(r[7].subject, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void texts_plans_samples_and_windows_are_decoded(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const uint64_t plan[4] = {100, 2, 50, 32};
    const uint32_t frames[3] = {7, 8, 9};
    struct ss_record r[7];

    synth_text(synth, 1, SS_KIND_MARK, 4, 2000, 0, "a mark longer than eight bytes", "");
    synth_text(synth, 1, SS_KIND_HOOK, 0, 2000, 0, "torch.save", "no such attribute");
    synth_plan(synth, 1, 2000, plan);
    synth_sample(synth, 1, 2000, 77, frames, 3);
    synth_frame(synth, 1, 8, 120, "forward", "model.py");
    synth_window(synth, 1, SS_KIND_PERTURBED, 1500, 2000, SS_PERTURBED_SUSPEND);
    synth_window(synth, 1, SS_KIND_LOST, 1600, 2100, 12);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 7), 7);
    assert_true(text_is(r[0].u.text.a, "a mark longer than eight bytes"));
    assert_int_equal(r[0].u.text.b.size, 0);
    assert_true(text_is(r[1].u.text.a, "torch.save"));
    assert_true(text_is(r[1].u.text.b, "no such attribute"));
    assert_memory_equal(r[2].u.plan, plan, sizeof plan);
    assert_int_equal(r[3].tid, 77);
    assert_int_equal(r[3].u.sample.frames, 3);
    assert_memory_equal(r[3].u.sample.frame, frames, sizeof frames);
    assert_int_equal(r[4].u.text.id, 8);
    assert_int_equal(r[4].u.text.line, 120);
    assert_true(text_is(r[4].u.text.a, "forward") && text_is(r[4].u.text.b, "model.py"));
    assert_int_equal(r[4].time_ns, 2000); /* has no ticks: as the one before */
    assert_true(r[5].start_ns == 1500 && r[5].end_ns == 2000 && r[5].u.arg == 2);
    assert_true(r[6].start_ns == 1600 && r[6].end_ns == 2100 && r[6].u.arg == 12);
    ss_run_close(run);
    synth_free(synth);
}

static void the_control_lane_gives_names_infos_and_calibrations(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record r[3];

    synth_name(synth, 2, "loss", SS_STAGE_USER, SS_ROLE_EPOCH, SS_SCOPE_TRAIN_END, "Adam#2");
    synth_info(synth, "command", "python x.py");
    synth_calibration(synth, 1200, 1200, 987654321);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 0, r, 3), 3);
    assert_int_equal(r[0].time_ns, 1000); /* the start of the process */
    assert_true(text_is(r[0].u.text.a, "loss") && text_is(r[0].u.text.b, "Adam#2"));
    assert_int_equal(r[0].name, 2);
    assert_int_equal(r[0].stage, SS_STAGE_USER);
    assert_int_equal(r[0].role, SS_ROLE_EPOCH);
    assert_int_equal(r[0].scope, SS_SCOPE_TRAIN_END);
    assert_true(text_is(r[1].u.text.a, "command") && text_is(r[1].u.text.b, "python x.py"));
    assert_int_equal(r[2].u.clocks[0], 1200);
    assert_int_equal(r[2].u.clocks[1], 987654321);
    assert_int_equal(r[2].u.clocks[2], 40);
    assert_int_equal(ss_run_process(run, 0)->calibrations, 1);
    assert_int_equal(ss_run_process(run, 0)->names, 3);
    ss_run_close(run);
    synth_free(synth);
}

static void every_name_has_a_text(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const struct ss_name_info *name;
    struct ss_record record;

    synth_span(synth, 1, 0, 2000, 2001);
    synth_name(synth, 5, "five", SS_STAGE_DATA, SS_ROLE_LOOP, SS_SCOPE_EPOCH_END, "obj");
    synth_name(synth, 5, "again", SS_STAGE_COMM, SS_ROLE_NONE, SS_SCOPE_NONE, "");
    synth_name(synth, 6, "", 99, 99, 99, "");
    synth_name(synth, 0, "zero", SS_STAGE_COMM, 0, 0, "");
    struct ss_run *const run = reading_open(synth);
    name = ss_run_name(run, 0, 5);
    assert_true(text_is(name->text, "five") && text_is(name->object, "obj"));
    assert_int_equal(name->stage, SS_STAGE_DATA);
    assert_int_equal(name->role, SS_ROLE_LOOP);
    assert_int_equal(name->scope, SS_SCOPE_EPOCH_END);
    name = ss_run_name(run, 0, 6); /* of a newer recorder: words that we do not know */
    assert_true(text_is(name->text, ""));
    assert_int_equal(name->stage | name->role | name->scope, 0);
    assert_true(text_is(ss_run_name(run, 0, 0)->text, "(unnamed)"));
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    assert_int_equal(record.stage, SS_STAGE_OTHER);
    assert_true(text_is(ss_run_name(run, 0, 4)->text, "(name 4)"));
    assert_true(text_is(ss_run_name(run, 0, 65535)->text, "(name 65535)"));
    assert_true(text_is(ss_run_name(run, 9, 4)->text, "(name 4)"));
    assert_int_equal(ss_run_process(run, 0)->names, 7);
    ss_run_close(run);
    synth_free(synth);
}

static void of_an_info_key_the_first_counts(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_text key, value;

    synth_info(synth, "host", "a");
    synth_info(synth, "cpu", "x");
    synth_info(synth, "host", "b");
    synth_info(synth, "", "empty");
    struct ss_run *const run = reading_open(synth);
    assert_true(text_is(ss_run_info(run, 0, "host"), "a"));
    assert_true(text_is(ss_run_info(run, 0, ""), "empty"));
    assert_null(ss_run_info(run, 0, "hos").data);
    assert_true(ss_run_info_at(run, 0, 1, &key, &value));
    assert_true(text_is(key, "cpu"));
    assert_true(ss_run_info_at(run, 0, 2, &key, &value));
    assert_int_equal(key.size, 0);
    assert_false(ss_run_info_at(run, 0, 3, &key, &value));
    assert_false(ss_run_info_at(run, 1, 0, &key, &value));
    ss_run_close(run);
    synth_free(synth);
}

static void a_lane_is_its_block_and_then_its_segments(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    static struct ss_record records[5000];

    /* 192 fit into the block, 2046 into a segment. */
    for (uint32_t i = 0; i < 192 + 2046 + 1; i++)
        synth_span(synth, 1, 0, 2000 + i, 2000 + i);
    assert_int_equal(synth_size(synth), 3 * SEGMENT);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, records, 5000), 2239);
    for (size_t i = 0; i < 2239; i++)
        assert_int_equal(records[i].start_ns, 2000 + i);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void unknown_kinds_are_skipped_whatever_is_in_them(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const struct ss_head unknown = {.kind = SS_KIND_COUNT, .units = 3};
    uint8_t rest[88];
    struct ss_record r[2];

    memset(rest, 0xff, sizeof rest);
    synth_span(synth, 1, 0, 2000, 2001);
    synth_record(synth, 1, &unknown, rest, sizeof rest);
    synth_point(synth, 1, SS_KIND_STEP, 0, 2002, 1);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 2), 2);
    assert_int_equal(r[1].kind, SS_KIND_STEP);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void a_longer_record_of_a_known_kind_is_read(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const struct ss_head head = {.kind = SS_KIND_SPAN, .units = 2};
    const uint64_t times[2] = {2000, 2001};
    struct ss_record r[2];

    synth_record(synth, 1, &head, times, sizeof times);
    synth_point(synth, 1, SS_KIND_STEP, 0, 2002, 1);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 2), 2);
    assert_int_equal(r[0].start_ns, 2000);
    assert_int_equal(r[1].kind, SS_KIND_STEP);
    ss_run_close(run);
    synth_free(synth);
}

/* A run of a good span, a record that `spoil` makes bad, and another good span; and
 * one in the next segment. */
static void expect_bad(void (*spoil)(struct synth *, uint8_t *))
{
    struct synth *const synth = synth_new();
    const struct ss_loss loss = {.kind = SS_LOSS_RECORDS,
                                 .offset = RECORDS_1 + SS_UNIT,
                                 .bytes = END_1 - RECORDS_1 - SS_UNIT};
    struct ss_record r[2];

    synth_span(synth, 1, 1, 2000, 2001);
    uint8_t *const record = synth_span(synth, 1, 2, 2002, 2003);
    synth_span(synth, 1, 3, 2004, 2005);
    spoil(synth, record);
    synth_next_segment(synth, 1);
    synth_span(synth, 1, 4, 2006, 2007);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 2), 2);
    assert_int_equal(r[0].name, 1);
    assert_int_equal(r[1].name, 4);
    reading_expect_losses(run, &loss, 1);
    ss_run_close(run);
    synth_free(synth);
}

static void kind_zero(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = 0;
}

static void no_units(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[1] = 0;
}

/* From the second record on, 191 of the 192 units of the block are left. */
static void one_unit_too_many(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[1] = 192;
}

static void unknown_kind_too_long(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = 200;
    record[1] = 192;
}

static void a_plan_of_one_unit(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = SS_KIND_PLAN;
}

static void a_calibration_of_one_unit(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = SS_KIND_CALIBRATION;
}

static void a_text_too_long(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = SS_KIND_MARK;
    put_u64(record + 16, 0);
    put_u16(record + 20, 9);
}

static void two_texts_too_long(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = SS_KIND_INFO;
    put_u16(record + 20, 4);
    put_u16(record + 22, 5);
}

static void too_many_frames(struct synth *synth, uint8_t *record)
{
    (void)synth;
    record[0] = SS_KIND_SAMPLE;
    put_u16(record + 20, 3);
}

static void end_before_start(struct synth *synth, uint8_t *record)
{
    (void)synth;
    put_u64(record + 16, 2001);
}

static void a_window_that_ends_before_it_starts(struct synth *synth, uint8_t *record)
{
    record[0] = SS_KIND_LOST;
    end_before_start(synth, record);
}

static void before_the_process(struct synth *synth, uint8_t *record)
{
    (void)synth;
    put_u64(record + 8, 999);
}

static void a_point_before_the_process(struct synth *synth, uint8_t *record)
{
    record[0] = SS_KIND_STEP;
    before_the_process(synth, record);
}

/* The horizon is an hour after the later beat here. */
static void beyond_the_horizon(struct synth *synth, uint8_t *record)
{
    put_u64(record + 16, 5000000 + 3600 * (uint64_t)1000000000 + 1);
    synth_beat(synth, 5000000, 5000000);
    synth_beat(synth, 3000000, 3000000);
}

static void bad_records_end_their_segment_and_reading_goes_on_in_the_next(void **state)
{
    (void)state;
    expect_bad(kind_zero);
    expect_bad(no_units);
    expect_bad(one_unit_too_many);
    expect_bad(unknown_kind_too_long);
    expect_bad(a_plan_of_one_unit);
    expect_bad(a_calibration_of_one_unit);
    expect_bad(a_text_too_long);
    expect_bad(two_texts_too_long);
    expect_bad(too_many_frames);
    expect_bad(end_before_start);
    expect_bad(a_window_that_ends_before_it_starts);
    expect_bad(before_the_process);
    expect_bad(a_point_before_the_process);
    expect_bad(beyond_the_horizon);
}

/* All of these are just good: the last unit of the block, texts that fill their
 * record, a length of 0, a second text where there is none, the first tick and the
 * last before the horizon. */
static void records_at_their_limits_are_good(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const uint32_t frames[2] = {1, 2};
    uint8_t *record;

    synth_beat(synth, 5000000, 5000000);
    synth_span(synth, 1, 0, 1000, 1000);
    record = synth_text(synth, 1, SS_KIND_MARK, 0, 2000, 0, "12345678", "");
    put_u16(record + 22, 9999); /* reserved in a mark */
    synth_text(synth, 1, SS_KIND_HOOK, 0, 2000, 0, "1234", "5678");
    synth_sample(synth, 1, 2000, 0, frames, 2);
    synth_span(synth, 1, 0, 2000, 5000000 + 3600 * (uint64_t)1000000000);
    const struct ss_head rest = {.kind = SS_KIND_STEP, .units = 192 - 5};
    const uint64_t ticks = 2000;
    synth_record(synth, 1, &rest, &ticks, sizeof ticks);
    assert_int_equal(synth_size(synth), SEGMENT);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_count(run), 6);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void without_beats_there_is_no_horizon(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_span(synth, 1, 0, 2000, INT64_MAX);
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_count(run), 1);
    ss_run_close(run);
    synth_header(synth)->beats = 1;
    run = reading_open(synth);
    assert_int_equal(reading_count(run), 0);
    ss_run_close(run);
    synth_header(synth)->ticks_per_s = UINT64_MAX; /* the sum does not wrap round */
    run = reading_open(synth);
    assert_int_equal(reading_count(run), 1);
    ss_run_close(run);
    synth_free(synth);
}

/* The file ends after 31 bytes of the third span. */
static void a_segment_cut_short_loses_its_rest(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const size_t third = SEGMENT + SS_SEGMENT_HEADER_BYTES + 2 * SS_UNIT;

    synth_next_segment(synth, 1);
    for (uint64_t i = 0; i < 10; i++)
        synth_span(synth, 1, 0, 2000 + i, 2000 + i);
    synth_cut(synth, third + 31);
    struct ss_run *run = reading_open(synth);
    const struct ss_loss part = {.kind = SS_LOSS_TRUNCATED, .offset = third, .bytes = 31};
    assert_int_equal(reading_count(run), 2);
    reading_expect_losses(run, &part, 1);
    ss_run_close(run);
    synth_cut(synth, third);
    run = reading_open(synth);
    const struct ss_loss none = {.kind = SS_LOSS_TRUNCATED, .offset = third, .bytes = 0};
    assert_int_equal(reading_count(run), 2);
    reading_expect_losses(run, &none, 1);
    ss_run_close(run);
    synth_free(synth);
}

static void a_record_cut_short_loses_the_rest_unless_it_is_bad(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const size_t second = SEGMENT + SS_SEGMENT_HEADER_BYTES + SS_UNIT;
    const uint64_t plan[4] = {1, 2, 3, 4};

    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 2000);
    uint8_t *const record = synth_plan(synth, 1, 2000, plan);
    synth_cut(synth, second + 63);
    struct ss_run *run = reading_open(synth);
    const struct ss_loss cut = {.kind = SS_LOSS_TRUNCATED, .offset = second, .bytes = 63};
    reading_expect_losses(run, &cut, 1);
    ss_run_close(run);
    record[0] = 99; /* of a kind that we do not know */
    run = reading_open(synth);
    reading_expect_losses(run, &cut, 1);
    ss_run_close(run);
    record[0] = SS_KIND_PLAN;
    put_u64(record + 8, 1); /* before the start of the process */
    run = reading_open(synth);
    const struct ss_loss bad = {.kind = SS_LOSS_RECORDS, .offset = second, .bytes = 63};
    reading_expect_losses(run, &bad, 1);
    ss_run_close(run);
    synth_free(synth);
}

static void time_never_goes_back_within_a_lane(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record r[4];

    synth_span(synth, 1, 0, 3000, 5000);
    synth_span(synth, 1, 0, 2000, 4000); /* appended later */
    synth_frame(synth, 1, 1, 1, "f", "g");
    synth_span(synth, 1, 0, 3000, 6000);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 4);
    assert_int_equal(r[1].time_ns, 5000);
    assert_int_equal(r[1].start_ns, 2000);
    assert_int_equal(r[1].end_ns, 4000);
    assert_int_equal(r[2].time_ns, 5000);
    assert_int_equal(r[3].time_ns, 6000);
    ss_run_close(run);
    synth_free(synth);
}

static void threads_that_follow_each_other_on_a_lane_are_told_apart(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record r[6];

    synth_span(synth, 1, 0, 2000, 2001);
    synth_text(synth, 1, SS_KIND_THREAD_BEGIN, 0, 2002, 501, "loader", "");
    synth_span(synth, 1, 0, 2003, 2004);
    synth_point(synth, 1, SS_KIND_THREAD_END, 0, 2005, 0);
    synth_text(synth, 1, SS_KIND_THREAD_BEGIN, 0, 2006, 502, "", "");
    synth_span(synth, 1, 0, 2007, 2008);
    struct ss_run *const run = reading_open(synth);
    const uint32_t tids[] = {0, 501, 501, 501, 502, 502};
    const uint32_t owners[] = {0, 1, 1, 1, 2, 2};
    assert_int_equal(reading_of(run, 1, r, 6), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(r[i].tid, tids[i]);
        assert_int_equal(r[i].owner, owners[i]);
    }
    assert_true(text_is(r[1].u.text.a, "loader"));
    assert_int_equal(r[1].u.text.id, 501);
    ss_run_close(run);
    synth_free(synth);
}

/* Every kind at every alignment of the file in memory, read in place. */
static void a_file_may_be_anywhere_in_memory(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const uint32_t frames[3] = {1, 2, 3};
    struct ss_record r[2];

    synth_sample(synth, 1, 2000, 5, frames, 3);
    synth_span(synth, 1, 0, 2000, 2001);
    uint8_t *const memory = malloc(SEGMENT + 8);
    assert_non_null(memory);
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(memory + shift, synth_bytes(synth), SEGMENT);
        const struct ss_blob blob = {"p.ssp", memory + shift, SEGMENT};
        struct ss_run *const run = ss_run_open_memory(&blob, 1, NULL);
        struct ss_cursor *const cursor = ss_cursor_new(run, 1);
        assert_true(ss_cursor_next(cursor, &r[0]));
        assert_int_equal((uintptr_t)r[0].u.sample.frame % _Alignof(uint32_t), 0);
        assert_memory_equal(r[0].u.sample.frame, frames, sizeof frames);
        assert_true(ss_cursor_next(cursor, &r[1]));
        assert_int_equal(r[1].end_ns, 2001);
        assert_false(ss_cursor_next(cursor, &r[1]));
        ss_cursor_free(cursor);
        ss_run_close(run);
    }
    free(memory);
    synth_free(synth);
}

static void every_word_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(ss_stage_text(SS_STAGE_CHECKPOINT), "checkpoint");
    assert_string_equal(ss_stage_text(SS_STAGE_COUNT), "unknown");
    assert_string_equal(ss_role_text(SS_ROLE_USER_STEP), "user_step");
    assert_string_equal(ss_scope_text(SS_SCOPE_TRAIN_END), "train_end");
    assert_string_equal(ss_kind_text(SS_KIND_LOST), "lost");
    assert_string_equal(ss_kind_text(0), "unknown");
    assert_string_equal(ss_flag_text(8), "unfinished");
    assert_string_equal(ss_flag_text(9), "sampled");
    assert_string_equal(ss_flag_text(10), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_all_its_fields),
        cmocka_unit_test(points_have_their_value),
        cmocka_unit_test(texts_plans_samples_and_windows_are_decoded),
        cmocka_unit_test(the_control_lane_gives_names_infos_and_calibrations),
        cmocka_unit_test(every_name_has_a_text),
        cmocka_unit_test(of_an_info_key_the_first_counts),
        cmocka_unit_test(a_lane_is_its_block_and_then_its_segments),
        cmocka_unit_test(unknown_kinds_are_skipped_whatever_is_in_them),
        cmocka_unit_test(a_longer_record_of_a_known_kind_is_read),
        cmocka_unit_test(bad_records_end_their_segment_and_reading_goes_on_in_the_next),
        cmocka_unit_test(records_at_their_limits_are_good),
        cmocka_unit_test(without_beats_there_is_no_horizon),
        cmocka_unit_test(a_segment_cut_short_loses_its_rest),
        cmocka_unit_test(a_record_cut_short_loses_the_rest_unless_it_is_bad),
        cmocka_unit_test(time_never_goes_back_within_a_lane),
        cmocka_unit_test(threads_that_follow_each_other_on_a_lane_are_told_apart),
        cmocka_unit_test(a_file_may_be_anywhere_in_memory),
        cmocka_unit_test(every_word_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
