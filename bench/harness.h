/* Times contenders against each other on a machine that is never quiet.
 *
 * In each round of a race every contender runs one block of operations, in a new random order,
 * so that whatever disturbs the machine for longer than a block hits all of them alike. What
 * counts is the ratio of a contender and its floor within the same round; the median over the
 * rounds is given with a 95 % interval from order statistics, which asks nothing of the
 * distribution. A twin is a floor entered a second time: its ratio is 1 but for the noise, and
 * no figure is called good or bad that asks for less than the noise. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contender {
    const char *name;
    void (*run)(unsigned thread, size_t operations); /* NULL: not raced, `absent` says why */
    const char *absent;
    size_t floor;       /* index of the contender that it is compared with; its own: a floor */
    bool twin;          /* runs the same as its floor */
    const char *result; /* name of its RESULT line, NULL: shown in the table only */
    double target;      /* ratio to its floor that it must keep to */
};

struct race {
    const char *title;
    const struct contender *contenders;
    size_t count;
    unsigned threads;  /* all run the same contender at once, each on a CPU of its own */
    size_t operations; /* of a block */
    size_t warm_up;    /* operations before each block, not timed */
    size_t rounds;
    void (*between)(void); /* before each round, by one thread while the others wait; or NULL */
    double *ns;            /* owned; of an operation, by round and contender */
};

struct interval {
    double middle, low, high;
};

/* Fills race->ns; 0, or -1 if memory or threads are missing. Release it in both cases. */
int race_run(struct race *race);
/* Ratio of a contender to its floor. Prints nothing. */
struct interval race_ratio(const struct race *race, size_t contender);
void race_print_table(const struct race *race);
/* RESULT lines of all contenders that have one. `spoilt`, if not NULL, says why none of these
 * figures counts: all become misses. */
void race_print_results(const struct race *race, const char *spoilt);
void race_release(struct race *race);

/* Both sort the values. The interval of a quantile ends at the smallest or largest value where
 * there are too few values to bound it. */
struct interval interval_of_quantile(double *values, size_t count, double quantile);
struct interval interval_of_median(double *values, size_t count);

/* ok: all of the interval keeps to the target; miss: none of it, or spoilt; unresolved
 * otherwise, and when `noise` (same unit as the target's margin) is larger than `margin`. */
void result_print(const char *name, struct interval value, double target, double margin,
                  double noise, const char *spoilt);

uint64_t bench_now_ns(void);
unsigned bench_cpus(void); /* that the process may use */
/* Number from the environment, so that a run can be made shorter or longer. */
size_t bench_setting(const char *variable, size_t otherwise);

#endif
