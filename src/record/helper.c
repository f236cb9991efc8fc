#include "helper.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/compiler.h"
#include "lane_memory.h"
#include "mirror.h"
#include "names.h"
#include "session.h"
#include "system.h"

enum {
    FIRST_ROUND_US = 1000,  /* a short run needs a calibration, too */
    QUIET_ROUND_US = 50000, /* a wake-up costs more than all that is done in it */
    ROUND_US = 20000,
    BUSY_ROUND_US = 5000,
    FIRST_ROUNDS = 40, /* are short, until it is known how much is recorded */
    BUSY_RATE = 100,   /* segments a second, 200,000 spans: from here on rounds are short */
    QUIET_RATE = 6,    /* segments in a second, 12,000 spans: up to here rounds are long */
    IDLE_ROUNDS = 200, /* after 4 to 10 s on one page, a lane is looked after once a second only */
    TOUCH_AHEAD = 32768, /* what is written in a round, and more */
    STACK_BYTES = 256 * 1024,
    COST_SPANS = 256,
    COST_TRIES = 8,
    JUMP_NS = 1000000, /* between the clocks, from one beat to the next */
    BEAT_TRIES = 3     /* in one of them the thread is not interrupted */
};
static const int64_t SECOND_NS = 1000000000;
static const int64_t DISK_PATIENCE_NS = 100000000; /* what exit() and fork() may wait */
static const double AHEAD_S =
    0.15; /* the pool holds what this time takes: a late round is no loss */
static const double RATE_DECAY = 0.94; /* a round */
static const char THREAD_NAME[] = "stepscope";

/* The line between two calibrations that are far apart would be wrong on both sides of a jump. */
static void follow_clock(struct session *session, const struct ticks_pair *now)
{
    const struct ticks_pair before = session->last_beat;
    session->last_beat = *now;
    if (session->clock == SS_CLOCK_RAW || !before.ticks)
        return;
    const double expected_ns =
        (double)(now->ticks - before.ticks) / (double)session->ticks_per_s * 1e9;
    const double off_ns = expected_ns - (double)(now->raw_ns - before.raw_ns);
    if (off_ns >= JUMP_NS || off_ns <= -JUMP_NS)
        session_note_jump(session, &before, now);
}

static void beat(struct session *session)
{
    struct ss_file_header *header = session->store.header;
    struct ticks_pair now;
    ticks_read_pair(session->clock, BEAT_TRIES, &now);
    uint64_t beats = header->beats + 1;
    header->beat[beats & 1].ticks = now.ticks;
    header->beat[beats & 1].raw_ns = now.raw_ns;
    __atomic_store_n(&header->beats, beats, __ATOMIC_RELEASE);
    follow_clock(session, &now);
}

/* Writeback protects pages again that were populated long ago; the owner's next store would
 * then fault. So the pages it needs next are touched here, just ahead of it. */
static void touch_lane(struct lane *lane, bool all)
{
    unsigned char *cursor = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    unsigned char *limit = atomic_load_explicit(&lane->limit, memory_order_relaxed);
    lane->idle_rounds = cursor == lane->seen_cursor ? lane->idle_rounds + 1 : 0;
    lane->seen_cursor = cursor;
    if (!limit || (!all && lane->idle_rounds > IDLE_ROUNDS))
        return;
    store_touch((unsigned char *)lane->block, SS_INLINE_OFFSET);
    /* The two may be of different segments if the owner is just changing. Then they are further
     * apart than a segment, or the cursor is at the very start of the new one. */
    if (cursor < limit && limit - cursor <= SS_SEGMENT_BYTES) {
        size_t left = (size_t)(limit - cursor);
        store_touch(cursor, left < TOUCH_AHEAD ? left : TOUCH_AHEAD);
    }
}

static void touch_lanes(struct session *session, bool all)
{
    uint32_t lanes = atomic_load_explicit(&session->lanes, memory_order_acquire);
    for (uint32_t i = 0; i < lanes; i++)
        touch_lane(session_lane_at(session, i), all);
}

ATTR_NOINLINE static void cost_begin(struct pen *pen, enum ss_clock clock)
{
    if (pen_can_begin(pen))
        pen_begin(pen, 1, 0, clock);
}

ATTR_NOINLINE static void cost_end(struct pen *pen, enum ss_clock clock)
{
    if (pen_can_end(pen))
        pen_end(pen, ticks_now(clock), 0, 0);
}

/* What a begin/end pair costs here and now, on a lane that is not in the file. */
static uint32_t measure_span_cost(struct session *session)
{
    size_t bytes = SS_BLOCK_BYTES + COST_SPANS * SS_UNIT;
    unsigned char *memory = system_map_private(bytes);
    if (!memory)
        return 0;
    struct lane lane = {.block = (struct ss_lane_block *)(void *)memory};
    struct pen pen;
    int64_t best = INT64_MAX;
    for (int i = 0; i < COST_TRIES; i++) {
        pen_take_up(&pen, &lane);
        pen.cursor = memory + SS_BLOCK_BYTES;
        pen.limit = pen.cursor + COST_SPANS * SS_UNIT;
        int64_t start = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
        for (int k = 0; k < COST_SPANS; k++) {
            cost_begin(&pen, session->clock);
            cost_end(&pen, session->clock);
        }
        int64_t took = ticks_clock_ns(CLOCK_MONOTONIC_RAW) - start;
        best = took < best ? took : best;
    }
    system_unmap(memory, bytes);
    return (uint32_t)(best * 1000 / COST_SPANS);
}

static void once_a_second(struct session *session)
{
    store_check_file(&session->store);
    store_check_disk(&session->store);
    if (!session->store.memory)
        touch_lanes(session, true);
    session_every_second(session);
    session->store.header->helper_cpu_ns =
        (uint64_t)(session->helper.cpu_before + system_thread_cpu_ns());
    session->helper.alone = system_only_threads_called(THREAD_NAME);
}

static void note_rate(struct helper *helper, uint32_t taken, int64_t now_ns)
{
    double seconds = (double)(now_ns - helper->last_round_ns) / (double)SECOND_NS;
    double rate = helper->last_round_ns && seconds > 0 ? taken / seconds : 0;
    helper->rate = rate > helper->rate ? rate : helper->rate * RATE_DECAY;
    helper->last_round_ns = now_ns;
}

/* In microseconds. */
static int time_to_next_round(struct helper *helper, uint32_t taken)
{
    helper->taken += taken;
    if (helper->rate >= BUSY_RATE || helper->rounds++ < FIRST_ROUNDS)
        return BUSY_ROUND_US;
    return helper->quiet && helper->taken <= QUIET_RATE ? QUIET_ROUND_US : ROUND_US;
}

static void copy(struct session *session, bool all)
{
    if (session->store.memory) {
        lane_memory_offer(&session->store);
        mirror_round(&session->store, all);
    }
}

/* What is full goes first, so that no lane has a gap. */
static void finish_file(struct session *session)
{
    (void)store_collect_sealed(&session->store, ticks_clock_ns(CLOCK_MONOTONIC_RAW));
    mirror_finish(&session->store, session->helper.keep);
}

static void answer(struct session *session)
{
    struct helper *helper = &session->helper;
    uint32_t asked = HELPER_FINISH_FILE;
    if (atomic_load(&helper->stop) != asked)
        return;
    atomic_store(&helper->must_finish, false);
    finish_file(session);
    (void)atomic_compare_exchange_strong(&helper->stop, &asked, HELPER_GO_ON);
    atomic_fetch_add(&helper->files, 1);
    system_wake(&helper->files);
}

/* Whether it is to end. Until here it may be told to go on all the same. */
static bool ends_here(struct session *session)
{
    struct helper *helper = &session->helper;
    uint32_t asked = HELPER_STOP;
    if (atomic_load(&helper->stop) != asked)
        return false;
    if (atomic_exchange(&helper->must_finish, false)) /* it was busy when it was asked to */
        finish_file(session);
    else
        copy(session, true);
    if (!atomic_compare_exchange_strong(&helper->stop, &asked, HELPER_ENDED))
        return false;
    system_wake(&helper->stop);
    return true;
}

/* Returns how long to wait for the next one, in microseconds. */
static int one_round(struct session *session)
{
    struct helper *helper = &session->helper;
    int64_t now_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
    bool is_new_second = false;
    beat(session);
    uint32_t taken = store_collect_sealed(&session->store, now_ns);
    note_rate(helper, taken, now_ns);
    store_follow_grant(&session->store);
    store_fill(&session->store, POOL_FLOOR + (uint32_t)(helper->rate * AHEAD_S), names_stage);
    if (!session->store.memory) {
        touch_lanes(session, false);
        store_touch_pool(&session->store);
    }
    if (now_ns >= session->next_calibration_ns)
        session_calibrate(session);
    store_evict(&session->store, now_ns);
    if (now_ns >= helper->next_second_ns) {
        helper->next_second_ns = now_ns + SECOND_NS;
        helper->quiet = helper->rounds > FIRST_ROUNDS && helper->taken <= QUIET_RATE;
        helper->taken = 0;
        once_a_second(session);
        is_new_second = true;
    }
    copy(session, is_new_second);
    return time_to_next_round(helper, taken);
}

/* False: it could not be made, and a thread waits for the answer. */
static bool make_file(struct session *session)
{
    struct helper *helper = &session->helper;
    uint32_t asked = HELPER_MAKES_FILE;
    if (!session->store.memory || atomic_load(&helper->file) != asked)
        return true;
    helper->file_error = store_file_make(&session->store);
    if (!helper->file_error) /* the process may end at once, before the supervisor has its memory */
        copy(session, true);
    const uint32_t end = helper->file_error ? HELPER_HAS_NO_FILE : HELPER_HAS_FILE;
    const bool is_in_time = atomic_compare_exchange_strong(&helper->file, &asked, end);
    system_wake(&helper->file);
    return !is_in_time || !helper->file_error;
}

static void *helper_main(void *argument)
{
    struct session *session = argument;
    struct helper *helper = &session->helper;
    struct ss_file_header *header = session->store.header;
    prctl(PR_SET_NAME, THREAD_NAME);
    session_tls.gate = GATE_BUSY; /* malloc() may be hooked: our own events are not recorded */
    if (!make_file(session))
        return NULL;
    one_round(session);
    if (!header->span_cost_ps)
        header->span_cost_ps = measure_span_cost(session);
    int wait_us = FIRST_ROUND_US;
    while (!helper->alone && !ends_here(session))
        if (system_wait(&helper->stop, HELPER_GO_ON, wait_us))
            wait_us = one_round(session);
        else
            answer(session);
    if (helper->alone)
        copy(session, true);
    helper->cpu_before += system_thread_cpu_ns();
    header->helper_cpu_ns = (uint64_t)helper->cpu_before;
    return NULL;
}

static int create_thread(struct session *session)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failed = pthread_create(&session->helper.thread, &attributes, helper_main, session);
    pthread_attr_destroy(&attributes);
    if (failed) /* a program with much thread-local data needs the default size */
        failed = pthread_create(&session->helper.thread, NULL, helper_main, session);
    return failed;
}

int helper_start(struct session *session)
{
    struct helper *helper = &session->helper;
    sigset_t all, before;
    atomic_store(&helper->stop, HELPER_GO_ON);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    helper->running = create_thread(session) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helper->running ? SS_E_OK : SS_E_THREAD;
}

static void join(struct helper *helper)
{
    pthread_join(helper->thread, NULL);
    helper->running = false;
}

/* Waits while the word has the value; false if it still has when patience is over. */
static bool wait_while(_Atomic uint32_t *word, uint32_t value, int64_t patience_ns)
{
    const int64_t until_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW) + patience_ns;
    int64_t left_ns = patience_ns;
    while (left_ns > 0 && system_wait(word, value, (int)(left_ns / 1000) + 1))
        left_ns = until_ns - ticks_clock_ns(CLOCK_MONOTONIC_RAW);
    return atomic_load(word) != value;
}

int helper_wait_for_file(struct session *session)
{
    struct helper *helper = &session->helper;
    uint32_t asked = HELPER_MAKES_FILE;
    if (!session->store.memory)
        return SS_E_OK;
    if (!helper->running)
        return store_file_make(&session->store);
    (void)wait_while(&helper->file, HELPER_MAKES_FILE, DISK_PATIENCE_NS);
    if (atomic_compare_exchange_strong(&helper->file, &asked, HELPER_IS_LATE) ||
        asked == HELPER_HAS_FILE)
        return SS_E_OK;
    join(helper);
    return helper->file_error;
}

bool helper_stop(struct session *session)
{
    struct helper *helper = &session->helper;
    if (!helper->running)
        return true;
    atomic_store(&helper->stop, HELPER_STOP);
    system_wake(&helper->stop);
    if (session->store.memory && !helper->alone &&
        !wait_while(&helper->stop, HELPER_STOP, DISK_PATIENCE_NS))
        return false;
    join(helper);
    return true;
}

bool helper_go_on(struct session *session)
{
    struct helper *helper = &session->helper;
    uint32_t asked = HELPER_STOP;
    if (!helper->running)
        return false;
    if (atomic_compare_exchange_strong(&helper->stop, &asked, HELPER_GO_ON))
        return true;
    join(helper);
    return false;
}

void helper_finish_file(struct session *session, uint32_t keep)
{
    struct helper *helper = &session->helper;
    uint32_t before = atomic_load(&helper->files), idle = HELPER_GO_ON;
    helper->keep = keep;
    atomic_store(&helper->must_finish, true);
    if (helper->alone || (!helper->running && helper_start(session) != SS_E_OK)) {
        atomic_store(&helper->must_finish, false);
        finish_file(session);
    } else if (atomic_compare_exchange_strong(&helper->stop, &idle, HELPER_FINISH_FILE)) {
        system_wake(&helper->stop);
        (void)wait_while(&helper->files, before, DISK_PATIENCE_NS);
    }
}
