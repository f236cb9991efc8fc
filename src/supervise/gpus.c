#include "supervise/gpus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "supervise/gpu_questions.h"
#include "supervise/now.h"

#define MS_NS ((int64_t)1000000)
#define ROUND_NS (200 * MS_NS)
#define OVERDUE_NS (2000 * MS_NS) /* the calls of a round take 50 ms, PCIe included */
#define STOP_NS (50 * MS_NS)

struct slot {
    enum ss_system_state state;
    double value;
    int64_t time_ns;
    bool is_known; /* has been read at least once */
    bool is_new;   /* since gpus_take() */
};

struct user_slot {
    uint32_t pid; /* 0: free */
    bool is_there;
    struct slot slot;
};

struct gpu {
    struct gpus *all;
    unsigned index;

    /* Of its thread. */
    struct nvml_device *device; /* NULL: it must be asked for, again */
    uint64_t round;

    /* Under the lock. */
    char name[GPUS_NAME_SIZE];
    int64_t busy_since_ns; /* 0: waits for the next round */
    bool is_overdue;
    struct slot slots[GPU_QUESTIONS][GPU_ANSWERS];
    struct user_slot users[GPU_USERS];
};

enum state { STARTING, READY, FAILED, NO_LIBRARY };

struct gpus {
    struct nvml_library nvml;
    atomic_uint holders; /* threads and the owner; the last one frees */
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* Under the lock, which is never held during a call of NVML. */
    enum state state;
    int64_t started_ns;
    bool stopping;
    unsigned running; /* threads */
    bool all_left;
    struct ss_error why;
    unsigned count, told; /* GPUs; those of which there is something to take */
    struct gpu gpu[SS_GPUS_MOST];
};

static bool left_behind;

static void release(struct gpus *gpus)
{
    if (atomic_fetch_sub_explicit(&gpus->holders, 1, memory_order_acq_rel) != 1)
        return;
    pthread_cond_destroy(&gpus->changed);
    pthread_mutex_destroy(&gpus->lock);
    free(gpus);
}

/* False: the time is over. */
static bool wait_until(struct gpus *gpus, int64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = deadline_ns / (1000 * MS_NS),
                                   .tv_nsec = deadline_ns % (1000 * MS_NS)};

    return pthread_cond_timedwait(&gpus->changed, &gpus->lock, &until) != ETIMEDOUT;
}

static void put(struct slot *slot, enum ss_system_state state, double value)
{
    const bool is_news = !slot->is_known || slot->state != state;

    slot->state = state;
    slot->value = state == SS_SYSTEM_VALUE ? value : 0;
    slot->time_ns = now_raw_ns();
    slot->is_known = true;
    slot->is_new |= is_news || state == SS_SYSTEM_VALUE;
}

static enum ss_system_state state_of(int result)
{
    if (result == NVML_SUCCESS)
        return SS_SYSTEM_VALUE;
    return result == NVML_NO_PERMISSION ? SS_SYSTEM_DENIED : SS_SYSTEM_ABSENT;
}

static void put_all_absent(struct gpu *gpu)
{
    for (size_t i = 0; i < GPU_QUESTIONS; i++)
        for (size_t k = 0; k < gpu_questions[i].answers; k++)
            put(&gpu->slots[i][k], SS_SYSTEM_ABSENT, 0);
    for (size_t i = 0; i < GPU_USERS; i++)
        if (gpu->users[i].pid)
            put(&gpu->users[i].slot, SS_SYSTEM_ABSENT, 0);
}

/* Of the slots of processes that have left, those that have been taken are free. */
static struct user_slot *slot_of_user(struct gpu *gpu, uint32_t pid)
{
    struct user_slot *free_one = NULL;

    for (struct user_slot *user = gpu->users; user < gpu->users + GPU_USERS; user++) {
        if (user->pid == pid)
            return user;
        if (!user->pid || (!user->is_there && !user->slot.is_new))
            free_one = user;
    }
    if (free_one)
        *free_one = (struct user_slot){.pid = pid};
    return free_one;
}

static void put_users(struct gpu *gpu, const struct gpu_user *users, size_t count)
{
    for (struct user_slot *slot = gpu->users; slot < gpu->users + GPU_USERS; slot++) {
        slot->is_there = false;
        for (size_t i = 0; i < count; i++)
            slot->is_there |= users[i].pid == slot->pid;
        if (slot->pid && !slot->is_there)
            put(&slot->slot, SS_SYSTEM_ABSENT, 0);
    }
    for (size_t i = 0; i < count; i++) {
        struct user_slot *slot = slot_of_user(gpu, users[i].pid);
        if (!slot)
            continue;
        slot->is_there = true;
        put(&slot->slot, users[i].is_known ? SS_SYSTEM_VALUE : SS_SYSTEM_ABSENT, users[i].bytes);
    }
}

static void ask_users(struct gpu *gpu)
{
    struct gpu_user users[GPU_USERS];
    size_t count = 0;
    int result = gpu_ask_users(&gpu->all->nvml, gpu->device, users, &count);

    pthread_mutex_lock(&gpu->all->lock);
    put_users(gpu, users, result == NVML_SUCCESS ? count : 0);
    pthread_mutex_unlock(&gpu->all->lock);
}

/* False: the GPU is gone. */
static bool ask(struct gpu *gpu, size_t number)
{
    const struct gpu_question *question = &gpu_questions[number];
    double value[GPU_ANSWERS] = {0};
    int result = question->ask(&gpu->all->nvml, gpu->device, value);

    pthread_mutex_lock(&gpu->all->lock);
    for (size_t k = 0; k < question->answers; k++)
        put(&gpu->slots[number][k], state_of(result), value[k]);
    pthread_mutex_unlock(&gpu->all->lock);
    return result != NVML_GPU_IS_LOST;
}

static bool find_device(struct gpu *gpu)
{
    const struct nvml_library *nvml = &gpu->all->nvml;
    char name[GPUS_NAME_SIZE] = "";

    if (nvml->device(gpu->index, &gpu->device) != NVML_SUCCESS) {
        gpu->device = NULL;
        return false;
    }
    if (nvml->name && nvml->name(gpu->device, name, sizeof name) == NVML_SUCCESS) {
        pthread_mutex_lock(&gpu->all->lock);
        memcpy(gpu->name, name, sizeof name);
        gpu->name[sizeof name - 1] = '\0';
        pthread_mutex_unlock(&gpu->all->lock);
    }
    return true;
}

/* Slow questions come at other rounds for each GPU, so that they do not meet. */
static void one_round(struct gpu *gpu)
{
    const bool slow = (gpu->round + gpu->index) % GPU_SLOW_ROUNDS == 0 || gpu->round == 0;
    bool is_there = gpu->device || (slow && find_device(gpu));

    for (size_t i = 0; i < GPU_QUESTIONS && is_there; i++)
        if (slow || !gpu_questions[i].slow)
            is_there = ask(gpu, i);
    if (is_there && slow)
        ask_users(gpu);
    if (!is_there)
        gpu->device = NULL;
    gpu->round++;
}

/* Returns false when it is time to leave. */
static bool rest(struct gpu *gpu, int64_t next_ns)
{
    struct gpus *gpus = gpu->all;

    pthread_mutex_lock(&gpus->lock);
    gpu->busy_since_ns = 0;
    gpu->is_overdue = false;
    if (!gpu->device)
        put_all_absent(gpu);
    while (!gpus->stopping && wait_until(gpus, next_ns))
        ;
    gpu->busy_since_ns = now_ns();
    const bool goes_on = !gpus->stopping;
    pthread_mutex_unlock(&gpus->lock);
    return goes_on;
}

static void leave(struct gpus *gpus)
{
    pthread_mutex_lock(&gpus->lock);
    const bool is_last = --gpus->running == 0;
    const bool shut_down = is_last && gpus->state == READY && gpus->nvml.shutdown;
    pthread_mutex_unlock(&gpus->lock);
    if (shut_down)
        gpus->nvml.shutdown();
    if (is_last) {
        pthread_mutex_lock(&gpus->lock);
        gpus->all_left = true;
        pthread_cond_broadcast(&gpus->changed);
        pthread_mutex_unlock(&gpus->lock);
    }
    release(gpus);
}

static void *watch(void *argument)
{
    struct gpu *gpu = argument;
    int64_t next_ns;

    do {
        next_ns = now_ns() + ROUND_NS;
        one_round(gpu);
    } while (rest(gpu, next_ns));
    leave(gpu->all);
    return NULL;
}

static bool start_thread(struct gpus *gpus, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    atomic_fetch_add_explicit(&gpus->holders, 1, memory_order_relaxed);
    pthread_mutex_lock(&gpus->lock);
    gpus->running++;
    pthread_mutex_unlock(&gpus->lock);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        pthread_mutex_lock(&gpus->lock);
        gpus->running--;
        pthread_mutex_unlock(&gpus->lock);
        atomic_fetch_sub_explicit(&gpus->holders, 1, memory_order_relaxed);
    }
    return !failed;
}

static void become(struct gpus *gpus, enum state state, unsigned count)
{
    pthread_mutex_lock(&gpus->lock);
    gpus->state = state;
    gpus->count = count;
    gpus->told = count ? count : 1;
    if (count == 0)
        put_all_absent(&gpus->gpu[0]);
    pthread_cond_broadcast(&gpus->changed);
    pthread_mutex_unlock(&gpus->lock);
}

/* How many GPUs there are. */
static unsigned start_nvml(struct gpus *gpus, enum state *state)
{
    unsigned count = 0;

    *state = NO_LIBRARY;
    if (!nvml_library_load(&gpus->nvml, &gpus->why))
        return 0;
    int result = gpus->nvml.init();
    *state = result == NVML_SUCCESS ? READY : FAILED;
    if (*state == FAILED) {
        error_set(&gpus->why, SS_E_IO, "nvmlInit failed with NVML error %d", result);
        return 0;
    }
    result = gpus->nvml.count(&count);
    return result != NVML_SUCCESS ? 0 : count > SS_GPUS_MOST ? SS_GPUS_MOST : count;
}

/* Loads and starts NVML, and a thread for each GPU but the first, which it reads itself. */
static void *begin(void *argument)
{
    struct gpus *gpus = argument;
    enum state state;
    const unsigned count = start_nvml(gpus, &state);

    for (unsigned i = 0; i < count; i++) {
        gpus->gpu[i].all = gpus;
        gpus->gpu[i].index = i;
        gpus->gpu[i].busy_since_ns = now_ns();
    }
    become(gpus, state, count);
    for (unsigned i = 1; i < count; i++)
        (void)start_thread(gpus, watch, &gpus->gpu[i]);
    if (count > 0)
        return watch(&gpus->gpu[0]);
    leave(gpus);
    return NULL;
}

static bool init_locks(struct gpus *gpus)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&gpus->lock, NULL);
    int failed = pthread_cond_init(&gpus->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return !failed;
}

struct gpus *gpus_start(void)
{
    struct gpus *gpus = calloc(1, sizeof *gpus);

    if (!gpus || !init_locks(gpus)) {
        free(gpus);
        return NULL;
    }
    gpus->started_ns = now_ns();
    atomic_init(&gpus->holders, 1);
    if (start_thread(gpus, begin, gpus))
        return gpus;
    release(gpus);
    return NULL;
}

static void take_slot(struct slot *slot, enum ss_counter_id counter, uint64_t subject,
                      struct gpu_reading *out)
{
    *out = (struct gpu_reading){counter, slot->state, subject, slot->value, slot->time_ns};
    slot->is_new = false;
}

static size_t take_gpu(struct gpu *gpu, struct gpu_reading *out, size_t most)
{
    size_t taken = 0;

    for (size_t i = 0; i < GPU_QUESTIONS; i++)
        for (size_t k = 0; k < gpu_questions[i].answers && taken < most; k++)
            if (gpu->slots[i][k].is_new)
                take_slot(&gpu->slots[i][k], gpu_questions[i].counter[k], gpu->index,
                          &out[taken++]);
    for (size_t i = 0; i < GPU_USERS && taken < most; i++)
        if (gpu->users[i].slot.is_new)
            take_slot(&gpu->users[i].slot, SS_COUNTER_ID_GPU_PROCESS_MEMORY,
                      (uint64_t)gpu->index << 32 | gpu->users[i].pid, &out[taken++]);
    return taken;
}

size_t gpus_take(struct gpus *gpus, struct gpu_reading *out, size_t most)
{
    size_t taken = 0;

    if (pthread_mutex_trylock(&gpus->lock) != 0)
        return 0; /* a thread that holds it may not have a core: next time */
    const int64_t now = now_ns();
    if (!gpus->told && now - gpus->started_ns > OVERDUE_NS) {
        gpus->told = 1;
        put_all_absent(&gpus->gpu[0]);
    }
    for (struct gpu *gpu = gpus->gpu; gpu < gpus->gpu + gpus->told; gpu++) {
        const int64_t since = gpu->busy_since_ns;
        if (since && now - since > OVERDUE_NS && !gpu->is_overdue) {
            gpu->is_overdue = true;
            put_all_absent(gpu);
        }
        taken += take_gpu(gpu, out + taken, most - taken);
    }
    pthread_mutex_unlock(&gpus->lock);
    return taken;
}

int gpus_wait(struct gpus *gpus, int64_t most_ns, const char **why)
{
    const int64_t deadline_ns = now_ns() + most_ns;

    pthread_mutex_lock(&gpus->lock);
    while (gpus->state == STARTING && wait_until(gpus, deadline_ns))
        ;
    const enum state state = gpus->state;
    const int count = (int)gpus->count;
    pthread_mutex_unlock(&gpus->lock);
    *why = state == STARTING ? "NVML does not answer" : gpus->why.message;
    return state == READY ? count : state == NO_LIBRARY ? GPUS_NO_LIBRARY : GPUS_NO_START;
}

void gpus_name(struct gpus *gpus, unsigned gpu, char out[GPUS_NAME_SIZE])
{
    pthread_mutex_lock(&gpus->lock);
    if (gpu < gpus->count)
        memcpy(out, gpus->gpu[gpu].name, GPUS_NAME_SIZE);
    else
        out[0] = '\0';
    pthread_mutex_unlock(&gpus->lock);
}

void gpus_stop(struct gpus *gpus)
{
    if (!gpus)
        return;
    const int64_t deadline_ns = now_ns() + STOP_NS;
    pthread_mutex_lock(&gpus->lock);
    gpus->stopping = true;
    pthread_cond_broadcast(&gpus->changed);
    while (!gpus->all_left && wait_until(gpus, deadline_ns))
        ;
    left_behind |= !gpus->all_left;
    pthread_mutex_unlock(&gpus->lock);
    release(gpus);
}

bool gpus_left_behind(void)
{
    return left_behind;
}
