#include "sampler.h"

#include "core.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/code_place.h"
#include "base/own_counters.h"
#include "collector.h"
#include "frames.h"
#include "frames_memory.h"
#include "guard.h"
#include "record/notes.h"
#include "record/system.h"
#include "stepscope/recorder.h"
#include "support.h"

/* Numbers of frames: one for each line of each function, and each kind of place on it, for the life
 * of the process. Each recording must be told once what a number means. */

enum { IDS_SLOTS = 16384, IDS_MOST = IDS_SLOTS / 4 * 3, IDS_FULL = 1 };

struct ids {
    struct {
        uint64_t key; /* 0: free */
        uint32_t id, told;
    } slot[IDS_SLOTS];
    uint32_t count, full_told;
};

/* Code objects come and go, the same function may have many: what counts is the text. */
static uint64_t key_of(const struct code *code, const struct code_place *place)
{
    const uint64_t kind = (uint64_t)place->body << 8 | place->traits;
    uint64_t key = code->text_hash ^ (kind << 32 | place->line) * UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    return key ? key : 1;
}

/* Generated code is reported as its source. */
static bool tell_frame(const struct ss_rec_frame *frame, const struct code *code)
{
    struct ss_rec_frame own = *frame;
    struct generated_line from;
    if (!generated_line_find(code->file, frame->line, &from))
        return notes_frame(frame, code->function, code->file);
    own.line = from.line;
    return notes_frame(&own, from.function, from.file);
}

static uint32_t tell_full(struct ids *ids, uint32_t recording)
{
    if (ids->full_told != recording) {
        const struct ss_rec_frame frame = {.id = IDS_FULL};
        if (!notes_frame(&frame, "(too many different lines)", ""))
            return 0;
        ids->full_told = recording;
    }
    return IDS_FULL;
}

/* The number, told to this recording; 0: that was not possible. Beyond IDS_MOST all further lines
 * share the number IDS_FULL. */
static uint32_t ids_tell(struct ids *ids, const struct code *code, const struct code_place *place,
                         uint32_t recording)
{
    const uint64_t key = key_of(code, place);
    size_t at = key % IDS_SLOTS;
    while (ids->slot[at].key && ids->slot[at].key != key)
        at = (at + 1) % IDS_SLOTS;
    if (!ids->slot[at].key) {
        if (ids->count == IDS_MOST)
            return tell_full(ids, recording);
        ids->slot[at].key = key;
        ids->slot[at].id = IDS_FULL + ++ids->count;
    }
    if (ids->slot[at].told != recording) {
        const struct ss_rec_frame frame = {.id = ids->slot[at].id,
                                           .line = place->line,
                                           .traits = place->traits,
                                           .body = place->body};
        if (!tell_frame(&frame, code))
            return 0;
        ids->slot[at].told = recording;
    }
    return ids->slot[at].id;
}

/* What the kernel says about the loop thread and about the sampler itself, as counters of the run:
 * page faults and CPU time since the last look. */

struct usage {
    uint32_t tid; /* 0: nothing is known yet */
    int64_t when_ns;
    uint64_t minor, major;
    int64_t cpu_ns;
};

/* Reads the numbers of a thread, and records the changes if there was a look at the same one
 * before: "loop minor faults" and "loop major faults" as numbers, "loop cpu" as a share of one
 * core. */

/* CPU time of the calling thread as a share of one core, "stack sampler cpu": what looking
 * costs. */
struct own_usage {
    int64_t when_ns; /* 0: nothing is known yet */
    int64_t cpu_ns;
};

enum { PATH_BYTES = 64, STAT_BYTES = 1024 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The name of a thread may have anything in it, so fields are counted from its end on. */
static bool read_faults(struct usage *usage)
{
    char path[PATH_BYTES], stat[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/stat", usage->tid);
    system_read_file(path, stat, sizeof stat);
    const char *fields = strrchr(stat, ')');
    return fields && sscanf(fields, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64,
                            &usage->minor, &usage->major) == 2;
}

static bool read_cpu(struct usage *usage)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/schedstat", usage->tid);
    system_read_file(path, text, sizeof text);
    return sscanf(text, "%" SCNd64, &usage->cpu_ns) == 1;
}

static void count(const char *name, double value)
{
    ss_counter(ss_intern(name, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL), value);
}

static void usage_record(struct usage *last, uint32_t tid)
{
    struct usage now = {.tid = tid, .when_ns = now_ns(), .cpu_ns = -1};
    if (!read_faults(&now)) {
        last->tid = 0;
        return;
    }
    const bool has_cpu = read_cpu(&now);
    if (last->tid == tid && now.when_ns > last->when_ns) {
        count(OWN_COUNTER_MINOR_FAULTS, (double)(now.minor - last->minor));
        count(OWN_COUNTER_MAJOR_FAULTS, (double)(now.major - last->major));
        if (has_cpu && last->cpu_ns >= 0) {
            count(OWN_COUNTER_CPU,
                  (double)(now.cpu_ns - last->cpu_ns) / (double)(now.when_ns - last->when_ns));
        }
    }
    *last = now;
}

static void usage_record_own(struct own_usage *last)
{
    const struct own_usage now = {.when_ns = now_ns(), .cpu_ns = system_thread_cpu_ns()};
    if (last->when_ns && now.when_ns > last->when_ns) {
        count(OWN_COUNTER_SAMPLER_CPU,
              (double)(now.cpu_ns - last->cpu_ns) / (double)(now.when_ns - last->when_ns));
    }
    *last = now;
}

/* The thread. */

enum {
    DEFAULT_HZ = 20,
    MOST_HZ = 1000,
    OTHERS_EVERY = 2,  /* one of the other threads for this many stacks of the loop thread */
    OTHERS_ASKED = 16, /* until one of them has a stack */
    OTHERS_TRIES = 3,
    STACK_BYTES = 512 * 1024,
    COLLECTOR_SECONDS = 5
};
static const char THREAD_NAME[] = "stepscope";
static const char HOOK_NAME[] = "stack samples";
static const int64_t SECOND_NS = 1000000000;

atomic_int sampler_due; /* any thread reads it in each event */

/* Between the threads that start and stop it and the one that samples. */
static struct {
    pthread_mutex_t lock; /* start and stop */
    pthread_t thread;
    bool is_wanted, is_running;
    pid_t process; /* in which it was started */
    _Atomic uint32_t stop, loop_tid;
    int hz;
    const char *reason; /* why there are no stacks; NULL: there are */
} control = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Made when stacks are first asked for, kept from then on. Only the thread touches it while it
 * runs. */
static struct sampling {
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
} * state;

/* For sampler_stats(). */
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
    static _Thread_local uint32_t own; /* asked for once */
    if (!own)
        own = system_tid();
    atomic_store_explicit(&control.loop_tid, own, memory_order_relaxed);
}

/* Between half and three halves of the period: a loop in step with us must not look different. */
static int next_wait_us(void)
{
    const int period = 1000000 / control.hz;
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    return period / 2 + (int)(state->random % (uint64_t)period);
}

static bool tell_stack(uint32_t tid, const struct frames_stack *stack)
{
    uint32_t ids[FRAMES_DEPTH];
    for (size_t i = 0; i < stack->count; i++) {
        ids[i] =
            ids_tell(&state->ids, stack->frame[i].code, &stack->frame[i].place, state->recording);
        if (!ids[i])
            return false;
    }
    notes_sample(tid, stack->when, ids, (unsigned)stack->count);
    return true;
}

/* False: there is nothing to see of that thread. */
static bool sample(uint32_t tid, struct frames_stack *stack)
{
    const enum frames_result result = frames_take(&state->frames, tid, stack);
    const bool is_told = result == FRAMES_TAKEN && tell_stack(tid, stack);
    if (is_told)
        atomic_fetch_add(&totals.taken, 1);
    else if (result != FRAMES_NONE)
        atomic_fetch_add(&totals.discarded, 1);
    return is_told;
}

/* Whether a framework has called code of the script there to make a batch: frames are innermost
 * first. */
static bool makes_batches(const struct frames_stack *stack)
{
    bool is_script = false;
    for (size_t i = 0; i < stack->count; i++) {
        const struct code *code = stack->frame[i].code;
        if (is_script && python_file_makes_batches(code->file, code->function))
            return true;
        is_script = is_script || python_file_is_script(code->file);
    }
    return false;
}

/* What the thread does right now: those that wait for the interpreter wait as for any lock. -1:
 * the kernel does not say. */
static int making_state(uint32_t tid)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    long call = -1;
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/syscall", tid);
    system_read_file(path, text, sizeof text);
    if (strncmp(text, "running", strlen("running")) == 0)
        return MAKING_RUNS;
    if (sscanf(text, "%ld", &call) != 1)
        return -1;
    return call == SYS_futex ? MAKING_WAITS_FOR_LOCK : MAKING_WAITS;
}

/* The next thread that has a stack; false: none has one. */
static bool sample_next(uint32_t loop)
{
    struct frames *frames = &state->frames;
    struct frames_stack stack;
    frames_find_threads(frames);
    const size_t known = frames->thread_count;
    for (size_t i = 0; i < known && i < OTHERS_ASKED; i++) {
        state->next_other = (state->next_other + 1) % known;
        const uint32_t tid = frames->thread[state->next_other].tid;
        if (tid != loop && sample(tid, &stack)) {
            const int making = makes_batches(&stack) ? making_state(tid) : -1;
            if (making >= 0)
                count(OWN_COUNTER_MAKING, making);
            return true;
        }
        if (frames->thread_count != known) /* it is not the same list any more */
            return false;
    }
    return false;
}

/* A thread of a library that calls Python has a state in the interpreter only during the call: the
 * list is read each time, and once more if nothing was there. */
static void sample_another(uint32_t loop)
{
    for (int i = 0; i < OTHERS_TRIES; i++)
        if (sample_next(loop))
            return;
}

static void count_discarded(void)
{
    const uint64_t discarded = atomic_load(&totals.discarded);
    if (discarded > 0) {
        ss_counter(
            ss_intern(OWN_COUNTER_DISCARDED, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL),
            (double)discarded);
    }
}

/* False: the program has ended but for our own threads. */
static bool once_a_second(void)
{
    usage_record(&state->usage, loop_tid());
    usage_record_own(&state->own_usage);
    count_discarded();
    if (!control.reason)
        frames_find_threads(&state->frames);
    if (state->seconds++ % COLLECTOR_SECONDS == 0)
        collector_ask_for_check();
    atomic_store(&totals.cpu_ns, (uint64_t)system_thread_cpu_ns());
    return !system_only_threads_called(THREAD_NAME);
}

static void begin_recording(uint32_t recording)
{
    state->recording = recording;
    state->usage = (struct usage){0};
    state->own_usage = (struct own_usage){0};
    notes_hook(HOOK_NAME, control.reason);
}

/* False: nothing is recorded any more. */
static bool one_round(void)
{
    const uint32_t recording = notes_recording();
    const int64_t now = system_coarse_ns();
    struct frames_stack stack;
    if (!recording)
        return false;
    if (recording != state->recording)
        begin_recording(recording);
    if (!control.reason) {
        (void)sample(loop_tid(), &stack);
        if (++state->rounds % OTHERS_EVERY == 0)
            sample_another(loop_tid());
    }
    if (now >= state->next_second_ns) {
        state->next_second_ns = now + SECOND_NS;
        return once_a_second();
    }
    return true;
}

static void *sampler_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, THREAD_NAME);
    system_random(&state->random, sizeof state->random);
    state->random |= 1;
    state->own_usage = (struct own_usage){0};
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
        state->frames.thread_count = 0;
        control.reason = control.reason ? control.reason : memory_open();
    }
}

void sampler_run(void)
{
    struct system_visit visit;
    if (!notes_recording())
        return;
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
    return text && end != text && !*end && hz >= 0 && hz <= MOST_HZ ? (int)hz : DEFAULT_HZ;
}

static PyObject *start_unguarded(PyObject *args, PyObject *keywords)
{
    static char name[] = "hz";
    static char *names[] = {name, NULL};
    int hz = wanted_hz();
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", names, &hz))
        return NULL;
    stop_at_exit();
    if (hz > 0 && !state && !(state = calloc(1, sizeof *state)))
        return PyErr_NoMemory();
    if (hz > 0) {
        frames_release(&state->frames);
        control.reason = frames_init(&state->frames);
        control.process = getpid();
        control.hz = hz < MOST_HZ ? hz : MOST_HZ;
        control.is_wanted = true;
        atomic_store(&sampler_due, 1);
        sampler_run();
    }
    Py_RETURN_NONE;
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *keywords)
{
    struct guard guard;
    (void)module;
    guard_enter(&guard);
    PyObject *result = start_unguarded(args, keywords);
    guard_leave(&guard);
    return result;
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
    return Py_BuildValue("{sOsKsKsKsz}", "running", control.is_running ? Py_True : Py_False,
                         "taken", (unsigned long long)atomic_load(&totals.taken), "discarded",
                         (unsigned long long)atomic_load(&totals.discarded), "cpu_ns",
                         (unsigned long long)atomic_load(&totals.cpu_ns), "reason", control.reason);
}

static PyMethodDef methods[] = {
    {"sampler_start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "Take stacks of the loop thread this many times per second, from the first event on."},
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
