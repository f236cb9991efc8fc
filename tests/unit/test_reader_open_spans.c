/* Spans that were open at the end, and how a process ended: format 8.8 and
 * 8.9. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/reading.h"

/* A process that died: its last sign of life is at 9000. */
static struct synth *killed_run(void)
{
    struct synth *const synth = synth_new();

    synth_header(synth)->state = SS_FILE_OPEN;
    synth_header(synth)->end_ticks = 0;
    synth_beat(synth, 9000, 9000);
    synth_text(synth, 1, SS_KIND_THREAD_BEGIN, 0, 1500, 88, "main", "");
    synth_open(synth, 1, 1, 2000);
    synth_open(synth, 1, 2, 3000);
    synth_open(synth, 1, 3, 4000);
    return synth;
}

static void open_spans_end_with_the_process_innermost_first(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_record r[4];

    synth_name(synth, 2, "step", SS_STAGE_FORWARD, 0, 0, "");
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 4);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(r[i].kind, SS_KIND_SPAN);
        assert_int_equal(r[i].name, 4 - i);
        assert_int_equal(r[i].start_ns, 5000 - (int)i * 1000);
        assert_int_equal(r[i].end_ns, 9000);
        assert_int_equal(r[i].time_ns, 9000);
        assert_int_equal(r[i].flags, SS_FLAG_UNFINISHED);
        assert_int_equal(r[i].depth, 3 - i);
        assert_int_equal(r[i].u.arg, 0);
        assert_int_equal(r[i].tid, 88);
        assert_int_equal(r[i].owner, 1);
    }
    assert_int_equal(r[2].stage, SS_STAGE_FORWARD);
    assert_int_equal(ss_run_process(run, 0)->end, SS_END_UNKNOWN);
    assert_int_equal(ss_run_process(run, 0)->end_ns, 9000);
    ss_run_close(run);
    synth_free(synth);
}

static void the_time_of_death_is_end_ticks_if_the_recorder_said_so(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_record r[4];

    synth_header(synth)->end_ticks = 8000;
    synth_header(synth)->state = SS_FILE_STOPPED;
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 4);
    assert_int_equal(r[3].end_ns, 8000);
    assert_int_equal(ss_run_process(run, 0)->end, SS_END_STOPPED);
    ss_run_close(run);
    synth_header(synth)->state = SS_FILE_OPEN;
    synth_header(synth)->beats = 0; /* no sign of life: the start of the innermost span */
    run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 4);
    assert_int_equal(r[1].end_ns, 4000);
    assert_int_equal(r[3].end_ns, 4000);
    assert_int_equal(r[3].time_ns, 4000);
    ss_run_close(run);
    synth_free(synth);
}

static void open_spans_end_not_before_the_last_record(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_record r[6];

    synth_span(synth, 1, 0, 4500, 9500);
    synth_span(synth, 1, 0, 4500, 4600); /* appended: the last record, but not the latest */
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 6), 6);
    assert_int_equal(r[3].end_ns, 9500);
    assert_int_equal(r[5].time_ns, 9500);
    ss_run_close(run);
    synth_free(synth);
}

static void a_span_that_was_just_being_closed_counts_once(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_rec_span span = {{SS_KIND_SPAN, 1, 3, 0, 2, 0}, 4000, 4500, 0};
    struct ss_record r[6];

    /* Its record is there, its depth not yet stored. */
    uint8_t *const record = synth_full_span(synth, 1, &span);
    synth_point(synth, 1, SS_KIND_STEP, 0, 4600, 0);
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 6), 5);
    assert_int_equal(r[3].name, 2);
    assert_int_equal(ss_run_open_spans(run, reading_lane(run, 0, 1), r, 6), 2);
    ss_run_close(run);
    record[6] = 1; /* of another depth: another span */
    run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 6), 6);
    ss_run_close(run);
    record[6] = 2;
    record[8]++; /* of another start */
    run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 6), 6);
    ss_run_close(run);
    synth_free(synth);
}

static void entries_that_make_no_sense_do_not_count(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_record r[4];

    synth_block(synth, 1)->open[1].start_ticks = 999; /* before the process */
    synth_block(synth, 1)->open[3].head.kind = SS_KIND_STEP;
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 2);
    assert_int_equal(r[1].name, 2);
    assert_int_equal(ss_run_losses(run), 0);
    ss_run_close(run);

    /* The innermost that counts is the one just being closed. */
    const struct ss_rec_span span = {{SS_KIND_SPAN, 1, 2, 0, 1, 0}, 3000, 4500, 0};
    synth_full_span(synth, 1, &span);
    run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, r, 4), 2);
    assert_int_equal(r[1].flags, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void a_stack_deeper_than_it_can_be_is_lost(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_record record;
    const struct ss_loss loss = {
        .kind = SS_LOSS_HEADER, .offset = 2 * SS_BLOCK_BYTES + 512, .bytes = 1024};

    synth_block(synth, 1)->depth = 64;
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    reading_expect_losses(run, &loss, 1);
    ss_run_close(run);
    for (uint32_t i = 1; i < 64; i++)
        synth_block(synth, 1)->open[i] = (struct ss_open_span){2000, {.kind = SS_KIND_SPAN}};
    synth_block(synth, 1)->depth = 63;
    run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, &record, 1), 64);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void open_spans_can_be_asked_for_outermost_first(void **state)
{
    (void)state;
    struct synth *const synth = killed_run();
    struct ss_run *const run = reading_open(synth);
    const size_t lane = reading_lane(run, 0, 1);
    struct ss_record r[4];

    assert_int_equal(ss_run_open_spans(run, lane, r, 4), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r[i].name, i + 1);
        assert_int_equal(r[i].start_ns, 2000 + (int)i * 1000);
        assert_int_equal(r[i].end_ns, 9000);
        assert_int_equal(r[i].time_ns, 9000);
        assert_int_equal(r[i].flags, SS_FLAG_UNFINISHED);
        assert_int_equal(r[i].tid, 88);
    }
    assert_int_equal(ss_run_open_spans(run, lane, r, 2), 2);
    assert_int_equal(r[1].name, 2);
    assert_int_equal(ss_run_open_spans(run, 0, r, 4), 0);
    assert_int_equal(ss_run_open_spans(run, 99, r, 4), 0);
    ss_run_close(run);
    synth_free(synth);
}

static enum ss_process_end end_on_disk(struct synth *synth)
{
    char *const dir = reading_make_dir();
    enum ss_process_end end;

    assert_int_equal(synth_write(synth, dir, "p.ssp"), 0);
    struct ss_run *const run = ss_run_open(dir, NULL);
    assert_non_null(run);
    end = ss_run_process(run, 0)->end;
    assert_int_equal(ss_run_is_live(run), end == SS_END_LIVE);
    ss_run_close(run);
    reading_remove_dir(dir);
    return end;
}

static void a_process_lives_if_boot_start_time_and_beat_say_so(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);

    reading_make_live(synth);
    const struct ss_file_header live = *header;
    assert_int_equal(end_on_disk(synth), SS_END_LIVE);
    header->beats = 0; /* just started */
    header->start_raw_ns = reading_now_ns();
    assert_int_equal(end_on_disk(synth), SS_END_LIVE);
    *header = live;
    header->process_start++; /* another process with its pid */
    assert_int_equal(end_on_disk(synth), SS_END_KILLED);
    *header = live;
    header->beat[1].raw_ns -= 6000000000; /* replaced itself by exec */
    assert_int_equal(end_on_disk(synth), SS_END_KILLED);
    *header = live;
    header->boot_id[3]++; /* another host, or this one before it was booted */
    assert_int_equal(end_on_disk(synth), SS_END_UNKNOWN);
    *header = live;
    header->state = SS_FILE_EXITED;
    assert_int_equal(end_on_disk(synth), SS_END_EXITED);
    header->state = SS_FILE_STOPPED;
    assert_int_equal(end_on_disk(synth), SS_END_STOPPED);
    synth_free(synth);
}

static void a_process_that_is_gone_was_killed(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    reading_make_live(synth);
    synth_header(synth)->pid = (uint32_t)child;
    assert_int_equal(end_on_disk(synth), SS_END_KILLED);
    synth_free(synth);
}

static void a_process_in_memory_is_not_asked_for(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    reading_make_live(synth);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(ss_run_process(run, 0)->end, SS_END_UNKNOWN);
    assert_false(ss_run_is_live(run));
    ss_run_close(run);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_spans_end_with_the_process_innermost_first),
        cmocka_unit_test(the_time_of_death_is_end_ticks_if_the_recorder_said_so),
        cmocka_unit_test(open_spans_end_not_before_the_last_record),
        cmocka_unit_test(a_span_that_was_just_being_closed_counts_once),
        cmocka_unit_test(entries_that_make_no_sense_do_not_count),
        cmocka_unit_test(a_stack_deeper_than_it_can_be_is_lost),
        cmocka_unit_test(open_spans_can_be_asked_for_outermost_first),
        cmocka_unit_test(a_process_lives_if_boot_start_time_and_beat_say_so),
        cmocka_unit_test(a_process_that_is_gone_was_killed),
        cmocka_unit_test(a_process_in_memory_is_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
