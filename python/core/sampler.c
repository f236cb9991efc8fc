#include "core.h"

#include "sampler.h"

#include "at_exit.h"
#include "base/own_counters.h"
#include "collector.h"
#include "frames.h"
#include "frames_memory.h"
#include "record/notes.h"
#include "record/system.h"
#include "sampler_ids.h"
#include "sampler_usage.h"
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    DEFAULT_HZ = 20,
    MOST_HZ = 1000,
    OTHERS_EVERY = 4, /* one of the other threads for so many stacks of the loop thread */
    STACK_BYTES = 512 * 1024,
    COLLECTOR_SECONDS = 5
};
static const char THREAD_NAME[] = "stepscope";
static const char HOOK_NAME[] = "stack samples";
static const int64_t SECOND_NS = 1000000000;

atomic_int sampler_due;

static struct {
    pthread_mutex_t lock; /* start and stop */
    pthread_t thread;
    bool is_wanted, is_running;
    pid_t process; /* in which it was started */
    _Atomic uint32_t stop, loop_tid;
    int hz;
    const char *reason; /* why there are no stacks; NULL: there are */
} control = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Only the thread touches these while it runs. */
static struct {
    struct frames frames;
    struct ids ids;
    struct usage usage;
    struct own_usage own_usage;
    uint64_t random;
    uint32_t recording;
    size_t next_other;
    uint64_t rounds;
    int64_t next_second_ns;
    unsigned seconds;
} state;

static struct {
    _Atomic uint64_t taken, discarded, cpu_ns;
} totals;

static uint32_t loop_tid(void)
{
    const uint32_t told = atomic_load(&control.loop_tid);
    return told ? told : (uint32_t)getpid();
}

void sampler_loop_is_here(void)
{
    static _Thread_local uint32_t own;
    if (!own) {
        own = system_tid();
    }
    atomic_store_explicit(&control.loop_tid, own, memory_order_relaxed);
}

/* Between half and three halves of the period: a loop in step with us must not look different. */
static int next_wait_us(void)
{
    const int period = 1000000 / control.hz;
    state.random ^= state.random << 13;
    state.random ^= state.random >> 7;
    state.random ^= state.random << 17;
    return period / 2 + (int)(state.random % (uint64_t)period);
}

static void sample(uint32_t tid)
{
    struct frames_stack stack;
    uint32_t ids[FRAMES_DEPTH];
    const enum frames_result result = frames_take(&state.frames, tid, &stack);
    if (result == FRAMES_DISCARDED) {
        atomic_fetch_add(&totals.discarded, 1);
    }
    if (result != FRAMES_TAKEN) {
        return;
    }
    for (size_t i = 0; i < stack.count; i++) {
        ids[i] = ids_tell(&state.ids, stack.frame[i].code, &stack.frame[i].place,
                          state.recording);
        if (!ids[i]) {
            atomic_fetch_add(&totals.discarded, 1);
            return;
        }
    }
    notes_sample(tid, stack.when, ids, (unsigned)stack.count);
    atomic_fetch_add(&totals.taken, 1);
}

static void sample_another(uint32_t loop)
{
    const struct frames *frames = &state.frames;
    for (size_t i = 0; i < frames->thread_count; i++) {
        state.next_other = (state.next_other + 1) % frames->thread_count;
        const uint32_t tid = frames->thread[state.next_other].tid;
        if (tid != loop) {
            sample(tid);
            return;
        }
    }
}

static void count_discarded(void)
{
    const uint64_t discarded = atomic_load(&totals.discarded);
    if (discarded > 0) {
        ss_counter(ss_intern(OWN_COUNTER_DISCARDED, SS_STAGE_OTHER, SS_ROLE_NONE,
                             SS_SCOPE_NONE, NULL),
                   (double)discarded);
    }
}

/* False: the program has ended but for our own threads. */
static bool once_a_second(void)
{
    usage_record(&state.usage, loop_tid());
    usage_record_own(&state.own_usage);
    count_discarded();
    if (!control.reason) {
        frames_find_threads(&state.frames);
    }
    if (state.seconds++ % COLLECTOR_SECONDS == 0) {
        collector_ask_for_check();
    }
    atomic_store(&totals.cpu_ns, (uint64_t)system_thread_cpu_ns());
    return !system_only_threads_called(THREAD_NAME);
}

static void begin_recording(uint32_t recording)
{
    state.recording = recording;
    state.usage = (struct usage){0};
    state.own_usage = (struct own_usage){0};
    notes_hook(HOOK_NAME, control.reason);
}

/* False: nothing is recorded any more. */
static bool one_round(void)
{
    const uint32_t recording = notes_recording();
    const int64_t now = system_coarse_ns();
    if (!recording) {
        return false;
    }
    if (recording != state.recording) {
        begin_recording(recording);
    }
    if (!control.reason) {
        sample(loop_tid());
        if (++state.rounds % OTHERS_EVERY == 0) {
            sample_another(loop_tid());
        }
    }
    if (now >= state.next_second_ns) {
        state.next_second_ns = now + SECOND_NS;
        return once_a_second();
    }
    return true;
}

static void *sampler_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, THREAD_NAME);
    system_random(&state.random, sizeof state.random);
    state.random |= 1;
    state.own_usage = (struct own_usage){0};
    while (system_wait(&control.stop, 0, next_wait_us())) {
        if (!one_round()) {
            atomic_store(&sampler_due, 1);
            break;
        }
    }
    atomic_store(&totals.cpu_ns, (uint64_t)system_thread_cpu_ns());
    return NULL;
}

static int create_thread(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failed = pthread_create(&control.thread, &attributes, sampler_main, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void stop_locked(void)
{
    if (control.is_running) {
        atomic_store(&control.stop, 1);
        system_wake(&control.stop);
        pthread_join(control.thread, NULL);
        control.is_running = false;
    }
}

/* A child has the memory of its parent, but not its threads, and other ids. */
static void know_process(void)
{
    if (control.process != getpid()) {
        control.process = getpid();
        atomic_store(&control.loop_tid, 0);
        state.frames.thread_count = 0;
        control.reason = control.reason ? control.reason : memory_open();
    }
}

void sampler_run(void)
{
    struct system_visit visit;
    if (!notes_recording()) {
        return;
    }
    system_enter(&visit);
    if (pthread_mutex_trylock(&control.lock) == 0) {
        atomic_store(&sampler_due, 0);
        if (control.is_wanted) {
            stop_locked(); /* it may have ended by itself */
            know_process();
            atomic_store(&control.stop, 0);
            control.is_running = create_thread() == 0;
        }
        pthread_mutex_unlock(&control.lock);
    }
    system_leave(&visit);
}

static void before_fork(void)
{
    pthread_mutex_lock(&control.lock);
    stop_locked();
}

static void after_fork(void)
{
    atomic_store(&sampler_due, control.is_wanted);
    pthread_mutex_unlock(&control.lock);
}

static void stop_at_exit(void)
{
    pthread_mutex_lock(&control.lock);
    control.is_wanted = false;
    atomic_store(&sampler_due, 0);
    stop_locked();
    pthread_mutex_unlock(&control.lock);
}

/* STEPSCOPE_SAMPLE_HZ, 0: none; what is no number does not count. */
static int wanted_hz(void)
{
    const char *text = secure_getenv("STEPSCOPE_SAMPLE_HZ");
    char *end = NULL;
    const long hz = text ? strtol(text, &end, 10) : -1;
    return text && end != text && !*end && hz >= 0 && hz <= MOST_HZ ? (int)hz
                                                                    : DEFAULT_HZ;
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char name[] = "hz";
    static char *names[] = {name, NULL};
    int hz = wanted_hz();
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", names, &hz)) {
        return NULL;
    }
    stop_at_exit();
    if (hz > 0) {
        frames_release(&state.frames);
        control.reason = frames_init(&state.frames);
        control.process = getpid();
        control.hz = hz < MOST_HZ ? hz : MOST_HZ;
        control.is_wanted = true;
        atomic_store(&sampler_due, 1);
        sampler_run();
    }
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    stop_at_exit();
    Py_RETURN_NONE;
}

static PyObject *stats(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue(
        "{sOsKsKsKsz}", "running", control.is_running ? Py_True : Py_False, "taken",
        (unsigned long long)atomic_load(&totals.taken), "discarded",
        (unsigned long long)atomic_load(&totals.discarded), "cpu_ns",
        (unsigned long long)atomic_load(&totals.cpu_ns), "reason", control.reason);
}

static PyMethodDef methods[] = {
    {"sampler_start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "Take stacks of the loop thread so many times a second, from the first event on."},
    {"sampler_stop", stop, METH_NOARGS, "Take no more stacks."},
    {"sampler_stats", stats, METH_NOARGS, "What the sampler did so far, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef at_exit = {"sampler_stop", stop, METH_NOARGS, NULL};

/* An interpreter that ends takes down what the thread reads; the second is for one whose list of
 * functions for its end was emptied. */
int sampler_add(PyObject *module)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    at_exit_call(&at_exit);
    (void)Py_AtExit(stop_at_exit);
    return PyModule_AddFunctions(module, methods);
}
