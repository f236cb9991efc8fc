/* What a step costs whatever its batch, and what each sample adds (rule book 4): from the times of several
 * sizes.
 *
 * Above a knee the time is fixed + each * size, below it a floor. From 5 sizes on the knee is looked for: for each
 * place of it the floor is the median below and the line is Theil and Sen's above; the one with the least relative error
 * wins, a knee counting 15 % against itself. It is a model only with 3 sizes above the knee, times that grow, and if each
 * size is predicted by the others within 5 %. From 2 to 4 sizes there is a line and no more: an indication. */
#ifndef STATS_BATCH_FIT_H
#define STATS_BATCH_FIT_H

#include <stdbool.h>
#include <stddef.h>

enum { BATCH_FIT_MOST = 32, BATCH_FIT_MODEL = 5 };

struct batch_point {
    double size, time_ns;
};

struct batch_fit {
    bool is_model;            /* else an indication */
    double fixed_ns, each_ns; /* above the knee */
    double floor_ns;          /* 0: there is no knee */
    double
        best_size; /* the smallest with 95 % of the most samples a second that were seen */
};

/* `points` by size, each size once. False: fewer than 2 or more than BATCH_FIT_MOST sizes, or times that
 * do not grow. */
bool batch_fit_find(const struct batch_point *points, size_t count,
                    struct batch_fit *out);

#endif
