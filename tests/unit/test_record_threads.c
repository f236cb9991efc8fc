/* Threads and their lanes: few or thousands, one after the other or all at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/own_run.h"

enum {
    IDLE_THREADS = 200,
    MANY_THREADS = 2000,
    AT_ONCE = 200,
    WRITERS = 4,
    SPANS_EACH = 60000,
    SPANS_A_TIME = 4000 /* at most 3 segments for each thread: the pool has 16 */
};

struct worker {
    pthread_t thread;
    const struct own_run *own;
    pthread_barrier_t *barrier;
    int64_t number;
    uint32_t tid;
    bool failed;
};

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void start_thread(struct worker *worker, void *(*work)(void *))
{
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void *leave_spans_open(void *argument)
{
    struct worker *worker = argument;

    prctl(PR_SET_NAME, worker->number ? "second" : "first");
    worker->tid = own_tid();
    ss_begin(0, 0);
    ss_end(0, worker->number);
    ss_begin(0, SS_FLAG_TRAIN);
    ss_begin(0, 0);
    return NULL;
}

static void a_thread_takes_over_the_lane_of_one_that_ended(void **state)
{
    struct own_run *own = *state;
    static const uint8_t kinds[] = {SS_KIND_THREAD_BEGIN, SS_KIND_SPAN, SS_KIND_SPAN, SS_KIND_SPAN,
                                    SS_KIND_THREAD_END};
    struct worker workers[2] = {{.number = 0}, {.number = 1}};

    own_run_start(own, 0);
    for (int i = 0; i < 2; i++) {
        start_thread(&workers[i], leave_spans_open);
        pthread_join(workers[i].thread, NULL);
    }
    own_run_stop(own);

    assert_int_equal(ss_run_lanes(own->run), 2);
    assert_int_equal(ss_run_lane(own->run, 1)->owners, 2);
    assert_int_equal(ss_run_lane(own->run, 1)->tid, 0);
    assert_int_equal(own->count, 2 * sizeof kinds);
    for (size_t i = 0; i < own->count; i++) {
        const struct ss_record *record = &own->records[i];
        const size_t owner = i / sizeof kinds;
        assert_int_equal(record->kind, kinds[i % sizeof kinds]);
        assert_int_equal(record->owner, owner + 1);
        assert_int_equal(record->tid, workers[owner].tid);
        if (record->kind == SS_KIND_THREAD_BEGIN)
            own_run_check_text(record->u.text.a, owner ? "second" : "first");
    }
}

static void spans_that_a_thread_leaves_open_are_unfinished(void **state)
{
    struct own_run *own = *state;
    struct worker workers[2] = {{.number = 0}, {.number = 1}};

    own_run_start(own, 0);
    for (int i = 0; i < 2; i++) {
        start_thread(&workers[i], leave_spans_open);
        pthread_join(workers[i].thread, NULL);
    }
    own_run_stop(own);

    for (size_t i = 0; i < 2; i++) {
        const struct ss_record *done = own_run_span(own, 3 * i);
        const struct ss_record *inner = own_run_span(own, 3 * i + 1);
        const struct ss_record *outer = own_run_span(own, 3 * i + 2);
        assert_int_equal(done->depth, 0); /* nothing of the thread before is around it */
        assert_int_equal(done->flags, 0);
        assert_int_equal(inner->depth, 1);
        assert_int_equal(inner->flags, SS_FLAG_UNFINISHED);
        assert_int_equal(outer->depth, 0);
        assert_int_equal(outer->flags, SS_FLAG_TRAIN | SS_FLAG_UNFINISHED);
        assert_true(inner->end_ns == outer->end_ns);
        assert_true(outer->end_ns == own_run_get(own, SS_KIND_THREAD_END, i)->time_ns);
    }
}

static void *record_one(void *argument)
{
    struct worker *worker = argument;

    ss_begin(0, 0);
    ss_end(0, worker->number);
    if (worker->barrier) {
        pthread_barrier_wait(worker->barrier); /* all have a lane now */
        pthread_barrier_wait(worker->barrier); /* and have been looked at */
    }
    return NULL;
}

static uint64_t segments_now(const struct own_run *own)
{
    return __atomic_load_n(&own->header->segments, __ATOMIC_ACQUIRE);
}

static struct worker *start_waiting_threads(size_t count, pthread_barrier_t *barrier)
{
    struct worker *workers = calloc(count, sizeof *workers);

    assert_non_null(workers);
    assert_int_equal(pthread_barrier_init(barrier, NULL, (unsigned)count + 1), 0);
    for (size_t i = 0; i < count; i++) {
        workers[i] = (struct worker){.barrier = barrier, .number = (int64_t)i};
        start_thread(&workers[i], record_one);
    }
    return workers;
}

static void join_waiting_threads(struct worker *workers, size_t count, pthread_barrier_t *barrier)
{
    pthread_barrier_wait(barrier);
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(barrier);
    free(workers);
}

static void idle_threads_cost_at_most_2_megabytes(void **state)
{
    struct own_run *own = *state;
    pthread_barrier_t barrier;

    own_run_start(own, 0);
    assert_true(own_run_catch_up(own));
    const uint64_t before = segments_now(own);
    struct worker *workers = start_waiting_threads(IDLE_THREADS, &barrier);
    pthread_barrier_wait(&barrier);
    assert_true(own_run_catch_up(own));
    const uint64_t after = segments_now(own);
    join_waiting_threads(workers, IDLE_THREADS, &barrier);
    own_run_stop(own);

    assert_in_range((after - before) * SS_SEGMENT_BYTES, 1, 2 << 20);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), IDLE_THREADS);
    assert_int_equal(ss_run_lanes(own->run), IDLE_THREADS + 1);
}

/* Each number once, whatever thread and lane it comes from. */
static void check_numbers(const struct own_run *own, size_t count)
{
    bool *seen = calloc(count, sizeof *seen);

    assert_non_null(seen);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), count);
    for (size_t i = 0; i < own->count; i++) {
        const struct ss_record *span = &own->records[i];
        if (span->kind != SS_KIND_SPAN)
            continue;
        assert_in_range(span->u.arg, 0, count - 1);
        assert_false(seen[span->u.arg]);
        seen[span->u.arg] = true;
    }
    free(seen);
}

static void thousands_of_threads_share_a_lane(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    for (int i = 0; i < MANY_THREADS; i++) {
        struct worker worker = {.number = i};
        if (i % 500 == 0) /* each has three records */
            assert_true(own_run_catch_up(own));
        start_thread(&worker, record_one);
        pthread_join(worker.thread, NULL);
    }
    own_run_stop(own);

    check_numbers(own, MANY_THREADS);
    assert_int_equal(ss_run_lanes(own->run), 2);
    assert_int_equal(ss_run_lane(own->run, 1)->owners, MANY_THREADS);
    assert_int_equal(own_run_count(own, SS_KIND_THREAD_BEGIN), MANY_THREADS);
    assert_int_equal(own_run_count(own, SS_KIND_THREAD_END), MANY_THREADS);
}

static void hundreds_of_threads_come_and_go_together(void **state)
{
    struct own_run *own = *state;
    pthread_barrier_t barrier;
    enum { TIMES = 3 };

    own_run_start(own, 0);
    for (int i = 0; i < TIMES; i++) {
        struct worker *workers = start_waiting_threads(AT_ONCE, &barrier);
        pthread_barrier_wait(&barrier);
        join_waiting_threads(workers, AT_ONCE, &barrier);
    }
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), TIMES * AT_ONCE);
    assert_int_equal(ss_run_lanes(own->run), AT_ONCE + 1);
    for (uint32_t lane = 1; lane <= AT_ONCE; lane++)
        assert_int_equal(ss_run_lane(own->run, lane)->owners, TIMES);
}

/* Blocks of six: two spans inside one, one alone, and two that switch. */
static void *record_many(void *argument)
{
    struct worker *worker = argument;

    worker->tid = own_tid();
    for (int64_t i = 0; i < SPANS_EACH; i += 6) {
        if (i % SPANS_A_TIME < 6 && !own_run_catch_up(worker->own))
            worker->failed = true;
        ss_begin(0, 0);
        ss_begin(0, 0);
        ss_end(0, i);
        ss_begin(0, 0);
        ss_end(0, i + 1);
        ss_end(0, i + 2);
        ss_begin(0, 0);
        ss_end(0, i + 3);
        ss_begin(0, SS_FLAG_TRAIN);
        ss_switch(0, 0);
        ss_end(0, i + 5);
    }
    return NULL;
}

static void check_many(const struct own_run *own, const struct worker *worker)
{
    static const uint8_t depth[6] = {1, 1, 0, 0, 0, 0};
    int64_t i = 0;
    ss_ns before = 0;

    for (size_t k = 0; k < own->count; k++) {
        const struct ss_record *span = &own->records[k];
        if (span->kind != SS_KIND_SPAN || span->tid != worker->tid)
            continue;
        assert_int_equal(span->depth, depth[i % 6]);
        assert_int_equal(span->u.arg, i % 6 == 4 ? 0 : i);
        assert_int_equal(span->flags, i % 6 == 4 ? SS_FLAG_TRAIN : 0);
        assert_true(span->end_ns >= before && span->start_ns <= span->end_ns);
        if (i % 6 == 5)
            assert_true(span->start_ns == before);
        before = span->end_ns;
        i++;
    }
    assert_int_equal(i, SPANS_EACH);
}

static void threads_grow_the_file_together(void **state)
{
    struct own_run *own = *state;
    struct worker workers[WRITERS];

    own_run_start(own, 0);
    for (int i = 0; i < WRITERS; i++) {
        workers[i] = (struct worker){.own = own};
        start_thread(&workers[i], record_many);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(workers[i].thread, NULL);
    const uint64_t segments = segments_now(own);
    own_run_stop(own);

    assert_int_equal(own_run_lost(own, 0), 0);
    assert_true(segments > (uint64_t)WRITERS * SPANS_EACH * SS_UNIT / SS_SEGMENT_BYTES);
    for (int i = 0; i < WRITERS; i++) {
        assert_false(workers[i].failed);
        check_many(own, &workers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(a_thread_takes_over_the_lane_of_one_that_ended),
        OWN_RUN_TEST(spans_that_a_thread_leaves_open_are_unfinished),
        OWN_RUN_TEST(idle_threads_cost_at_most_2_megabytes),
        OWN_RUN_TEST(thousands_of_threads_share_a_lane),
        OWN_RUN_TEST(hundreds_of_threads_come_and_go_together),
        OWN_RUN_TEST(threads_grow_the_file_together),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
