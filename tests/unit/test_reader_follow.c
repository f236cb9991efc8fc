/* Following the recorder while threads record: nothing is missed, doubled or torn. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/own_run.h"

enum {
    WRITERS = 3,
    SPANS_EACH = 60000,
    SPANS_A_TIME = 3000, /* 2 segments: the pool has more */
    MOST_LANES = 16,
    SMALL_CAP = 3 << 20 /* less than the 5.8 MB that they write */
};

struct writer {
    const struct own_run *own;
    pthread_t thread;
    atomic_int *running;
    bool failed;
};

/* Numbers its spans by their argument, from 1; a torn one would have another. */
static void *write_spans(void *argument)
{
    struct writer *const writer = argument;

    for (int64_t i = 1; i <= SPANS_EACH && !writer->failed; i++) {
        ss_begin(0, 0);
        ss_end(0, i);
        if (i % SPANS_A_TIME == 0)
            writer->failed = !own_run_catch_up(writer->own);
    }
    atomic_fetch_sub(writer->running, 1);
    return NULL;
}

struct follower {
    struct ss_run *run;
    struct ss_cursor *cursor;
    int64_t last[MOST_LANES]; /* argument, by lane */
    uint64_t spans, missed;
    ss_ns time_ns;
    const char *wrong; /* told when the writers have ended */
};

static void look_at(struct follower *follower, const struct ss_record *record)
{
    if (record->time_ns < follower->time_ns)
        follower->wrong = "time went back";
    follower->time_ns = record->time_ns;
    if (record->kind != SS_KIND_SPAN)
        return;
    if (record->lane >= MOST_LANES || record->end_ns < record->start_ns) {
        follower->wrong = "a span ends before it starts";
        return;
    }
    int64_t *const last = &follower->last[record->lane];
    if (record->u.arg <= *last || record->u.arg > SPANS_EACH)
        follower->wrong = "a span came twice, or its argument is torn";
    follower->missed += (uint64_t)(record->u.arg - *last - 1);
    follower->spans++;
    *last = record->u.arg;
}

static void follow(struct follower *follower)
{
    struct ss_record record;

    if (ss_run_refresh(follower->run) != 0)
        follower->wrong = "no refresh";
    while (ss_cursor_next(follower->cursor, &record))
        look_at(follower, &record);
}

static void follow_writers(struct own_run *own, struct follower *follower)
{
    struct writer writers[WRITERS];
    atomic_int running = WRITERS;

    follower->run = ss_run_open(own->dir, NULL);
    assert_non_null(follower->run);
    assert_true(ss_run_is_live(follower->run));
    follower->cursor = ss_cursor_new(follower->run, SS_ALL_LANES);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.own = own, .running = &running};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_spans, &writers[i]), 0);
    }
    while (atomic_load(&running) > 0)
        follow(follower);
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_false(writers[i].failed);
    }
    own_run_stop(own);
    follow(follower);
    if (follower->wrong)
        fail_msg("%s", follower->wrong);
    assert_false(ss_run_is_live(follower->run));
}

static uint64_t dropped(const struct ss_run *run)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < ss_run_lanes(run); i++)
        sum += ss_run_lane(run, i)->lost_records;
    return sum;
}

static void every_span_of_every_thread_is_seen_once(void **state)
{
    struct own_run *const own = *state;
    struct follower follower = {0};

    own_run_start(own, 0);
    follow_writers(own, &follower);
    assert_int_equal(ss_run_losses(follower.run), 0);
    assert_int_equal(follower.missed, dropped(follower.run));
    assert_int_equal(follower.spans + dropped(follower.run), WRITERS * SPANS_EACH);
    ss_cursor_free(follower.cursor);
    ss_run_close(follower.run);
}

/* Segments are given up and change hands while they are read. What is missed then was
 * given up; what comes is right and in order. */
static void at_the_cap_what_is_seen_is_right(void **state)
{
    struct own_run *const own = *state;
    struct follower follower = {0};

    own_run_start(own, SMALL_CAP);
    follow_writers(own, &follower);
    for (size_t i = 0; i < ss_run_losses(follower.run); i++)
        assert_int_equal(ss_run_loss(follower.run, i)->kind, SS_LOSS_CHANGED);
    const struct ss_process *const process = ss_run_process(follower.run, 0);
    assert_true(process->reused_records > 0);
    assert_true(follower.missed <= process->reused_records + dropped(follower.run));
    ss_cursor_free(follower.cursor);
    ss_run_close(follower.run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(every_span_of_every_thread_is_seen_once),
        OWN_RUN_TEST(at_the_cap_what_is_seen_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
