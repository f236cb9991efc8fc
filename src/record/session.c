#include "session.h"

#include <stdio.h>
#include <unistd.h>

#include "attach.h"
#include "base/error.h"
#include "base/redact_pattern.h"
#include "control.h"
#include "lane_memory.h"
#include "run_dir.h"
#include "secrets.h"
#include "system.h"

enum { EXIT_SEGMENTS = 4, EXIT_PATIENCE_NS = 100000000, CALIBRATIONS_BY_AGE = 256 };
/* After a thread got no lane, or the helper could not be started, it is not tried for so long. */
static const int64_t PATIENCE_NS = 100000000;

static _Atomic int32_t gate_before_start = GATE_UNDECIDED;
ATTR_HOT_DATA _Atomic(_Atomic int32_t *) gate_page = &gate_before_start;
ALIGN_OF_THREAD _Thread_local struct pen session_tls
    __attribute__((tls_model(SS_TLS_MODEL))) = {.gate = GATE_NONE, .fast_gate = GATE_NONE};

static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recorder_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct session *) current;
static _Atomic int64_t deny_until_ns;
static struct run_settings settings; /* of the recording, and for children that it forks */
static struct told_rank told = {-1, 0};
static int last_error;
static int32_t recordings; /* so far: makes each one's gate number */
static pthread_key_t thread_key;
static bool has_thread_key;
static _Atomic bool helper_is_due; /* it was stopped for a fork, or could not be started */
static _Atomic int64_t helper_retry_ns;
static struct system_visit fork_visit;
static int32_t gate_at_fork;
static bool fork_has_store; /* not if the helper waits for a disk: then it may have the lock */

static void set_gate(int32_t value)
{
    atomic_store(atomic_load(&gate_page), value);
}

static bool is_forked(void)
{
    return gate_now() == GATE_FORKED;
}

static void set_pen_gate(struct pen *pen, int32_t value)
{
    bool fast = value < GATE_BUSY && pen->lane && pen->lane->session->clock != SS_CLOCK_RAW &&
                !atomic_load(&helper_is_due);
    pen->gate = value;
    pen->fast_gate = fast ? value : GATE_NONE;
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
    int64_t wait = age / CALIBRATIONS_BY_AGE; /* their number grows with the logarithm of the age */
    if (wait < 1000000000)
        wait = 1000000000;
    if (age < 100000000) /* 1, 10 and 100 ms after the start, then every second */
        wait = (age < 10000000 ? 10000000 : 100000000) - age;
    session->next_calibration_ns = pair.raw_ns + wait;
}

void session_note_jump(struct session *session, const struct ticks_pair *before,
                       const struct ticks_pair *after)
{
    pthread_mutex_lock(&recorder_lock);
    control_put_calibration(session, before);
    control_put_calibration(session, after);
    pthread_mutex_unlock(&recorder_lock);
}

void session_every_second(struct session *session)
{
    pthread_mutex_lock(&recorder_lock);
    attach_reclaim_dead(session);
    control_put_names(session);
    pthread_mutex_unlock(&recorder_lock);
}

/* Recorder lock held. In a recording that is over, nothing more is written. */
static void leave_lane(struct pen *pen)
{
    struct session *session = pen->lane->session;
    if (session == atomic_load(&current))
        attach_detach(pen);
    else
        attach_drop_user(session);
    pen->lane = NULL;
    set_pen_gate(pen, GATE_NONE);
}

static void on_thread_exit(void *unused)
{
    (void)unused;
    struct pen *pen = &session_tls;
    if (!pen->lane || pen->gate == GATE_BUSY || is_forked())
        return;
    struct system_visit visit;
    struct timespec soon;
    system_enter(&visit);
    set_pen_gate(pen, GATE_BUSY);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    /* A fork may hold the lock and wait for this thread, in a handler of the program. Then the
     * helper gives the lane back, once it sees that the thread is gone. */
    if (pthread_mutex_timedlock(&recorder_lock, &soon) == 0) {
        leave_lane(pen);
        pthread_mutex_unlock(&recorder_lock);
    }
    system_leave(&visit);
}

static int32_t next_gate(void)
{
    return GATE_FIRST + recordings++ % (GATE_BUSY - GATE_FIRST);
}

/* Without it nothing gets lost until the pool is empty, but then all; so it is tried again. */
static void start_helper(struct session *session)
{
    int error = helper_start(session);
    store_note_error(&session->store, error);
    if (error)
        atomic_store(&helper_retry_ns, system_coarse_ns() + PATIENCE_NS);
    session->store.header->paused = error != SS_E_OK;
    atomic_store(&helper_is_due, error != SS_E_OK);
}

/* Life lock held, here and in what follows. */
static int start_locked(void)
{
    struct session *session = system_map_private(sizeof *session);
    int error = session ? run_dir_make(&settings) : SS_E_NOMEM;
    if (!error)
        error = session_open(session, &settings, &told);
    if (error) {
        if (session)
            system_unmap(session, sizeof *session);
        return error;
    }
    session->gate = next_gate();
    atomic_store(&deny_until_ns, 0);
    atomic_store(&helper_is_due, false);
    start_helper(session);
    error = helper_wait_for_file(session);
    if (error) {
        attach_drop_user(session);
        return error;
    }
    atomic_store(&current, session);
    set_gate(session->gate);
    return SS_E_OK;
}

static void forget(struct session *session)
{
    atomic_store(&current, NULL);
    session_tls.lane = NULL;
    set_pen_gate(&session_tls, GATE_NONE);
    if (store_file_is_ours(&session->store))
        close(session->store.fd);
    lane_memory_close(&session->store);
    set_gate(GATE_UNDECIDED);
}

/* After clone() without fork handlers: locks may be held by threads that the child does not
 * have, so they are recreated. Of several threads, one does it. */
static void resume_after_clone(void)
{
    int32_t forked = GATE_FORKED;
    if (!atomic_compare_exchange_strong(atomic_load(&gate_page), &forked, GATE_OFF))
        return;
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    life_lock = fresh;
    recorder_lock = fresh;
    secrets_after_clone();
    struct session *session = atomic_load(&current);
    if (session) {
        session->store.lock = fresh;
        forget(session);
    } else if (!settings.decided_off) {
        set_gate(GATE_UNDECIDED);
    }
}

static void before_fork(void)
{
    struct system_visit visit;
    system_enter(&visit);
    if (is_forked())
        resume_after_clone();
    pthread_mutex_lock(&life_lock);
    fork_visit = visit;
    gate_at_fork = gate_now();
    struct session *session = atomic_load(&current);
    if (session) /* said before the helper copies for the last time */
        session->store.header->paused = 1;
    fork_has_store = session && helper_stop(session);
    pthread_mutex_lock(&recorder_lock);
    if (fork_has_store)
        pthread_mutex_lock(&session->store.lock);
    secrets_before_fork();
}

static struct session *unlock_after_fork(void)
{
    struct session *session = atomic_load(&current);
    secrets_after_fork();
    if (fork_has_store)
        pthread_mutex_unlock(&session->store.lock);
    pthread_mutex_unlock(&recorder_lock);
    return session;
}

static void leave_fork(void)
{
    struct system_visit visit = fork_visit;
    pthread_mutex_unlock(&life_lock);
    system_leave(&visit);
}

/* The helper starts again at the next event, which another gate leads to the slow path: Python
 * counts the threads right after a fork, and warns its users if there are several. */
static void after_fork_in_parent(void)
{
    struct session *session = unlock_after_fork();
    if (session && helper_go_on(session)) {
        session->store.header->paused = 0;
    } else if (session) {
        session->gate = next_gate();
        atomic_store(&helper_retry_ns, 0);
        atomic_store(&helper_is_due, true);
        set_gate(session->gate);
    }
    leave_fork();
}

/* The child is off; its first event opens a file of its own (session_pen). If a handler of the
 * program that ran before this one recorded, that has been done already. */
static void after_fork_in_child(void)
{
    if (!is_forked() && gate_now() != gate_at_fork) {
        system_leave(&fork_visit);
        return;
    }
    struct session *session = unlock_after_fork();
    if (session)
        forget(session);
    else if (is_forked())
        set_gate(settings.decided_off ? GATE_OFF : GATE_UNDECIDED);
    leave_fork();
}

/* When the library is loaded: handlers of fork that are registered early run closest to it, and a
 * fork from another thread must not find one of our locks taken. */
__attribute__((constructor)) static void prepare_process(void)
{
    _Atomic int32_t *page = system_map_private(sizeof *page);
    if (page) {
        atomic_store(page, gate_now());
        atomic_store(&gate_page, page);
    }
    has_thread_key = pthread_key_create(&thread_key, on_thread_exit) == 0;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Not when the library is loaded: a program that records nothing makes no call that a filter may
 * forbid. Nor with one of our locks held: the loader has its own. */
static void stay_resident(void)
{
    static _Atomic bool resident;
    if (!atomic_exchange(&resident, true)) {
        int32_t mine = session_tls.gate;
        set_pen_gate(&session_tls, GATE_BUSY); /* malloc() may be hooked, and record */
        system_stay_resident();
        if (atomic_load(&gate_page) != &gate_before_start)
            system_wipe_on_fork(atomic_load(&gate_page), sizeof(int32_t));
        set_pen_gate(&session_tls, mine);
    }
}

/* Where every call begins that takes a lock. */
static void enter(struct system_visit *visit)
{
    system_enter(visit);
    stay_resident();
    if (is_forked())
        resume_after_clone();
}

static int start_once(const struct run_settings *wanted)
{
    if (atomic_load(&current))
        return SS_E_BUSY;
    settings = *wanted;
    redact_pattern_look_again();
    int error = SS_E_OFF;
    if (settings.dir[0])
        error = start_locked();
    settings.set = error == SS_E_OK;
    settings.decided_off = error != SS_E_OK;
    last_error = error == SS_E_OFF ? SS_E_OK : error;
    if (error)
        set_gate(GATE_OFF);
    return error;
}

int session_start(const struct ss_options *options)
{
    struct system_visit visit;
    enter(&visit);
    int32_t mine = session_tls.gate;
    set_pen_gate(&session_tls, GATE_BUSY);
    struct run_settings wanted;
    run_dir_settings(&wanted, options);
    pthread_mutex_lock(&life_lock);
    int error = start_once(&wanted);
    pthread_mutex_unlock(&life_lock);
    set_pen_gate(&session_tls, mine);
    system_leave(&visit);
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

/* Other threads may be in the middle of an event. Their lanes stay mapped until they have noticed,
 * at their next event, that the gate has another number. */
static void stop_locked(struct session *session)
{
    bool is_mapped = !session->store.memory;
    if (is_mapped)
        (void)helper_stop(session);
    pthread_mutex_lock(&recorder_lock);
    if (session_tls.lane && session_tls.lane->session == session)
        leave_lane(&session_tls);
    end_file(session, SS_FILE_STOPPED);
    atomic_store(&current, NULL);
    if (is_mapped)
        store_trim(&session->store, 0);
    pthread_mutex_unlock(&recorder_lock);
    if (!is_mapped) {
        helper_finish_file(session, 0);
        if (!helper_stop(session))
            return; /* it waits for a disk, and needs the session when it comes back */
    }
    pthread_mutex_lock(&recorder_lock);
    attach_drop_user(session);
    pthread_mutex_unlock(&recorder_lock);
}

void session_stop(void)
{
    struct system_visit visit;
    enter(&visit);
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    settings.set = false;
    settings.decided_off = true;
    set_gate(GATE_OFF);
    if (session)
        stop_locked(session);
    pthread_mutex_unlock(&life_lock);
    system_leave(&visit);
}

/* The life lock keeps the session from being stopped or forked during that time. */
static void finish_at_exit(void)
{
    if (pthread_mutex_trylock(&life_lock) != 0)
        return; /* who has it finishes the file, or is forking */
    struct session *session = atomic_load(&current);
    if (session && session->store.memory)
        helper_finish_file(session, EXIT_SEGMENTS);
    pthread_mutex_unlock(&life_lock);
}

/* exit(): other threads may go on for a while, so nothing is taken from them. */
__attribute__((destructor)) static void on_process_exit(void)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += EXIT_PATIENCE_NS;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    if (!atomic_load(&current) || is_forked() ||
        pthread_mutex_timedlock(&recorder_lock, &soon) != 0)
        return;
    struct session *session = atomic_load(&current); /* another thread may have stopped it */
    if (session) {
        end_file(session, SS_FILE_EXITED);
        if (!session->store.memory)
            store_trim(&session->store, EXIT_SEGMENTS);
    }
    pthread_mutex_unlock(&recorder_lock);
    finish_at_exit();
}

uint32_t session_intern(const struct name *name)
{
    struct system_visit visit;
    enter(&visit);
    pthread_mutex_lock(&recorder_lock);
    uint32_t id = names_intern(name);
    struct session *session = atomic_load(&current);
    if (session)
        control_put_names(session);
    pthread_mutex_unlock(&recorder_lock);
    system_leave(&visit);
    return id;
}

bool session_put_frame(const struct ss_rec_frame *frame, const char *function, const char *file)
{
    struct system_visit visit;
    enter(&visit);
    pthread_mutex_lock(&recorder_lock);
    struct session *session = atomic_load(&current);
    bool done = session && control_put_frame(session, frame, function, file);
    pthread_mutex_unlock(&recorder_lock);
    system_leave(&visit);
    return done;
}

void session_set_rank(int rank, int world)
{
    struct system_visit visit;
    enter(&visit);
    pthread_mutex_lock(&recorder_lock);
    struct session *session = atomic_load(&current);
    if (told.rank < 0 && rank >= 0) {
        told.rank = rank;
        told.world = world > 0 ? world : 0;
        if (session)
            session_fill_rank(session->store.header, &settings, &told);
    }
    pthread_mutex_unlock(&recorder_lock);
    system_leave(&visit);
}

static void start_helper_again(void)
{
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    if (session && !session->helper.running) {
        start_helper(session);
        if (!atomic_load(&helper_is_due)) {
            session->gate = next_gate(); /* everyone may use the fast path again */
            set_gate(session->gate);
        }
    }
    pthread_mutex_unlock(&life_lock);
}

static struct session *session_for_event(void)
{
    if (gate_now() == GATE_UNDECIDED) {
        pthread_mutex_lock(&life_lock);
        if (gate_now() == GATE_UNDECIDED) {    /* another thread may have decided it */
            static struct run_settings wanted; /* the thread's stack may be small */
            wanted = settings;
            if (!wanted.set)
                run_dir_settings(&wanted, NULL);
            (void)start_once(&wanted);
        }
        pthread_mutex_unlock(&life_lock);
    } else if (atomic_load(&helper_is_due) && system_coarse_ns() >= atomic_load(&helper_retry_ns)) {
        start_helper_again();
    }
    return atomic_load(&current);
}

/* Recorder lock held. */
static bool pick_up_pen(struct pen *pen)
{
    struct session *session = atomic_load(&current);
    if (pen->lane && pen->lane->session != session)
        leave_lane(pen); /* that recording was stopped, and this thread has noticed */
    if (!session || pen->lane)
        return session && pen->lane;
    if (!attach_pen(session, pen)) {
        atomic_store(&deny_until_ns, system_coarse_ns() + PATIENCE_NS);
        return false;
    }
    return true;
}

struct pen *session_pen(void)
{
    struct pen *pen = &session_tls;
    int32_t now = gate_now();
    bool helper_may_start = atomic_load_explicit(&helper_is_due, memory_order_relaxed) &&
                            system_coarse_ns() >= atomic_load(&helper_retry_ns);
    if (pen->gate == now && !helper_may_start)
        return pen;
    if (pen->gate == GATE_BUSY || now == GATE_OFF)
        return NULL;
    bool ready = false;
    struct system_visit visit;
    enter(&visit);
    /* An event from here on is our own: malloc() may be hooked. */
    set_pen_gate(pen, GATE_BUSY);
    struct session *session = session_for_event();
    if (session && (pen->lane || system_coarse_ns() >= atomic_load(&deny_until_ns))) {
        pthread_mutex_lock(&recorder_lock);
        ready = pick_up_pen(pen);
        pthread_mutex_unlock(&recorder_lock);
    }
    if (ready && has_thread_key)
        pthread_setspecific(thread_key, pen); /* without a lock: it may call malloc() */
    /* Not gate_now(): there may be another recording by now. */
    set_pen_gate(pen, ready ? pen->lane->session->gate : GATE_NONE);
    system_leave(&visit);
    return ready ? pen : NULL;
}

const char *session_status(void)
{
    static char text[4200];
    struct system_visit visit;
    enter(&visit);
    pthread_mutex_lock(&life_lock);
    struct session *session = atomic_load(&current);
    int error = session ? store_error(&session->store) : last_error;
    if (error) {
        snprintf(text, sizeof text, "%s: %s", session ? "recording with losses" : "off",
                 ss_error_text(error));
    } else if (session) {
        snprintf(text, sizeof text, "recording to %s", session->store.path);
    } else {
        snprintf(text, sizeof text, "off");
    }
    pthread_mutex_unlock(&life_lock);
    system_leave(&visit);
    return text;
}
