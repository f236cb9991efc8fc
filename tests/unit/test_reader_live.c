/* Following a run that is still written: ss_run_refresh(). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/run.h"
#include "support/reading.h"

/* A live process with a clock of nanoseconds: this one, started 1000 s ago. */
struct live {
    char *dir;
    struct synth *synth;
    struct ss_run *run;
    uint64_t past; /* ticks well before now */
};

static const char file_name[] = "p-1.ssp";

/* With a fresh beat, so that a slow machine does not let it seem dead. */
static void write_live(struct live *live)
{
    synth_beat(live->synth, (uint64_t)reading_now_ns(), reading_now_ns());
    assert_int_equal(synth_write(live->synth, live->dir, file_name), 0);
}

static int start(void **state)
{
    struct live *const live = calloc(1, sizeof *live);

    live->dir = reading_make_dir();
    live->synth = synth_new();
    live->past = (uint64_t)reading_now_ns() - 10000000000;
    reading_make_live(live->synth);
    *state = live;
    return 0;
}

static int finish(void **state)
{
    struct live *const live = *state;

    ss_run_close(live->run);
    synth_free(live->synth);
    reading_remove_dir(live->dir);
    free(live);
    return 0;
}

static void open_live(struct live *live)
{
    write_live(live);
    live->run = ss_run_open(live->dir, NULL);
    assert_non_null(live->run);
    assert_true(ss_run_is_live(live->run));
}

static void refresh(struct live *live)
{
    write_live(live);
    assert_int_equal(ss_run_refresh(live->run), 0);
}

static void die(struct live *live)
{
    synth_header(live->synth)->process_start++;
    refresh(live);
    assert_int_equal(ss_run_process(live->run, 0)->end, SS_END_KILLED);
    assert_false(ss_run_is_live(live->run));
}

static void expect_step(struct ss_cursor *cursor, uint64_t samples)
{
    struct ss_record record;

    assert_true(ss_cursor_next(cursor, &record));
    assert_int_equal(record.kind, SS_KIND_STEP);
    assert_int_equal(record.u.samples, samples);
}

static void expect_none(struct ss_cursor *cursor)
{
    struct ss_record record;

    assert_false(ss_cursor_next(cursor, &record));
    assert_false(ss_cursor_next(cursor, &record));
}

static void add_steps(struct live *live, uint32_t lane, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        synth_point(live->synth, lane, SS_KIND_STEP, 0, live->past + i, i);
}

/* Through block and segments, in portions that end everywhere: within, at the end of,
 * and just behind a segment. */
static void cursors_go_on_where_they_stopped(void **state)
{
    struct live *const live = *state;
    const uint64_t portions[] = {1, 100, 91, 1, 2045, 1, 1, 3000, 0, 5};
    uint64_t next = 0;

    synth_block(live->synth, 1);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    expect_none(lane);
    for (size_t p = 0; p < sizeof portions / sizeof *portions; p++) {
        add_steps(live, 1, next, portions[p]);
        refresh(live);
        for (uint64_t i = 0; i < portions[p]; i++) {
            expect_step(lane, next + i);
            expect_step(merged, next + i);
        }
        expect_none(lane);
        expect_none(merged);
        next += portions[p];
    }
    assert_int_equal(ss_run_losses(live->run), 0);
    ss_cursor_free(lane);
    ss_cursor_free(merged);
}

/* What is written without a refresh may be seen or not, but is never skipped. */
static void a_cursor_between_two_refreshes_loses_nothing(void **state)
{
    struct live *const live = *state;

    add_steps(live, 1, 0, 3);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    expect_step(lane, 0);
    add_steps(live, 1, 3, 2500); /* the rest of the block, and more */
    write_live(live);
    struct ss_record record;
    uint64_t next = 1;
    while (ss_cursor_next(lane, &record))
        assert_int_equal(record.u.samples, next++);
    refresh(live);
    while (ss_cursor_next(lane, &record))
        assert_int_equal(record.u.samples, next++);
    assert_int_equal(next, 2503);
    ss_cursor_free(lane);
}

static void new_lanes_names_and_calibrations_are_seen(void **state)
{
    struct live *const live = *state;
    struct ss_record record;

    open_live(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    expect_none(merged);
    assert_int_equal(ss_run_lanes(live->run), 1);
    synth_name(live->synth, 3, "late", SS_STAGE_COMM, 0, 0, "");
    synth_info(live->synth, "host", "here");
    synth_calibration(live->synth, live->past, (int64_t)live->past, 0);
    synth_span(live->synth, 9, 3, live->past, live->past + 5); /* a new directory too */
    synth_span(live->synth, 2, 3, live->past, live->past + 6);
    refresh(live);
    assert_int_equal(ss_run_lanes(live->run), 3);
    assert_int_equal(ss_run_process(live->run, 0)->calibrations, 1);
    assert_true(text_is(ss_run_name(live->run, 0, 3)->text, "late"));
    assert_true(text_is(ss_run_info(live->run, 0, "host"), "here"));
    for (int i = 0; i < 3; i++)
        assert_true(ss_cursor_next(merged, &record));
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(record.stage, SS_STAGE_COMM);
    assert_int_equal(ss_run_lane(live->run, record.lane)->number, 9);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(ss_run_lane(live->run, record.lane)->number, 2);
    expect_none(merged);
    ss_cursor_free(merged);
}

/* Indices stay: what is new comes at the end, whatever its name or number. */
static void new_files_are_seen_and_indices_stay(void **state)
{
    struct live *const live = *state;
    struct synth *const other = synth_new();
    struct ss_record record;

    synth_span(live->synth, 2, 0, live->past, live->past + 1);
    synth_span(other, 1, 0, 2000, 3000);
    open_live(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(synth_write(other, live->dir, "a.ssp"), 0);
    synth_span(live->synth, 1, 0, live->past, live->past + 2);
    refresh(live);
    assert_int_equal(ss_run_processes(live->run), 2);
    assert_string_equal(ss_run_process(live->run, 0)->file, file_name);
    assert_string_equal(ss_run_process(live->run, 1)->file, "a.ssp");
    assert_int_equal(ss_run_lane(live->run, 1)->number, 2);
    assert_int_equal(ss_run_lane(live->run, 2)->number, 1);
    assert_int_equal(ss_run_lane(live->run, 3)->process, 1);
    assert_true(ss_cursor_next(merged, &record)); /* of another time: counts as of now */
    assert_int_equal(record.end_ns, 3000);
    assert_int_equal(record.time_ns, live->past + 1);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(record.time_ns, live->past + 2);
    expect_none(merged);
    ss_cursor_free(merged);
    synth_free(other);
}

/* Both files have a record at 5000; the name decides, not who was there first. */
static void at_the_same_time_a_new_file_has_the_place_of_its_name(void **state)
{
    struct live *const live = *state;
    struct synth *const other = synth_new();
    struct ss_record record;

    synth_span(live->synth, 1, 0, 2000, 5000);
    synth_span(other, 1, 0, 2000, 5000);
    open_live(live);
    assert_int_equal(synth_write(other, live->dir, "a.ssp"), 0);
    refresh(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(ss_run_lane(live->run, record.lane)->process, 1);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(ss_run_lane(live->run, record.lane)->process, 0);
    ss_cursor_free(merged);
    synth_free(other);
}

/* A counter of 2 GHz whose calibrations come after beats that were points until then. */
static void times_of_a_followed_run_are_those_of_a_fresh_one(void **state)
{
    struct live *const live = *state;
    struct ss_record followed[40], fresh[40];

    synth_header(live->synth)->clock = SS_CLOCK_TSC;
    synth_header(live->synth)->ticks_per_s = 2000000000;
    synth_header(live->synth)->beats = 0;
    memset(synth_header(live->synth)->beat, 0, sizeof synth_header(live->synth)->beat);
    synth_beat(live->synth, 1500, 1300);
    assert_int_equal(synth_write(live->synth, live->dir, file_name), 0);
    live->run = ss_run_open(live->dir, NULL);
    for (uint64_t i = 1; i <= 40; i++) {
        synth_span(live->synth, 1, 0, 1000 + i * 900, 1500 + i * 1000);
        synth_calibration(live->synth, 1000 + i * 1000, (int64_t)(1000 + i * (500 + i)), 0);
        synth_beat(live->synth, 1500 + i * 1000, (int64_t)(1300 + i * (500 + i)));
        assert_int_equal(synth_write(live->synth, live->dir, file_name), 0);
        assert_int_equal(ss_run_refresh(live->run), 0);
    }
    struct ss_run *const run = ss_run_open(live->dir, NULL);
    assert_int_equal(reading_all(live->run, 1, followed, 40), 40);
    assert_int_equal(reading_all(run, 1, fresh, 40), 40);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(followed[i].start_ns, fresh[i].start_ns);
        assert_int_equal(followed[i].end_ns, fresh[i].end_ns);
    }
    ss_run_close(run);
}

static void a_file_is_no_loss_any_more_once_its_header_is_there(void **state)
{
    struct live *const live = *state;
    struct synth *const other = synth_new();
    char path[4200];

    open_live(live);
    snprintf(path, sizeof path, "%s/new.ssp", live->dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    refresh(live);
    refresh(live);
    assert_int_equal(ss_run_losses(live->run), 1);
    assert_string_equal(ss_run_loss(live->run, 0)->file, "new.ssp");
    assert_int_equal(synth_write(other, live->dir, "new.ssp"), 0);
    refresh(live);
    assert_int_equal(ss_run_losses(live->run), 0);
    assert_int_equal(ss_run_processes(live->run), 2);
    synth_free(other);
}

/* The second step is in the future: younger than 100 ms. */
static void young_records_wait_until_a_refresh_when_merged(void **state)
{
    struct live *const live = *state;

    add_steps(live, 1, 0, 1);
    add_steps(live, 2, 20000000000, 1);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, reading_lane(live->run, 0, 2));
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    expect_step(lane, 20000000000); /* nothing to overtake */
    expect_step(merged, 0);
    expect_none(merged);
    add_steps(live, 1, 5, 1); /* a slower lane */
    refresh(live);
    expect_step(merged, 5);
    expect_none(merged);
    die(live);
    expect_step(merged, 20000000000);
    expect_none(merged);
    ss_cursor_free(lane);
    ss_cursor_free(merged);
}

static void spans_open_at_death_come_after_the_refresh_that_sees_it(void **state)
{
    struct live *const live = *state;
    struct ss_record record;

    add_steps(live, 1, 0, 1);
    synth_open(live->synth, 1, 4, live->past);
    open_live(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    expect_step(merged, 0);
    expect_none(merged);
    assert_int_equal(ss_run_open_spans(live->run, 1, &record, 1), 1);
    assert_int_equal(record.flags, 0);
    assert_int_equal(record.start_ns, live->past);
    add_steps(live, 1, 1, 1);
    refresh(live);
    expect_step(merged, 1);
    expect_none(merged);
    add_steps(live, 1, 2, 1);
    die(live);
    expect_step(merged, 2);
    assert_true(ss_cursor_next(merged, &record));
    assert_int_equal(record.name, 4);
    assert_int_equal(record.flags, SS_FLAG_UNFINISHED);
    expect_none(merged);
    assert_int_equal(ss_run_refresh(live->run), 0);
    expect_none(merged);
    ss_cursor_free(merged);
}

/* A segment of 2046 records, 100 of them read when it is given up; its place in the
 * file then has another lane. Only 64 KB are in view at a time, hence a lane of a
 * small buffer: the cursor is over many lanes. */
static void a_segment_given_away_while_it_is_read_is_counted(void **state)
{
    struct live *const live = *state;
    uint64_t next = 0;
    struct ss_record record;

    synth_next_segment(live->synth, 1);
    add_steps(live, 1, 0, 2046 + 2046 + 1);
    for (uint32_t lane = 2; lane < 1000; lane++)
        synth_block(live->synth, lane);
    open_live(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    struct ss_cursor *const again = ss_cursor_new(live->run, SS_ALL_LANES);
    for (; next < 100; next++) {
        expect_step(merged, next);
        expect_step(again, next);
    }
    synth_give_up(live->synth, 1, 1);
    synth_give_up(live->synth, 1, 2);
    write_live(live);
    while (ss_cursor_next(merged, &record) && record.u.samples < 2 * 2046)
        assert_int_equal(record.u.samples, next++);
    assert_true(next < 300); /* what was in view */
    assert_int_equal(record.u.samples, 2 * 2046);
    expect_none(merged);
    /* The first was being read, the second was known and is gone too. */
    assert_int_equal(ss_run_losses(live->run), 2);
    assert_int_equal(ss_run_loss(live->run, 0)->kind, SS_LOSS_CHANGED);
    while (ss_cursor_next(again, &record))
        ;
    assert_int_equal(ss_run_losses(live->run), 2); /* not once more */
    refresh(live);
    expect_none(merged);
    assert_int_equal(ss_run_losses(live->run), 2);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    expect_step(lane, 2 * 2046);
    expect_none(lane);
    assert_int_equal(ss_run_losses(live->run), 2);
    ss_cursor_free(lane);
    ss_cursor_free(again);
    ss_cursor_free(merged);
}

static void a_segment_that_changes_hands_is_read_as_what_it_is(void **state)
{
    struct live *const live = *state;

    synth_next_segment(live->synth, 1);
    add_steps(live, 1, 0, 2046 * 2 + 1);
    add_steps(live, 2, 90000, 1);
    open_live(live);
    struct ss_cursor *const one = ss_cursor_new(live->run, reading_lane(live->run, 0, 1));
    struct ss_cursor *const two = ss_cursor_new(live->run, reading_lane(live->run, 0, 2));
    expect_step(two, 90000);
    expect_none(two);

    /* Segment 1 of the file, place 1 of lane 1, becomes place 1 of lane 2. */
    synth_give_up(live->synth, 1, 1);
    struct ss_segment_header *const segment =
        (struct ss_segment_header *)(void *)(synth_bytes(live->synth) + SS_SEGMENT_BYTES);
    *segment = (struct ss_segment_header){
        .magic = SS_SEGMENT_MAGIC, .kind = SS_SEGMENT_RECORDS, .lane = 2, .seq = 1, .lease = 77};
    const struct ss_rec_point step = {
        {.kind = SS_KIND_STEP, .units = 1}, live->past + 90001, 90001, 0};
    memcpy((uint8_t *)segment + SS_SEGMENT_HEADER_BYTES, &step, sizeof step);
    refresh(live);
    expect_step(two, 90001);
    expect_none(two);
    for (uint64_t i = 2046; i <= 2 * 2046; i++)
        expect_step(one, i);
    expect_none(one);
    assert_int_equal(ss_run_losses(live->run), 0);
    ss_cursor_free(one);
    ss_cursor_free(two);
}

static void a_bad_record_is_counted_once_over_refreshes_and_cursors(void **state)
{
    struct live *const live = *state;

    add_steps(live, 1, 0, 1);
    synth_point(live->synth, 1, SS_KIND_STEP, 0, 1, 0); /* before the process */
    open_live(live);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reading_count(live->run), 1);
        refresh(live);
    }
    expect_step(merged, 0);
    expect_none(merged);
    assert_int_equal(ss_run_losses(live->run), 1);
    assert_int_equal(ss_run_loss(live->run, 0)->kind, SS_LOSS_RECORDS);
    synth_next_segment(live->synth, 1);
    add_steps(live, 1, 7, 1);
    refresh(live);
    expect_step(merged, 7);
    assert_int_equal(ss_run_losses(live->run), 1);
    ss_cursor_free(merged);
}

/* A file grows in steps that are no whole segments, and headers are written in parts:
 * while the process lives nothing of that is lost. */
static void what_looks_damaged_is_lost_only_after_death(void **state)
{
    struct live *const live = *state;

    synth_next_segment(live->synth, 1);
    add_steps(live, 1, 0, 3);
    synth_next_segment(live->synth, 1);
    add_steps(live, 1, 3, 1);
    synth_segment(live->synth, 1)->magic = 1;
    synth_block(live->synth, 3)->magic = 1;
    const size_t size = synth_size(live->synth);
    synth_cut(live->synth, SS_SEGMENT_BYTES + SS_SEGMENT_HEADER_BYTES + 2 * SS_UNIT + 5);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    expect_step(lane, 0);
    expect_step(lane, 1);
    expect_none(lane);
    assert_int_equal(ss_run_losses(live->run), 0);
    synth_cut(live->synth, size);
    refresh(live);
    expect_step(lane, 2);
    expect_none(lane);
    assert_int_equal(ss_run_losses(live->run), 0);
    die(live);
    expect_none(lane);
    assert_int_equal(ss_run_losses(live->run), 2);
    ss_cursor_free(lane);
}

/* A record later than the horizon as it was at the last refresh, but not as it is now. */
static void the_horizon_moves_with_the_process(void **state)
{
    struct live *const live = *state;

    add_steps(live, 1, 0, 1);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    const uint64_t later = 100000000000;
    add_steps(live, 1, later, 1);
    synth_beat(live->synth, live->past + later, reading_now_ns());
    write_live(live);
    expect_step(lane, 0);
    expect_step(lane, later);
    assert_int_equal(ss_run_losses(live->run), 0);
    ss_cursor_free(lane);
}

static void a_run_whose_directory_is_gone_can_still_be_read(void **state)
{
    struct live *const live = *state;
    char path[4200];

    add_steps(live, 1, 0, 3);
    open_live(live);
    snprintf(path, sizeof path, "%s/%s", live->dir, file_name);
    unlink(path);
    assert_int_equal(ss_run_refresh(live->run), 0);
    assert_int_equal(reading_count(live->run), 3);
}

/* The view of a cursor is older than what the process wrote last. */
static void what_was_written_just_before_an_exit_is_read(void **state)
{
    struct live *const live = *state;

    add_steps(live, 1, 0, 3);
    open_live(live);
    struct ss_cursor *const lane = ss_cursor_new(live->run, 1);
    struct ss_cursor *const merged = ss_cursor_new(live->run, SS_ALL_LANES);
    for (uint64_t i = 0; i < 3; i++) {
        expect_step(lane, i);
        expect_step(merged, i);
    }
    expect_none(lane);
    expect_none(merged);
    add_steps(live, 1, 3, 2000); /* to the end of the block, and a segment */
    synth_header(live->synth)->state = SS_FILE_EXITED;
    synth_header(live->synth)->end_ticks = (uint64_t)reading_now_ns();
    refresh(live);
    assert_int_equal(ss_run_process(live->run, 0)->end, SS_END_EXITED);
    for (uint64_t i = 3; i < 2003; i++) {
        expect_step(lane, i);
        expect_step(merged, i);
    }
    ss_cursor_free(lane);
    ss_cursor_free(merged);
}

static enum ss_process_end end_after_refresh(struct live *live)
{
    assert_int_equal(synth_write(live->synth, live->dir, file_name), 0);
    assert_int_equal(ss_run_refresh(live->run), 0);
    return ss_run_process(live->run, 0)->end;
}

static void a_followed_process_is_dead_only_when_it_is_gone_and_silent(void **state)
{
    struct live *const live = *state;
    struct ss_file_header *const header = synth_header(live->synth);
    const int64_t long_ago = reading_now_ns() - 100000000000;

    open_live(live);
    run_follow(live->run, true);
    header->process_start++; /* gone */
    assert_int_equal(end_after_refresh(live), SS_END_LIVE);
    header->process_start--;
    header->beat[0].raw_ns = header->beat[1].raw_ns = long_ago; /* silent */
    assert_int_equal(end_after_refresh(live), SS_END_LIVE);
    header->process_start++;
    assert_int_equal(end_after_refresh(live), SS_END_KILLED);
    header->process_start--;
    assert_int_equal(end_after_refresh(live), SS_END_LIVE);
    run_follow(live->run, false);
    assert_int_equal(end_after_refresh(live), SS_END_KILLED);
}

/* Makes the file one of another process, as soon as /proc has this letter for its state. */
static void make_process(struct live *live, pid_t pid, char letter)
{
    struct ss_file_header *const header = synth_header(live->synth);
    unsigned long long start = 0;
    char path[64], found = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    while (found != letter) {
        char text[1024] = "";
        const int fd = open(path, O_RDONLY);
        assert_true(read(fd, text, sizeof text - 1) > 0);
        close(fd);
        assert_int_equal(sscanf(strrchr(text, ')'),
                                ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                "%*s %*s %*s %*s %*s %llu",
                                &found, &start),
                         2);
    }
    header->pid = (uint32_t)pid;
    header->process_start = start;
}

static void a_stopped_process_lives_and_a_zombie_does_not(void **state)
{
    struct live *const live = *state;
    struct ss_file_header *const header = synth_header(live->synth);

    open_live(live);
    const pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    make_process(live, pid, 'T');
    header->beat[0].raw_ns = header->beat[1].raw_ns = reading_now_ns() - 100000000000;
    assert_int_equal(end_after_refresh(live), SS_END_LIVE);
    kill(pid, SIGKILL);
    make_process(live, pid, 'Z');
    write_live(live); /* with a fresh beat */
    assert_int_equal(ss_run_refresh(live->run), 0);
    assert_int_equal(ss_run_process(live->run, 0)->end, SS_END_KILLED);
    waitpid(pid, NULL, 0);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(cursors_go_on_where_they_stopped),
        LIVE_TEST(a_cursor_between_two_refreshes_loses_nothing),
        LIVE_TEST(new_lanes_names_and_calibrations_are_seen),
        LIVE_TEST(new_files_are_seen_and_indices_stay),
        LIVE_TEST(at_the_same_time_a_new_file_has_the_place_of_its_name),
        LIVE_TEST(times_of_a_followed_run_are_those_of_a_fresh_one),
        LIVE_TEST(a_file_is_no_loss_any_more_once_its_header_is_there),
        LIVE_TEST(young_records_wait_until_a_refresh_when_merged),
        LIVE_TEST(spans_open_at_death_come_after_the_refresh_that_sees_it),
        LIVE_TEST(a_segment_given_away_while_it_is_read_is_counted),
        LIVE_TEST(a_segment_that_changes_hands_is_read_as_what_it_is),
        LIVE_TEST(a_bad_record_is_counted_once_over_refreshes_and_cursors),
        LIVE_TEST(what_looks_damaged_is_lost_only_after_death),
        LIVE_TEST(the_horizon_moves_with_the_process),
        LIVE_TEST(a_run_whose_directory_is_gone_can_still_be_read),
        LIVE_TEST(what_was_written_just_before_an_exit_is_read),
        LIVE_TEST(a_followed_process_is_dead_only_when_it_is_gone_and_silent),
        LIVE_TEST(a_stopped_process_lives_and_a_zombie_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
