/* Stack samples of a place, added up by the function of the script they are in. */
#ifndef DIAGNOSE_HOT_FUNCTION_H
#define DIAGNOSE_HOT_FUNCTION_H

#include "diagnose/causes.h"

/* Which samples of a line count. */
typedef uint64_t hot_count(const struct diagnosis_input *input, const struct snap_hot_line *line);

struct hot_function {
    const struct snap_hot_line *line; /* the one that has most of it; NULL: there is none */
    uint64_t samples, at_line;        /* of all its lines, and of that one */
    int lines;
    bool holds_loop; /* it gets batches or makes passes: its lines have nothing in common */
};

/* The function with most samples of a place. */
struct hot_function hot_function_most(const struct diagnosis_input *input, uint32_t place,
                                      hot_count *count);

/* The same of those that are whole. */
struct hot_function hot_function_most_whole(const struct diagnosis_input *input, uint32_t place,
                                            hot_count *count);

/* No single line stands for it, but its lines together do. */
bool hot_function_is_whole(const struct hot_function *function);

/* Appends "decode() at train.py:12, 14 and 20", or "train.py:12 (decode)" if a line stands for
 * it. */
void hot_function_say(char out[FINDING_TEXT_SIZE], const struct diagnosis_input *input,
                      const struct hot_function *function, hot_count *count);

/* All samples of a line. */
hot_count hot_count_all;

#endif
