#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WAKE_UP_NS = 50000 }; /* busy time after a pause, so that the CPU is at speed again */

struct field { /* what the threads of one race share */
    struct race *race;
    size_t *order; /* of the contenders, by round */
    pthread_barrier_t pause;
    atomic_size_t arrivals;
};

struct worker {
    struct field *field;
    unsigned index;
    size_t meetings;
    pthread_t thread;
    double *ns; /* by round and contender */
};

uint64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned bench_cpus(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : (unsigned)CPU_COUNT(&allowed);
}

size_t bench_setting(const char *variable, size_t otherwise)
{
    const char *text = getenv(variable);
    unsigned long long value = text ? strtoull(text, NULL, 10) : 0;
    return value ? (size_t)value : otherwise;
}

/* Puts the calling thread on the n-th CPU that the process may use, if there are that many. */
static void pin_to_cpu(unsigned n)
{
    cpu_set_t allowed, one;
    if (bench_cpus() <= n || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    size_t cpu = 0;
    for (unsigned skip = n; !CPU_ISSET(cpu, &allowed) || skip > 0; cpu++)
        skip -= CPU_ISSET(cpu, &allowed) ? 1 : 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* Threads leave together within some 100 ns: a wake-up by the kernel would take longer than a
 * whole block. */
static void meet(struct worker *worker)
{
    struct field *field = worker->field;
    worker->meetings++;
    atomic_fetch_add(&field->arrivals, 1);
    while (atomic_load(&field->arrivals) < worker->meetings * field->race->threads)
        ;
}

static void begin_round(struct worker *worker)
{
    struct field *field = worker->field;
    if (field->race->between) {
        pthread_barrier_wait(&field->pause);
        if (worker->index == 0)
            field->race->between();
        pthread_barrier_wait(&field->pause);
    }
    uint64_t start = bench_now_ns();
    while (bench_now_ns() - start < WAKE_UP_NS)
        ;
}

static double time_block(struct worker *worker, const struct contender *contender)
{
    const struct race *race = worker->field->race;
    if (race->warm_up)
        contender->run(worker->index, race->warm_up);
    meet(worker);
    uint64_t start = bench_now_ns();
    contender->run(worker->index, race->operations);
    return (double)(bench_now_ns() - start) / (double)race->operations;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct race *race = worker->field->race;
    pin_to_cpu(worker->index);
    for (size_t round = 0; round < race->rounds; round++) {
        begin_round(worker);
        for (size_t i = 0; i < race->count; i++) {
            size_t at = round * race->count;
            size_t drawn = worker->field->order[at + i];
            if (race->contenders[drawn].run)
                worker->ns[at + drawn] = time_block(worker, &race->contenders[drawn]);
        }
    }
    return NULL;
}

/* xorshift64*: the order of a race is the same every time, and has nothing to do with it. */
static size_t draw(uint64_t *state, size_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (size_t)((*state * 0x2545f4914f6cdd1du >> 33) % below);
}

static void draw_order(size_t *order, size_t rounds, size_t count)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t round = 0; round < rounds; round++, order += count)
        for (size_t i = 0; i < count; i++) {
            size_t j = draw(&state, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
}

static void average_threads(struct race *race, const struct worker *workers)
{
    for (size_t i = 0; i < race->rounds * race->count; i++) {
        double sum = 0;
        for (unsigned t = 0; t < race->threads; t++)
            sum += workers[t].ns[i];
        race->ns[i] = sum / race->threads;
    }
}

/* A thread that cannot be made would leave the others waiting at the barrier for ever. */
static void start_or_exit(struct worker *worker)
{
    if (pthread_create(&worker->thread, NULL, work, worker)) {
        fprintf(stderr, "bench: cannot start a thread\n");
        exit(1);
    }
}

int race_run(struct race *race)
{
    size_t cells = race->rounds * race->count;
    struct field field = {.race = race};
    struct worker *workers = calloc(race->threads, sizeof *workers);
    double *ns = calloc(cells * race->threads, sizeof *ns);
    field.order = calloc(cells, sizeof *field.order);
    race->ns = calloc(cells, sizeof *race->ns);
    int status = workers && ns && field.order && race->ns ? 0 : -1;
    if (status == 0) {
        draw_order(field.order, race->rounds, race->count);
        pthread_barrier_init(&field.pause, NULL, race->threads);
        for (unsigned t = 0; t < race->threads; t++) {
            workers[t] = (struct worker){.field = &field, .index = t, .ns = ns + t * cells};
            start_or_exit(&workers[t]);
        }
        for (unsigned t = 0; t < race->threads; t++)
            pthread_join(workers[t].thread, NULL);
        pthread_barrier_destroy(&field.pause);
        average_threads(race, workers);
    }
    free(field.order);
    free(ns);
    free(workers);
    return status;
}

void race_release(struct race *race)
{
    free(race->ns);
    race->ns = NULL;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t clamp_index(double index, size_t count)
{
    if (index < 0)
        return 0;
    return index >= (double)count ? count - 1 : (size_t)index;
}

struct interval interval_of_quantile(double *values, size_t count, double quantile)
{
    if (count == 0)
        return (struct interval){NAN, NAN, NAN};
    qsort(values, count, sizeof *values, compare_doubles);
    double n = (double)count, at = quantile * n;
    double spread = 1.96 * sqrt(n * quantile * (1 - quantile));
    return (struct interval){.middle = values[clamp_index(at, count)],
                             .low = values[clamp_index(floor(at - spread) - 1, count)],
                             .high = values[clamp_index(ceil(at + spread), count)]};
}

struct interval interval_of_median(double *values, size_t count)
{
    return interval_of_quantile(values, count, 0.5);
}

/* Column of one contender, or its ratios to another; freed by the caller. */
static double *column(const struct race *race, size_t of, size_t by)
{
    double *values = malloc(race->rounds * sizeof *values);
    if (!values) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    for (size_t round = 0; round < race->rounds; round++) {
        const double *row = race->ns + round * race->count;
        values[round] = of == by ? row[of] : row[of] / row[by];
    }
    return values;
}

struct interval race_ratio(const struct race *race, size_t contender)
{
    size_t by = race->contenders[contender].floor;
    if (by == contender)
        return (struct interval){1, 1, 1};
    double *ratios = column(race, contender, by);
    struct interval interval = interval_of_median(ratios, race->rounds);
    free(ratios);
    return interval;
}

static void print_row(const struct race *race, size_t index)
{
    const struct contender *contender = &race->contenders[index];
    if (!contender->run) {
        printf("  %-44s not run: %s\n", contender->name, contender->absent);
        return;
    }
    double *ns = column(race, index, index);
    struct interval median = interval_of_median(ns, race->rounds);
    printf("  %-44s %8.2f %8.2f %8.2f", contender->name, ns[race->rounds / 20], median.middle,
           ns[race->rounds - 1 - race->rounds / 20]);
    free(ns);
    if (contender->floor != index) {
        struct interval ratio = race_ratio(race, index);
        printf(" %8.3f [%.3f, %.3f]", ratio.middle, ratio.low, ratio.high);
        if (race->contenders[contender->floor].floor == contender->floor)
            printf(" of %zu", contender->floor + 1);
    }
    printf("\n");
}

void race_print_table(const struct race *race)
{
    printf("\n%s\n%zu rounds of %zu operations, %u thread%s; ns an operation\n", race->title,
           race->rounds, race->operations, race->threads, race->threads == 1 ? "" : "s");
    printf("  %-44s %8s %8s %8s %8s [95 %% interval]\n", "", "p5", "median", "p95", "ratio");
    for (size_t i = 0; i < race->count; i++) {
        printf("%2zu", i + 1);
        print_row(race, i);
    }
    fflush(stdout);
}

/* How far the ratio of the twin of this floor strays from 1. */
static double noise_of_floor(const struct race *race, size_t floor_index)
{
    for (size_t i = 0; i < race->count; i++)
        if (race->contenders[i].twin && race->contenders[i].floor == floor_index) {
            struct interval ratio = race_ratio(race, i);
            return fmax(fabs(ratio.low - 1), fabs(ratio.high - 1));
        }
    return 0;
}

void race_print_results(const struct race *race, const char *spoilt)
{
    for (size_t i = 0; i < race->count; i++) {
        const struct contender *contender = &race->contenders[i];
        if (contender->result && contender->run)
            result_print(contender->result, race_ratio(race, i), contender->target,
                         contender->target - 1, noise_of_floor(race, contender->floor), spoilt);
    }
}

void result_print(const char *name, struct interval value, double target, double margin,
                  double noise, const char *spoilt)
{
    const char *verdict = "unresolved";
    if (spoilt)
        verdict = "miss";
    else if (noise > margin)
        verdict = "unresolved";
    else if (value.high <= target)
        verdict = "ok";
    else if (value.low > target)
        verdict = "miss";
    printf("RESULT %s %.4g %.4g %.4g %.4g %s", name, value.middle, value.low, value.high, target,
           verdict);
    if (spoilt)
        printf(" (%s)", spoilt);
    printf("\n");
}
