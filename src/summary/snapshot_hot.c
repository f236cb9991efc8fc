#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "summary/snapshot_parts.h"

static const struct hot_frame nowhere = {.function = (char[]){""}, .file = (char[]){""}};

struct found { /* a row of a thread, with its texts */
    uint32_t place;
    uint64_t count;
    bool is_batch; /* the loop was getting one, though no span says so */
    const struct hot_frame *script, *leaf;
};

struct interval snapshot_share(uint64_t count, uint64_t all)
{
    const double z = 1.959964, n = (double)all;
    if (all == 0)
        return (struct interval){NAN, NAN, NAN};
    const double p = (double)count / n, z2 = z * z / n;
    const double centre = (p + z2 / 2) / (1 + z2);
    const double half = z / (1 + z2) * sqrt(p * (1 - p) / n + z2 / (4 * n));
    return (struct interval){fmax(0, centre - half), p, fmin(1, centre + half)};
}

static const struct hot_frame *frame_at(const struct hot *hot, uint32_t number)
{
    return number ? &hot->frames[number - 1] : &nowhere;
}

static int compare_frames(const struct hot_frame *a, const struct hot_frame *b)
{
    int order = strcmp(a->file, b->file);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    return order ? order : strcmp(a->function, b->function);
}

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = (x->place > y->place) - (x->place < y->place);
    order = order ? order : compare_frames(x->script, y->script);
    return order ? order : compare_frames(x->leaf, y->leaf);
}

static int compare_lines(const void *a, const void *b)
{
    const struct snap_hot_line *x = a, *y = b;
    if (x->place_samples != y->place_samples)
        return x->place_samples < y->place_samples ? 1 : -1;
    int order = (x->place > y->place) - (x->place < y->place);
    order = order ? order : (x->count < y->count) - (x->count > y->count);
    order = order ? order : strcmp(x->at.file, y->at.file);
    return order ? order : (x->at.line > y->at.line) - (x->at.line < y->at.line);
}

static size_t rows_in(const struct hot *hot)
{
    size_t count = 0;
    for (const struct hot_thread *thread = hot->threads; thread; thread = thread->next)
        count += thread->row_count;
    return count;
}

bool snapshot_copy_place(const struct hot_frame *frame, struct snap_hot_place *out)
{
    out->line = frame->line;
    out->file = strdup(frame->file);
    out->function = strdup(frame->function);
    return out->file && out->function;
}

/* Rows that are next to each other, of one place and one line of the script. */
static bool add_line(const struct found *row, size_t count, struct snap_hot *out)
{
    struct snap_hot_line *line = &out->lines[out->line_count++];
    const struct hot_frame *leaf = row->leaf;
    uint64_t of_leaf = 0;
    line->place = row->place;
    for (size_t i = 0; i < count; i++) {
        const bool again = i > 0 && compare_frames(row[i].leaf, row[i - 1].leaf) == 0;
        of_leaf = row[i].count + (again ? of_leaf : 0);
        line->count += row[i].count;
        line->batch_count += row[i].is_batch ? row[i].count : 0;
        if (of_leaf > line->leaf_count) {
            line->leaf_count = of_leaf;
            leaf = row[i].leaf;
        }
    }
    out->place_samples[line->place] += line->count;
    return snapshot_copy_place(row->script, &line->at) && snapshot_copy_place(leaf, &line->leaf);
}

static bool add_lines(struct found *rows, size_t count, struct snap_hot *out)
{
    qsort(rows, count, sizeof *rows, compare_found);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && rows[next].place == rows[i].place &&
                           compare_frames(rows[next].script, rows[i].script) == 0;
             next++) {
        }
        if (!add_line(rows + i, next - i, out))
            return false;
    }
    for (size_t i = 0; i < out->line_count; i++) {
        struct snap_hot_line *line = &out->lines[i];
        line->place_samples = out->place_samples[line->place];
        line->share = snapshot_share(line->count, line->place_samples);
    }
    qsort(out->lines, out->line_count, sizeof *out->lines, compare_lines);
    return true;
}

/* What the caller says of threads. */
struct question {
    bool (*is_loop)(const void *context, const struct hot_thread *thread);
    const void *context;
};

static bool judge_batches(struct batches *batches, const struct hot *hot,
                          const struct question *question)
{
    for (const struct hot_thread *thread = hot->threads; thread; thread = thread->next) {
        const bool is_loop = question->is_loop(question->context, thread);
        for (size_t i = 0; is_loop && i < thread->row_slots; i++)
            if (thread->rows[i].count && thread->rows[i].place < HOT_PLACES)
                batches_add(batches, &thread->rows[i]);
    }
    return batches_judge(batches);
}

static struct found find_row(const struct batches *batches, const struct hot_row *row, bool is_loop)
{
    const bool is_making = !is_loop && row->stack.makes_batches;
    return (struct found){
        .place = is_loop     ? row->place
                 : is_making ? SNAP_HOT_MAKING
                             : SNAP_HOT_BESIDE,
        .count = row->count,
        .is_batch = is_loop && row->place == SS_STAGE_OTHER && batches_has(batches, &row->stack),
        .script = frame_at(batches->hot, is_making ? row->stack.made_by : row->stack.script),
        .leaf = frame_at(batches->hot, row->stack.leaf),
    };
}

static size_t find_rows(const struct batches *batches, const struct question *question,
                        struct found *rows)
{
    size_t count = 0;
    for (const struct hot_thread *thread = batches->hot->threads; thread; thread = thread->next) {
        const bool is_loop = question->is_loop(question->context, thread);
        for (size_t i = 0; i < thread->row_slots; i++)
            if (thread->rows[i].count && thread->rows[i].place < HOT_PLACES)
                rows[count++] = find_row(batches, &thread->rows[i], is_loop);
    }
    return count;
}

bool snapshot_fill_hot(const struct hot *hot,
                       bool (*is_loop)(const void *context, const struct hot_thread *),
                       const void *context, struct snap_hot *out)
{
    const struct question question = {is_loop, context};
    const size_t most = rows_in(hot);
    struct batches batches;
    struct found *rows = calloc(most + 1, sizeof *rows);
    out->samples = hot->samples;
    out->unplaced = hot->unplaced;
    out->lines = calloc(most + 1, sizeof *out->lines);
    const bool done = batches_init(&batches, hot) && rows && out->lines &&
                      judge_batches(&batches, hot, &question) &&
                      add_lines(rows, find_rows(&batches, &question, rows), out) &&
                      snapshot_fill_cutters(hot, is_loop, context, out);
    batches_release(&batches);
    free(rows);
    return done;
}

static void release_place(struct snap_hot_place *place)
{
    free((char *)(uintptr_t)place->file);
    free((char *)(uintptr_t)place->function);
}

void snapshot_release_hot(struct snap_hot *hot)
{
    for (size_t i = 0; i < hot->line_count; i++) {
        release_place(&hot->lines[i].at);
        release_place(&hot->lines[i].leaf);
    }
    for (int cut = 0; cut < CUT_COUNT; cut++)
        release_place(&hot->cutter[cut].at);
    free(hot->lines);
}
