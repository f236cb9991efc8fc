#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "layers.h"

enum {
    FIRST = 10,       /* updates before the first stretch */
    EARLY = 20,       /* stretches that may come quickly, for runs that are short */
    LEAST_EARLY = 5,  /* updates between those, */
    LEAST = 20,       /* and between others, */
    MANY = 300,       /* of which this many do, */
    RARELY = 10,      /* then so much less often */
    BUDGET = 1250,    /* a part of the time on a core */
    DISTURBS = 200,   /* a part of a step */
    WATCHED = 3,      /* steps before a stretch */
    LATEST = 15,      /* costs of which the median is what the next one will be */
    WAITED = 10,      /* a part of the passes: a wait that is longer spoils a stretch, */
    WAITED_NS = 50000 /* and is no less */
};

static const int64_t BEFORE_MOST_NS = 10000000000;

/* Of a thread. */
struct reading {
    int64_t wall_ns, cpu_ns, switches; /* `switches`: how often it gave up its core */
};

/* Of the one thread that is looked at. */
static struct {
    uint64_t every, random, updates, number;
    int64_t countdown;               /* updates to the next stretch */
    int64_t first_ns, first_wall_ns; /* update, on a core and by the clock */
    int64_t before_ns;               /* time of the run before that which counts */
    int64_t spent_ns, cost_ns[LATEST];
    unsigned costs;
    struct reading begun, step, last; /* sums of passes: of this step so far, of the one before */
    struct reading usual[WATCHED];
    unsigned watched;
    bool is_watching;
} pace = {.countdown = FIRST};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Time of this thread on a core: what is spent here is a part of that, however busy others are. */
static int64_t time_on_core(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static struct reading read_now(void)
{
    struct rusage usage;
    const bool is_told = getrusage(RUSAGE_THREAD, &usage) == 0; /* its times are those of a tick */
    return (struct reading){.wall_ns = clock_ns(CLOCK_MONOTONIC),
                            .cpu_ns = time_on_core(),
                            .switches = is_told ? usage.ru_nvcsw : 0};
}

static uint64_t next_random(void)
{
    pace.random ^= pace.random << 13;
    pace.random ^= pace.random >> 7;
    pace.random ^= pace.random << 17;
    return pace.random;
}

void layers_pace_start(uint64_t every)
{
    pace.every = every;
    if (!pace.random)
        pace.random = (uintptr_t)&every * 2654435761u ^ (uint64_t)clock_ns(CLOCK_MONOTONIC) ^ 1;
}

void layers_pace_restart(void)
{
    const uint64_t every = pace.every, random = pace.random;
    memset(&pace, 0, sizeof pace);
    pace.every = every;
    pace.random = random;
    pace.countdown = FIRST;
}

/* Passes. */

void layers_pass_begin(void)
{
    if (pace.every == 0)
        pace.begun = read_now();
}

void layers_pass_end(void)
{
    if (pace.every)
        return;
    const struct reading now = read_now();
    pace.step.wall_ns += now.wall_ns - pace.begun.wall_ns;
    pace.step.cpu_ns += now.cpu_ns - pace.begun.cpu_ns;
    pace.step.switches += now.switches - pace.begun.switches;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(const int64_t *values, unsigned count)
{
    int64_t sorted[LATEST];
    if (count == 0)
        return 0;
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted[count / 2];
}

static int64_t wait_of(const struct reading *step)
{
    return step->wall_ns - step->cpu_ns;
}

/* What the last step took more than those before it, on a core and waiting. The usual time of its
 * passes by the clock, 0: it cannot be compared. */
static int64_t compare(int64_t *longer_ns, int64_t *waited_ns)
{
    int64_t wall_ns[WATCHED], cpu_ns[WATCHED], wait_ns[WATCHED], switches = 0;
    for (unsigned i = 0; i < pace.watched; i++) {
        const struct reading *usual = &pace.usual[i];
        wall_ns[i] = usual->wall_ns;
        cpu_ns[i] = usual->cpu_ns;
        wait_ns[i] = wait_of(usual);
        switches = usual->switches > switches ? usual->switches : switches;
    }
    *longer_ns = *waited_ns = 0;
    if (pace.watched == 0 || pace.last.wall_ns == 0)
        return 0;
    *longer_ns = pace.last.cpu_ns - median_of(cpu_ns, pace.watched);
    if (pace.last.switches > switches)
        *waited_ns = wait_of(&pace.last) - median_of(wait_ns, pace.watched);
    *waited_ns = *waited_ns > 0 ? *waited_ns : 0;
    return median_of(wall_ns, pace.watched);
}

/* When. */

/* An update to the next one, from the first on, in time on a core. */
static int64_t usual_step_ns(void)
{
    const int64_t updates = (int64_t)(pace.updates ? pace.updates : 1);
    return (time_on_core() - pace.first_ns) / updates + 1;
}

int64_t layers_pace_step_ns(void)
{
    const int64_t updates = (int64_t)(pace.updates ? pace.updates : 1);
    return (clock_ns(CLOCK_MONOTONIC) - pace.first_wall_ns) / updates;
}

static int64_t next_cost_ns(void)
{
    return median_of(pace.cost_ns, pace.costs < LATEST ? pace.costs : LATEST);
}

/* So that what was spent and what the next one will cost is within the budget by then. */
static void plan_next(void)
{
    const int64_t passed = time_on_core() - pace.first_ns + pace.before_ns;
    const int64_t wanted = (pace.spent_ns + next_cost_ns()) * BUDGET;
    int64_t left = wanted > passed ? (wanted - passed) / usual_step_ns() : 0;
    const int64_t least = pace.number < EARLY ? LEAST_EARLY : LEAST;
    left = left < least ? least : left;
    left *= pace.number > MANY ? RARELY : 1;
    left = pace.every ? (int64_t)pace.every : left;
    pace.countdown = left + (int64_t)(next_random() % ((uint64_t)left / 2 + 1));
}

enum layers_due layers_pace_update(void)
{
    pace.last = pace.step;
    pace.step = (struct reading){0};
    if (!pace.first_ns) {
        pace.first_ns = time_on_core();
        pace.before_ns = pace.first_ns < BEFORE_MOST_NS ? pace.first_ns : BEFORE_MOST_NS;
        pace.first_wall_ns = clock_ns(CLOCK_MONOTONIC);
    }
    pace.updates++;
    pace.countdown--;
    if (pace.is_watching && pace.watched < WATCHED)
        pace.usual[pace.watched++] = pace.last;
    if (pace.countdown <= 0) {
        pace.is_watching = false;
        return LAYERS_DUE_SAMPLE;
    }
    if (pace.every || pace.countdown > WATCHED)
        return LAYERS_DUE_NOTHING;
    pace.watched = pace.is_watching ? pace.watched : 0;
    pace.is_watching = true;
    return LAYERS_DUE_WATCH;
}

void layers_pace_later(void)
{
    pace.countdown = LEAST;
    pace.is_watching = false;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool layers_pace_close(int64_t own_ns)
{
    enum { TIMES_MOST = 4 }; /* what is usual: more has another reason */
    enum { KNOWN = 4 };      /* our own calls are timed by the clock, with waits for a core */
    int64_t longer_ns, waited_ns;
    const int64_t usual_ns = compare(&longer_ns, &waited_ns);
    const int64_t least_ns = usual_ns ? own_ns / KNOWN : own_ns;
    const bool has_waited = waited_ns > WAITED_NS && waited_ns > usual_ns / WAITED;
    int64_t cost_ns = larger(least_ns, longer_ns) + waited_ns;
    if (!has_waited) {
        pace.cost_ns[pace.costs++ % LATEST] = cost_ns;
        const int64_t most_ns = TIMES_MOST * next_cost_ns();
        cost_ns = cost_ns < most_ns ? cost_ns : most_ns;
    }
    pace.spent_ns += cost_ns;
    pace.number++;
    plan_next();
    return has_waited;
}

void layers_pace_abandon(int64_t own_ns)
{
    pace.spent_ns += own_ns;
    layers_pace_later();
}

bool layers_pace_is_trial(void)
{
    return pace.every == 0 && pace.number == 0;
}

int64_t layers_pace_spent_ns(void)
{
    return pace.spent_ns;
}

bool layers_pace_disturbs(void)
{
    return pace.number == 0 || next_cost_ns() > usual_step_ns() / DISTURBS;
}
