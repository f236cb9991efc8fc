#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "summary/snapshot_parts.h"

enum { ROLE_TRAINS = 1, ROLE_BATCHES = 2 };
/* A stack may be taken at the edge of a span, and so be put to its stage: a few do not count. */
enum { PART_NEEDED = 10 };

/* Of one function; only a forged file has more, and each is compared with each. */
enum { FUNCTION_FRAMES_MOST = 4096 };

bool batches_init(struct batches *batches, const struct hot *hot)
{
    *batches = (struct batches){.hot = hot,
                                .computing = calloc(hot->frame_count + 1, sizeof(uint64_t)),
                                .roles = calloc(hot->frame_count + 1, sizeof(uint8_t))};
    return batches->computing && batches->roles;
}

void batches_release(struct batches *batches)
{
    free(batches->computing);
    free(batches->roles);
    *batches = (struct batches){0};
}

/* Frames are numbered from 1 on, as in rows; 0 is none. Where calls return before the work is done,
 * it is waited for elsewhere. */
void batches_add(struct batches *batches, const struct hot_row *row)
{
    if (!model_computes(row->place) && row->place != SS_STAGE_SYNC)
        return;
    batches->all += row->count;
    for (size_t i = 0; i < HOT_OUTER; i++)
        batches->computing[row->stack.outer[i]] += row->count;
}

static bool is_enough(const struct batches *batches, uint64_t count)
{
    return count > 0 && count * PART_NEEDED >= batches->all;
}

int snapshot_compare_functions(const void *a, const void *b)
{
    const struct hot_frame *x = *(const struct hot_frame *const *)a;
    const struct hot_frame *y = *(const struct hot_frame *const *)b;
    const int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->function, y->function);
}

static size_t number_of(const struct batches *batches, const struct hot_frame *frame)
{
    return (size_t)(frame - batches->hot->frames) + 1;
}

static bool is_in_body(const struct hot_frame *loop, const struct hot_frame *frame)
{
    return frame->line >= loop->line && frame->line - loop->line <= loop->body;
}

/* Samples of computing stages in these frames of one function; with a loop, those in its body. */
static uint64_t computing_in(const struct batches *batches, const struct hot_frame *const *frames,
                             size_t count, const struct hot_frame *loop)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (!loop || is_in_body(loop, frames[i]))
            sum += batches->computing[number_of(batches, frames[i])];
    return sum;
}

static void judge_function(struct batches *batches, const struct hot_frame *const *frames,
                           size_t count)
{
    if (count > FUNCTION_FRAMES_MOST ||
        !is_enough(batches, computing_in(batches, frames, count, NULL)))
        return;
    for (size_t i = 0; i < count; i++) {
        const bool gets = (frames[i]->traits & SS_FRAME_FOR) && frames[i]->line > 0 &&
                          is_enough(batches, computing_in(batches, frames, count, frames[i]));
        batches->roles[number_of(batches, frames[i])] =
            (uint8_t)(ROLE_TRAINS | (gets ? ROLE_BATCHES : 0));
    }
}

bool batches_judge(struct batches *batches)
{
    const struct hot *hot = batches->hot;
    const struct hot_frame **script = calloc(hot->frame_count + 1, sizeof(*script));
    size_t count = 0;
    if (!script)
        return false;
    for (size_t i = 0; i < hot->frame_count; i++)
        if (hot->frames[i].is_script)
            script[count++] = &hot->frames[i];
    qsort((void *)script, count, sizeof(*script), snapshot_compare_functions);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1;
             next < count && snapshot_compare_functions(&script[i], &script[next]) == 0; next++) {
        }
        judge_function(batches, script + i, next - i);
    }
    free((void *)script);
    return true;
}

bool batches_has(const struct batches *batches, const struct hot_stack *stack)
{
    for (size_t i = HOT_OUTER; i > 0; i--) {
        const uint32_t number = stack->outer[i - 1];
        if (batches->roles[number] & ROLE_TRAINS) {
            const bool is_for = batches->hot->frames[number - 1].traits & SS_FRAME_FOR;
            return is_for ? batches->roles[number] & ROLE_BATCHES
                          : stack->generators >> (i - 1) & 1;
        }
    }
    return false;
}
