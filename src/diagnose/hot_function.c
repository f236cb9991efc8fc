#include "diagnose/hot_function.h"

#include <inttypes.h>
#include <string.h>

#include "base/code_place.h"
#include "summary/snapshot.h"

/* A line with this part of its function's time stands for it (ours). */
static const double line_stands = 0.8;
enum { LINES_NAMED = 3 };

static bool is_same(const struct snap_hot_place *a, const struct snap_hot_place *b)
{
    return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

static bool is_part(const struct snap_hot_line *line, const struct snap_hot_line *of)
{
    return line->place == of->place && line->at.line > 0 && is_same(&line->at, &of->at);
}

static bool is_of_passes(uint32_t place)
{
    return place == SS_STAGE_DATA || place == SS_STAGE_FORWARD || place == SS_STAGE_BACKWARD ||
           place == SS_STAGE_OPTIMIZER;
}

/* The body of a module counts as well: it does whatever no function does. */
static bool holds_loop(const struct snap_hot *hot, uint32_t place, const struct snap_hot_place *at)
{
    if (strcmp(at->function, "<module>") == 0)
        return true;
    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place != place && is_of_passes(line->place) && line->share.low >= line_share &&
            is_same(&line->at, at))
            return true;
    }
    return false;
}

static struct hot_function add_up(const struct diagnosis_input *input,
                                  const struct snap_hot_line *of, hot_count *count)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    struct hot_function function = {.line = NULL};

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (!is_part(line, of))
            continue;
        const uint64_t samples = count(input, line);
        function.samples += samples;
        function.lines += samples > 0;
        if (samples > function.at_line) {
            function.at_line = samples;
            function.line = line;
        }
    }
    return function;
}

static struct hot_function find_most(const struct diagnosis_input *input, uint32_t place,
                                     hot_count *count, bool whole)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    struct hot_function most = {.line = NULL};

    for (size_t i = 0; i < hot->line_count; i++) {
        if (hot->lines[i].place != place || hot->lines[i].at.line == 0)
            continue;
        struct hot_function function = add_up(input, &hot->lines[i], count);
        function.holds_loop = function.line && holds_loop(hot, place, &function.line->at);
        if (function.samples > most.samples && (!whole || hot_function_is_whole(&function)))
            most = function;
    }
    return most;
}

struct hot_function hot_function_most(const struct diagnosis_input *input, uint32_t place,
                                      hot_count *count)
{
    return find_most(input, place, count, false);
}

struct hot_function hot_function_most_whole(const struct diagnosis_input *input, uint32_t place,
                                            hot_count *count)
{
    return find_most(input, place, count, true);
}

bool hot_function_is_whole(const struct hot_function *function)
{
    return function->line && !function->holds_loop &&
           (double)function->at_line < line_stands * (double)function->samples;
}

/* Those with most samples: lines of a place are sorted by that. */
static void say_lines(char out[FINDING_TEXT_SIZE], const struct diagnosis_input *input,
                      const struct hot_function *function, hot_count *count)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    int named = 0;

    for (size_t i = 0; i < hot->line_count && named < LINES_NAMED; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (!is_part(line, function->line) || count(input, line) == 0)
            continue;
        named++;
        cause_more(out, "%s%" PRIu32,
                   named == 1                ? code_line_mark(line->at.file, function->lines > 1)
                   : named < function->lines ? ", "
                                             : " and ",
                   line->at.line);
    }
    if (function->lines > named)
        cause_more(out, " and %d more", function->lines - named);
}

void hot_function_say(char out[FINDING_TEXT_SIZE], const struct diagnosis_input *input,
                      const struct hot_function *function, hot_count *count)
{
    const struct snap_hot_place *at = &function->line->at;

    if (!hot_function_is_whole(function)) {
        cause_more(out, "%s%s%" PRIu32 " (%s)", at->file, code_line_mark(at->file, false), at->line,
                   at->function);
        return;
    }
    cause_more(out, "%s() at %s", at->function, at->file);
    say_lines(out, input, function, count);
}

uint64_t hot_count_all(const struct diagnosis_input *input, const struct snap_hot_line *line)
{
    (void)input;
    return line->count;
}
