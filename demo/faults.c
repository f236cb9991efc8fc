#include "faults.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static const char *const names[FAULT_COUNT] = {
#define FAULT_NAME(id, name, form, size) name,
    DEMO_FAULTS(FAULT_NAME)};

/* A child that ends with its parent, however that ends. */
static void burn_for_ever(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        ;
    _exit(0);
}

void faults_start(struct faults *faults, const struct demo_settings *settings)
{
    const struct demo_fault *hog = &settings->faults[FAULT_CPU_HOG];
    pid_t self = getpid();

    *faults = (struct faults){.wanted = settings->faults};
    for (int64_t i = 0; hog->on && i < hog->count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            burn_for_ever(self);
        if (pid > 0)
            faults->hogs[faults->done[FAULT_CPU_HOG].times++] = pid;
    }
}

void faults_stop(struct faults *faults)
{
    for (int64_t i = 0; i < faults->done[FAULT_CPU_HOG].times; i++) {
        kill(faults->hogs[i], SIGKILL);
        waitpid(faults->hogs[i], NULL, 0);
    }
}

/* Waits as for a disk or a network: the CPU is free. */
static void rest(int64_t ns)
{
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0)
        ;
}

/* Takes the time by working. */
static void work(int64_t ns)
{
    int64_t end_ns = clock_ns() + ns;
    while (clock_ns() < end_ns)
        ;
}

/* The bytes are touched, or they would cost nothing, and never seen again. */
static void keep(int64_t bytes)
{
    static void *kept; /* a chain, so that no tool takes it for lost */
    void **more = malloc((size_t)bytes);
    if (!more)
        return;
    memset(more, 1, (size_t)bytes);
    *more = kept;
    kept = more;
}

static void spend(enum demo_fault_id id, const struct demo_fault *fault, int64_t step)
{
    switch (id) {
    case FAULT_SLOW_INPUT:
    case FAULT_CHECKPOINT_STALL:
    case FAULT_PERIODIC_PAUSE:
        rest(fault->ns);
        break;
    case FAULT_GROWING_STEP:
        work(fault->ns * step);
        break;
    case FAULT_LEAK:
        keep(fault->bytes);
        break;
    default:
        work(fault->ns);
    }
}

static bool is_due(enum demo_fault_id id, const struct demo_fault *fault, int64_t step)
{
    switch (id) {
    case FAULT_SLOW_CALLBACK_EVERY:
    case FAULT_PERIODIC_PAUSE:
        return (step + 1) % fault->count == 0;
    case FAULT_LONG_WARM_UP:
        return step < fault->count;
    default:
        return true;
    }
}

void faults_hit(struct faults *faults, enum demo_fault_id id, int64_t step, const char *name)
{
    const struct demo_fault *fault = &faults->wanted[id];
    if (!fault->on || (name && strcmp(name, fault->target) != 0) || !is_due(id, fault, step))
        return;
    int64_t begin_ns = clock_ns();
    spend(id, fault, step);
    faults->done[id].spent_ns += clock_ns() - begin_ns;
    faults->done[id].times++;
}

void faults_write(const struct faults *faults, FILE *file)
{
    const char *separator = "";

    fputc('[', file);
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct demo_fault *fault = &faults->wanted[i];
        if (!fault->on)
            continue;
        fprintf(file, "%s\n    {\"name\": \"%s\", \"target\": \"%s\", ", separator, names[i],
                fault->target);
        fprintf(file,
                "\"count\": %" PRId64 ", \"ns\": %" PRId64 ", \"bytes\": %" PRId64
                ", \"times\": %" PRId64 ", \"spent_ns\": %" PRId64 "}",
                fault->count, fault->ns, fault->bytes, faults->done[i].times,
                faults->done[i].spent_ns);
        separator = ",";
    }
    fputc(']', file);
}
