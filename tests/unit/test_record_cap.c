/* The cap on a file: what stays, and that all of the rest is counted. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/own_run.h"

enum {
    CAP = 3 << 20,  /* 48 segments, 12 of them the head */
    SPANS = 300000, /* of 32 bytes: three times the cap */
    SPANS_A_TIME = 4000,
    WRITERS = 4,
    STAGES = 3
};

static const enum ss_stage STAGE[STAGES] = {SS_STAGE_DATA, SS_STAGE_FORWARD, SS_STAGE_USER};

struct writer {
    pthread_t thread;
    const struct own_run *own;
    ss_name names[STAGES];
    int64_t spans;
    bool paced, failed;
    uint64_t by_stage[STAGES]; /* recorded */
};

static void name_stages(struct writer *writer)
{
    for (int i = 0; i < STAGES; i++)
        writer->names[i] = ss_intern("work", STAGE[i], SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

/* Spans of three stages, the first one half of the time; the argument counts them. */
static void *write_spans(void *argument)
{
    struct writer *writer = argument;

    for (int64_t i = 0; i < writer->spans; i++) {
        const int which = i % 2 ? 0 : 1 + (int)(i / 2 % 2);
        if (writer->paced && i % SPANS_A_TIME == 0 && !own_run_catch_up(writer->own))
            writer->failed = true;
        ss_begin(writer->names[which], 0);
        ss_end(0, i);
        writer->by_stage[which]++;
    }
    return NULL;
}

/* What was read, given up and lost is what was recorded: for each stage, and in all. */
static void check_counts(const struct own_run *own, const struct writer *writers, size_t count)
{
    const struct ss_process *process = ss_run_process(own->run, 0);
    uint64_t all = 0;

    for (int k = 0; k < STAGES; k++) {
        uint64_t recorded = 0, found = process->reused_by_stage[STAGE[k]];
        for (size_t i = 0; i < count; i++)
            recorded += writers[i].by_stage[k];
        for (size_t lane = 0; lane < ss_run_lanes(own->run); lane++)
            found += ss_run_lane(own->run, lane)->lost_by_stage[STAGE[k]];
        for (size_t i = 0; i < own->count; i++)
            found += own->records[i].kind == SS_KIND_SPAN && own->records[i].stage == STAGE[k];
        assert_int_equal(found, recorded);
        all += process->reused_by_stage[STAGE[k]];
    }
    assert_true(process->reused_records >= all);
    assert_true(process->file_bytes <= process->cap_bytes);
}

static void the_beginning_and_the_newest_part_stay(void **state)
{
    struct own_run *own = *state;
    struct writer writer = {.own = own, .spans = SPANS, .paced = true};

    own_run_start(own, CAP);
    name_stages(&writer);
    write_spans(&writer);
    own_run_stop(own);

    assert_false(writer.failed);
    check_counts(own, &writer, 1);
    assert_int_equal(own_run_lost(own, 0), 0);
    const struct ss_process *process = ss_run_process(own->run, 0);
    assert_int_equal(process->cap_bytes, CAP);
    assert_int_equal(process->recorder_error, SS_E_OK);
    assert_true(process->reused_records > SPANS / 3);

    int gaps = 0; /* one piece from the first span on, one up to the last */
    int64_t expected = 0, head = 0, last = -1;
    for (size_t i = 0; i < own->count; i++) {
        const struct ss_record *span = &own->records[i];
        if (span->kind != SS_KIND_SPAN)
            continue;
        if (span->u.arg != expected) {
            assert_true(span->u.arg > expected);
            gaps++;
            head = gaps == 1 ? expected : head;
        }
        last = span->u.arg;
        expected = last + 1;
    }
    assert_int_equal(gaps, 1);
    assert_int_equal(last, SPANS - 1);
    assert_in_range(head * SS_UNIT, CAP / 8, CAP / 2);
}

static void nothing_is_lost_without_a_trace_when_threads_flood_the_cap(void **state)
{
    struct own_run *own = *state;
    struct writer writers[WRITERS];

    own_run_start(own, CAP);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.own = own, .spans = SPANS};
        name_stages(&writers[i]);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_spans, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    own_run_stop(own);

    check_counts(own, writers, WRITERS);
}

/* Names lie in segments like all records, but without them the rest is worth nothing. */
static void names_stay_when_all_around_them_is_given_up(void **state)
{
    struct own_run *own = *state;
    enum { NAMES = 3000, NAME_BYTES = 100 };
    struct writer writer = {.own = own, .spans = SPANS / 10, .paced = true};
    ss_name names[NAMES];
    char text[NAME_BYTES];

    memset(text, 'n', sizeof text);
    own_run_start(own, CAP);
    name_stages(&writer);
    for (int part = 0; part < 10; part++) { /* each fills a segment of the control lane */
        write_spans(&writer);
        for (int i = part * NAMES / 10; i < (part + 1) * NAMES / 10; i++) {
            snprintf(text + NAME_BYTES - 12, 12, "%d", i);
            names[i] = ss_intern(text, SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
        }
    }
    write_spans(&writer);
    own_run_stop(own);

    check_counts(own, &writer, 1);
    assert_true(ss_run_process(own->run, 0)->reused_records > SPANS / 3);
    assert_int_equal(ss_run_process(own->run, 0)->lost_names, 0);
    for (int i = 0; i < NAMES; i++) {
        snprintf(text + NAME_BYTES - 12, 12, "%d", i);
        own_run_check_text(ss_run_name(own->run, 0, SS_NAME_ID(names[i]))->text, text);
    }
}

static void the_smallest_cap_keeps_the_first_records(void **state)
{
    struct own_run *own = *state;
    struct writer writer = {.own = own, .spans = 10000};

    own_run_start(own, 1);
    name_stages(&writer);
    write_spans(&writer);
    own_run_stop(own);

    check_counts(own, &writer, 1);
    assert_true(own_run_lost(own, 0) > 0);
    assert_int_equal(own_run_span(own, 0)->u.arg, 0);
}

static void *take_a_lane(void *barrier)
{
    ss_step(1);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void threads_that_get_no_lane_are_counted(void **state)
{
    struct own_run *own = *state;
    enum { THREADS = 50 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;

    own_run_start(own, 1);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_a_lane, &barrier), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    own_run_stop(own);

    assert_true(ss_run_process(own->run, 0)->lost_threads > 0);
    assert_in_range(own_run_count(own, SS_KIND_STEP), 6, THREADS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(the_beginning_and_the_newest_part_stay),
        OWN_RUN_TEST(nothing_is_lost_without_a_trace_when_threads_flood_the_cap),
        OWN_RUN_TEST(names_stay_when_all_around_them_is_given_up),
        OWN_RUN_TEST(the_smallest_cap_keeps_the_first_records),
        OWN_RUN_TEST(threads_that_get_no_lane_are_counted),
    };

    return cmocka_run_group_tests_name("cap", tests, NULL, NULL);
}
