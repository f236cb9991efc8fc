#include "html/step_course.h"

#include <stdlib.h>
#include <string.h>

static void free_course(struct step_courses *courses, struct step_course *course)
{
    courses->buckets -= course->capacity;
    free(course->bucket);
    free(course);
}

void step_courses_release(struct step_courses *courses)
{
    for (size_t i = 0; i < courses->count; i++)
        free_course(courses, courses->course[i]);
    free(courses->course);
    *courses = (struct step_courses){0};
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_threads(const struct step_course *a, const struct step_course *b)
{
    const int process = compare(a->process, b->process);
    const int lane = compare(a->lane, b->lane);

    return process ? process : lane ? lane : compare(a->tid, b->tid);
}

static int compare_courses(const struct step_course *a, const struct step_course *b)
{
    const int thread = compare_threads(a, b);

    return thread ? thread
                  : (a->loop_begin_ns > b->loop_begin_ns) - (a->loop_begin_ns < b->loop_begin_ns);
}

/* Where it is, or belongs. */
static size_t place_of(const struct step_courses *courses, const struct step_course *key)
{
    size_t low = 0, high = courses->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_courses(courses->course[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct step_courses *courses, size_t place, const struct step_course *key)
{
    return place < courses->count && compare_courses(courses->course[place], key) == 0;
}

/* The loops of a thread end before its next one begins: only those can give way. */
static void forget_shortest(struct step_courses *courses, const struct step_course *newer)
{
    size_t end = place_of(courses, newer), shortest = end, begin = end;

    while (begin > 0 && compare_threads(courses->course[begin - 1], newer) == 0) {
        begin--;
        if (shortest == end ||
            courses->course[begin]->time_ns <= courses->course[shortest]->time_ns)
            shortest = begin;
    }
    if (end - begin < COURSES_OF_THREAD)
        return;
    free_course(courses, courses->course[shortest]);
    courses->count--;
    memmove(&courses->course[shortest], &courses->course[shortest + 1],
            (courses->count - shortest) * sizeof courses->course[0]);
}

static bool make_place(struct step_courses *courses)
{
    if (courses->count < courses->capacity)
        return true;
    const size_t capacity = courses->capacity ? 2 * courses->capacity : 16;
    struct step_course **grown = realloc(courses->course, capacity * sizeof courses->course[0]);
    if (!grown)
        return false;
    courses->course = grown;
    courses->capacity = capacity;
    return true;
}

/* A course for a loop that has none yet. NULL: no memory. */
static struct step_course *begin_course(struct step_courses *courses, const struct step_course *key)
{
    struct step_course *course = malloc(sizeof *course);

    forget_shortest(courses, key);
    if (!course || !make_place(courses)) {
        free(course);
        return NULL;
    }
    *course = *key;
    const size_t place = place_of(courses, key);
    memmove(&courses->course[place + 1], &courses->course[place],
            (courses->count - place) * sizeof courses->course[0]);
    courses->course[place] = course;
    courses->count++;
    courses->last = place;
    return course;
}

static struct step_course *course_of(struct step_courses *courses, const struct model_step *step)
{
    const struct step_course key = {.process = step->process,
                                    .lane = step->lane,
                                    .tid = step->tid,
                                    .loop_begin_ns = step->loop_begin_ns,
                                    .source = step->source,
                                    .size = 1};

    if (!is_at(courses, courses->last, &key))
        courses->last = place_of(courses, &key);
    return is_at(courses, courses->last, &key) ? courses->course[courses->last]
                                               : begin_course(courses, &key);
}

static void join(struct step_bucket *to, const struct step_bucket *from)
{
    to->steps += from->steps;
    to->end_ns = from->end_ns > to->end_ns ? from->end_ns : to->end_ns;
    to->time_ns += from->time_ns;
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        to->stage_ns[i] += from->stage_ns[i];
    to->min_ns = from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
    if (from->max_ns > to->max_ns) {
        to->max_ns = from->max_ns;
        to->max_step = from->max_step;
    }
}

/* Joins each `group` neighbours; returns how many there are then. In place, if out is from. */
static size_t join_groups(struct step_bucket *out, const struct step_bucket *from, size_t count,
                          size_t group)
{
    for (size_t i = 0; i < count; i++)
        if (i % group == 0)
            out[i / group] = from[i];
        else
            join(&out[i / group], &from[i]);
    return (count + group - 1) / group;
}

static void halve(struct step_course *course)
{
    course->filled += course->count % 2 == 0 ? course->size : 0; /* else the last is alone */
    course->count = join_groups(course->bucket, course->bucket, course->count, 2);
    course->size *= 2;
}

static bool set_capacity(struct step_courses *courses, struct step_course *course, size_t capacity)
{
    struct step_bucket *bucket = realloc(course->bucket, capacity * sizeof *course->bucket);

    if (!bucket)
        return false;
    courses->buckets += capacity - course->capacity;
    course->bucket = bucket;
    course->capacity = capacity;
    return true;
}

static size_t most_buckets(const struct step_courses *courses)
{
    return (size_t)COURSE_BUCKETS >> courses->halvings;
}

/* There are many loops: each has to do with half as many buckets. */
static void halve_all(struct step_courses *courses)
{
    courses->halvings++;
    const size_t most = most_buckets(courses);
    for (size_t i = 0; i < courses->count; i++) {
        struct step_course *course = courses->course[i];
        while (course->count > most)
            halve(course);
        if (course->capacity > most)
            courses->failed |= !set_capacity(courses, course, most);
    }
}

static bool make_room(struct step_courses *courses, struct step_course *course)
{
    while (courses->buckets > COURSES_BUCKETS && most_buckets(courses) > COURSE_BUCKETS_LEAST)
        halve_all(courses);
    if (course->count < course->capacity)
        return true;
    const size_t most = most_buckets(courses);
    if (course->capacity == most) {
        halve(course);
        return true;
    }
    const size_t capacity = course->capacity ? 2 * course->capacity : 8;
    return set_capacity(courses, course, capacity < most ? capacity : most);
}

void step_courses_add(void *context, const struct model_step *step)
{
    struct step_courses *courses = context;
    struct step_course *course = course_of(courses, step);

    if (!course || step->steps <= 0) {
        courses->failed |= !course;
        return;
    }
    if (course->source != step->source) { /* what was before were no steps */
        course->source = step->source;
        course->count = 0;
        course->size = 1;
        course->time_ns = 0;
    }
    struct step_bucket one = {.first_step = step->number,
                              .steps = step->steps,
                              .start_ns = step->start_ns,
                              .end_ns = step->start_ns + step->time_ns,
                              .time_ns = step->time_ns,
                              .min_ns = step->time_ns / step->steps,
                              .max_step = step->number};
    one.max_ns = one.min_ns;
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        one.stage_ns[i] = step->stage_ns[i];
    course->time_ns += step->time_ns;
    if (course->count > 0 && course->filled < course->size) {
        join(&course->bucket[course->count - 1], &one);
        course->filled++;
    } else if (make_room(courses, course)) {
        course->bucket[course->count++] = one;
        course->filled = 1;
    } else {
        courses->failed = true;
    }
}

const struct step_course *step_courses_find(const struct step_courses *courses,
                                            const struct snap_loop *loop)
{
    if (!loop)
        return NULL;
    const struct step_course key = {.process = loop->process,
                                    .lane = loop->lane,
                                    .tid = loop->tid,
                                    .loop_begin_ns = loop->begin_ns};
    const size_t place = place_of(courses, &key);
    return is_at(courses, place, &key) ? courses->course[place] : NULL;
}

int64_t step_course_steps(const struct step_course *course)
{
    int64_t steps = 0;

    for (size_t i = 0; i < course->count; i++)
        steps += course->bucket[i].steps;
    return steps;
}

size_t step_course_columns(const struct step_course *course, struct step_bucket *out, size_t most)
{
    const size_t group = course->count > most ? (course->count + most - 1) / most : 1;

    return join_groups(out, course->bucket, course->count, group);
}
