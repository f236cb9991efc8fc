/* Every step of a run over time, in bounded memory: each loop has up to 2000 buckets of
 * neighbouring steps. When they are full, pairs become one. A bucket keeps sums, and the shortest
 * and the longest step, so that no spike disappears in a chart, however long the run is. Many loops
 * have fewer buckets each; of one thread the shortest give way, since the model forgets those
 * too. */
#ifndef HTML_STEP_COURSE_H
#define HTML_STEP_COURSE_H

#include "summary/snapshot.h"

enum {
    COURSE_BUCKETS = 2000,
    COURSE_BUCKETS_LEAST = 125,             /* with many loops */
    COURSES_BUCKETS = 128 * COURSE_BUCKETS, /* of all, as long as the least allows it */
    COURSES_OF_THREAD = 128                 /* loops: more than the model keeps */
};

struct step_bucket {
    int64_t first_step, steps;
    int64_t start_ns, end_ns;
    int64_t time_ns, stage_ns[SS_STAGE_COUNT]; /* sums */
    int64_t min_ns, max_ns, max_step;          /* of a step; the longest one's number */
};

static inline double step_bucket_mean(const struct step_bucket *bucket)
{
    return (double)bucket->time_ns / (double)bucket->steps;
}

struct step_course {
    uint32_t process, lane, tid;
    int64_t loop_begin_ns;
    enum step_source source;
    struct step_bucket *bucket;
    size_t count, capacity;
    int64_t size, filled; /* calls that a bucket holds, that the last one has so far */
    int64_t time_ns;      /* of all */
};

struct step_courses {             /* {0} is empty */
    struct step_course **course;  /* by process, lane, thread and begin */
    size_t count, capacity, last; /* `last`: where the newest step went */
    size_t buckets;               /* that there is room for, in all */
    unsigned halvings;            /* of COURSE_BUCKETS */
    bool failed;                  /* memory was short: something is missing */
};

void step_courses_release(struct step_courses *courses);

/* For model_observe(): `courses` is a struct step_courses. */
void step_courses_add(void *courses, const struct model_step *step);

/* That of a loop; NULL: there is none. */
const struct step_course *step_courses_find(const struct step_courses *courses,
                                            const struct snap_loop *loop);

/* The steps that it is about. */
int64_t step_course_steps(const struct step_course *course);

/* As at most `most` columns, which `out` has room for; returns how many. */
size_t step_course_columns(const struct step_course *course, struct step_bucket *out, size_t most);

#endif
