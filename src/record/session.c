#include "session.h"

#include "attach.h"
#include "base/error.h"
#include "control.h"
#include "names.h"
#include "run_dir.h"
#include "stepscope/reader.h"
#include "system.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CALIBRATION_TRIES = 16, DEFAULT_CAP = 1 << 30 };
static const int64_t DENY_NS = 100000000; /* after a thread got no lane, none is tried so long */

static struct lane no_lane;   /* zero: poisoned */
static struct lane busy_lane; /* this thread is inside the recorder: an event now is our own */

_Atomic int session_mode = MODE_UNDECIDED;
_Thread_local struct lane *session_tls __attribute__((tls_model(SS_TLS_MODEL))) = &no_lane;

static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recorder_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct session *) current;
static _Atomic int64_t deny_until_ns;
static struct run_settings settings; /* of the running session, and for children it forks */
static int last_error;
static pthread_key_t thread_key;

struct store *session_store(struct session *session)
{
    return &session->store;
}

bool session_is_over(struct session *session)
{
    return atomic_load(&session->over);
}

uint64_t session_now(struct session *session)
{
    return ticks_now(session->clock);
}

void session_thread_name(char out[32])
{
    memset(out, 0, 32);
    prctl(PR_GET_NAME, out);
}

struct lane *session_lane_at(struct session *session, uint32_t number)
{
    return &session->chunks[number / LANES_PER_CHUNK][number % LANES_PER_CHUNK];
}

void session_calibrate(struct session *session)
{
    struct ticks_pair pair;
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &pair);
    pthread_mutex_lock(&recorder_lock);
    control_put_calibration(session, &pair);
    pthread_mutex_unlock(&recorder_lock);
    int64_t age = pair.raw_ns - session->first.raw_ns;
    int64_t wait = 1000000000;
    if (age < 100000000) { /* 1, 10 and 100 ms after the start, then every second */
        wait = (age < 10000000 ? 10000000 : 100000000) - age;
    }
    session->next_calibration_ns = pair.raw_ns + wait;
}

void session_every_second(struct session *session)
{
    pthread_mutex_lock(&recorder_lock);
    attach_reclaim_dead(session);
    control_put_names(session);
    pthread_mutex_unlock(&recorder_lock);
}

uint64_t session_ticks_of_ns(int64_t ns)
{
    struct session *session = atomic_load(&current);
    if (!session || ns <= 0) {
        return 0;
    }
    uint64_t rate = session->ticks_per_s;
    return (uint64_t)((unsigned __int128)(uint64_t)ns * rate / 1000000000u);
}

static void on_thread_exit(void *unused)
{
    (void)unused;
    struct lane *lane = session_tls;
    if (lane == &no_lane || lane == &busy_lane) {
        return;
    }
    session_tls = &busy_lane;
    pthread_mutex_lock(&recorder_lock);
    if (lane->session && lane->tid == system_tid()) { /* not a child of raw clone() */
        attach_give_back(lane);
    }
    pthread_mutex_unlock(&recorder_lock);
    session_tls = &no_lane;
}

static void fill_header(struct session *session)
{
    struct ss_file_header *header = session->store.header;
    header->version = SS_FORMAT_VERSION;
    header->min_reader = SS_FORMAT_MIN_READER;
    header->segment_bytes = SS_SEGMENT_BYTES;
    header->block_bytes = SS_BLOCK_BYTES;
    header->inline_offset = SS_INLINE_OFFSET;
    header->clock = (uint8_t)session->clock;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = system_process_start();
    system_boot_id(header->boot_id);
    system_random(header->file_id, sizeof header->file_id);
    header->rank = settings.rank;
    header->world = (uint32_t)settings.world;
    header->cap_bytes = settings.cap_bytes;
    header->start_ticks = session->first.ticks;
    header->start_raw_ns = session->first.raw_ns;
    header->start_realtime_ns = session->first.realtime_ns;
    header->state = SS_FILE_OPEN;
}

static void put_info(void *session, const char *key, const char *value)
{
    control_put_info(session, key, value);
}

static int open_session(struct session *session)
{
    session->clock = ticks_choose();
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &session->first);
    int error = store_open(&session->store, settings.dir, settings.cap_bytes);
    if (error) {
        return error;
    }
    fill_header(session);
    session->names_written = 1;
    session->control = attach_new_lane(session);
    if (!session->control) {
        unlink(session->store.path);
        store_release(&session->store);
        return SS_E_NOMEM;
    }
    lane_attach(session->control, 0, session->first.ticks);
    run_dir_describe(put_info, session);
    control_put_names(session);
    struct ticks_pair second;
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &second);
    session->ticks_per_s = session->clock == SS_CLOCK_RAW
                               ? 1000000000u
                               : ticks_per_second(&session->first, &second);
    session->store.header->ticks_per_s = session->ticks_per_s;
    session->next_calibration_ns = session->first.raw_ns + 1000000;
    store_publish(&session->store);
    return SS_E_OK;
}

static int start_locked(void)
{
    struct session *session = system_map_private(sizeof *session);
    _Atomic uint32_t *alive = system_map_wiped(sizeof *alive);
    int error = session && alive ? run_dir_make(&settings) : SS_E_NOMEM;
    if (!error) {
        atomic_store(alive, 1);
        session->alive = alive;
        session->users = 1;
        error = open_session(session);
    }
    if (error) {
        if (session) {
            system_unmap(session, sizeof *session);
        }
        if (alive) {
            system_unmap(alive, sizeof *alive);
        }
        return error;
    }
    store_note_error(&session->store, helper_start(session));
    atomic_store(&current, session);
    atomic_store(&session_mode,
                 session->clock == SS_CLOCK_RAW ? MODE_CLOCK : MODE_COUNTER);
    return SS_E_OK;
}

static void forget(struct session *session)
{
    atomic_store(&current, NULL);
    atomic_store(&session_mode, MODE_UNDECIDED);
    session_tls = &no_lane;
    if (store_file_is_ours(&session->store)) {
        close(session->store.fd);
    }
}

static void before_fork(void)
{
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    if (session) {
        helper_stop(session);
    }
    pthread_mutex_lock(&recorder_lock);
    if (session) {
        pthread_mutex_lock(&session->store.lock);
    }
}

static struct session *unlock_after_fork(void)
{
    struct session *session = atomic_load(&current);
    if (session) {
        pthread_mutex_unlock(&session->store.lock);
    }
    pthread_mutex_unlock(&recorder_lock);
    return session;
}

static void after_fork_in_parent(void)
{
    struct session *session = unlock_after_fork();
    if (session) {
        store_note_error(&session->store, helper_start(session));
    }
    pthread_mutex_unlock(&life_lock);
}

/* The child is off; its first event opens a file of its own (session_lane). */
static void after_fork_in_child(void)
{
    struct session *session = unlock_after_fork();
    if (session) {
        forget(session);
    }
    pthread_mutex_unlock(&life_lock);
}

static void prepare_process(void)
{
    pthread_key_create(&thread_key, on_thread_exit);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    system_stay_resident();
}

static int start_once(const struct run_settings *wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_process);
    if (atomic_load(&current)) {
        return SS_E_BUSY;
    }
    settings = *wanted;
    int error = settings.dir[0] ? start_locked() : SS_E_OFF;
    settings.set = error == SS_E_OK;
    last_error = error == SS_E_OFF ? SS_E_OK : error;
    if (error) {
        atomic_store(&session_mode, MODE_OFF);
    }
    return error;
}

int session_start(const struct ss_options *options)
{
    struct lane *lane = session_tls;
    session_tls = &busy_lane;
    int before = errno;
    struct run_settings wanted;
    run_dir_settings(&wanted, options, DEFAULT_CAP);
    pthread_mutex_lock(&life_lock);
    int error = start_once(&wanted);
    pthread_mutex_unlock(&life_lock);
    errno = before;
    session_tls = lane;
    return error;
}

static void end_file(struct session *session, enum ss_file_state state)
{
    struct ticks_pair pair;
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &pair);
    control_put_calibration(session, &pair);
    session->store.header->end_ticks = pair.ticks;
    __atomic_store_n(&session->store.header->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static void stop_locked(struct session *session)
{
    atomic_store(&session_mode, MODE_OFF);
    helper_stop(session);
    pthread_mutex_lock(&recorder_lock);
    struct lane *mine = session_tls;
    if (mine->session == session) {
        attach_give_back(mine);
        session_tls = &no_lane;
    }
    end_file(session, SS_FILE_STOPPED); /* while the control lane still takes records */
    atomic_store(&session->over, true);
    atomic_store(&current, NULL);
    for (uint32_t i = 0; i < atomic_load(&session->lanes); i++) {
        lane_poison(session_lane_at(session, i));
    }
    store_trim(&session->store, true);
    attach_drop_user(session);
    pthread_mutex_unlock(&recorder_lock);
}

void session_stop(void)
{
    int before = errno;
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    settings.set = false;
    if (session && atomic_load(session->alive) == 1) {
        stop_locked(session);
    }
    pthread_mutex_unlock(&life_lock);
    errno = before;
}

/* exit(): other threads may go on for a while, so nothing is taken from them. */
__attribute__((destructor)) static void on_exit_of_process(void)
{
    struct session *session = atomic_load(&current);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    if (!session || atomic_load(session->alive) != 1 ||
        pthread_mutex_timedlock(&recorder_lock, &soon) != 0) {
        return;
    }
    end_file(session, SS_FILE_EXITED);
    pthread_mutex_unlock(&recorder_lock);
    store_trim(&session->store, false);
}

/* After clone() without fork handlers: locks may be held by threads that the child does not
 * have, so they are made anew. Of several threads, one does it. */
static void resume_after_clone(struct session *session)
{
    uint32_t wiped = 0;
    if (!atomic_compare_exchange_strong(session->alive, &wiped, 2)) {
        return;
    }
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    life_lock = fresh;
    recorder_lock = fresh;
    session->store.lock = fresh;
    forget(session);
}

uint32_t session_intern(const struct name *name)
{
    struct session *session = atomic_load(&current);
    if (session && atomic_load(session->alive) != 1) {
        resume_after_clone(session);
    }
    pthread_mutex_lock(&recorder_lock);
    uint32_t id = names_intern(name);
    session = atomic_load(&current);
    if (session) {
        control_put_names(session);
    }
    pthread_mutex_unlock(&recorder_lock);
    return id;
}

static struct session *session_for_event(void)
{
    struct session *session = atomic_load(&current);
    if (session && atomic_load(session->alive) != 1) {
        resume_after_clone(session);
        session = NULL;
    }
    if (!session && atomic_load(&session_mode) == MODE_UNDECIDED) {
        struct run_settings wanted = settings;
        if (!wanted.set) {
            run_dir_settings(&wanted, NULL, DEFAULT_CAP);
        }
        pthread_mutex_lock(&life_lock);
        (void)start_once(&wanted);
        pthread_mutex_unlock(&life_lock);
        session = atomic_load(&current);
    }
    return session;
}

static struct lane *attach(struct lane *mine, struct session *session)
{
    pthread_mutex_lock(&recorder_lock);
    if (mine->session && mine->session != session) {
        attach_drop_user(mine->session); /* it was stopped, and this thread has noticed */
    }
    struct lane *lane = session == atomic_load(&current) ? attach_take(session) : NULL;
    pthread_mutex_unlock(&recorder_lock);
    if (lane) {
        pthread_setspecific(thread_key, lane);
    }
    return lane;
}

struct lane *session_lane(void)
{
    struct lane *mine = session_tls;
    if (mine == &busy_lane) {
        return NULL;
    }
    if (atomic_load_explicit(&mine->depth_limit, memory_order_relaxed) != 0) {
        return mine;
    }
    int before = errno;
    struct lane *lane = NULL;
    session_tls = &busy_lane;
    struct session *session = session_for_event();
    if (session && system_coarse_ns() >= atomic_load(&deny_until_ns)) {
        lane = attach(mine, session);
        mine = &no_lane;
        if (!lane) {
            atomic_store(&deny_until_ns, system_coarse_ns() + DENY_NS);
        }
    }
    session_tls = lane ? lane : mine;
    errno = before;
    return lane;
}

const char *session_status(void)
{
    static char text[4200];
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    int error = session ? session->store.header->error : last_error;
    if (error) {
        snprintf(text, sizeof text, "%s: %s", session ? "recording with losses" : "off",
                 ss_error_text(error));
    } else if (session) {
        snprintf(text, sizeof text, "recording to %s", session->store.path);
    } else {
        snprintf(text, sizeof text, "off");
    }
    pthread_mutex_unlock(&life_lock);
    return text;
}
