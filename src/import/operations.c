#include "import/operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/redact.h"
#include "base/saturate.h"
#include "import/kineto_event.h"
#include "read/array.h"

enum { EVENTS_MOST = 1 << 20, DEPTH_MOST = 256, ROWS_MOST = 1000 };

void operations_release(struct operations *operations)
{
    free(operations->items);
    *operations = (struct operations){0};
}

void operations_add(struct operations *operations, const struct operation_event *event)
{
    if (operations->failed || event->end_ns < event->start_ns)
        return;
    if (operations->count == EVENTS_MOST) {
        operations->is_cut = true;
        return;
    }
    struct operation_event *items =
        array_grow(operations->items, &operations->capacity, sizeof *items, operations->count + 1);
    if (!items) {
        operations->failed = true;
        return;
    }
    operations->items = items;
    items[operations->count++] = *event;
}

/* By thread, then the outer before what is in it. */
static int compare(const void *a, const void *b)
{
    const struct operation_event *first = a, *second = b;

    if (first->thread != second->thread)
        return first->thread < second->thread ? -1 : 1;
    if (first->start_ns != second->start_ns)
        return first->start_ns < second->start_ns ? -1 : 1;
    return first->end_ns == second->end_ns ? 0 : first->end_ns > second->end_ns ? -1 : 1;
}

/* A thread, as far as it has been walked. */
struct walk {
    struct operations *operations;
    size_t open[DEPTH_MOST];  /* operations that are open, outermost first */
    uint8_t hint[DEPTH_MOST]; /* in force in each */
    unsigned depth;
    size_t first_pending; /* from here on some wait for the next hint */
    uint8_t last;         /* the last hint that decides for others */
    int64_t covered_ns;
};

static enum operation_pass pass_of(uint8_t hint)
{
    static const uint8_t passes[] = {
        [HINT_NONE] = PASS_OTHER,        [HINT_FORWARD] = PASS_FORWARD,
        [HINT_BACKWARD] = PASS_BACKWARD, [HINT_OPTIMIZER] = PASS_OPTIMIZER,
        [HINT_DATA] = PASS_DATA,         [HINT_OTHER] = PASS_OTHER,
    };

    return (enum operation_pass)passes[hint];
}

/* What waited is decided by what comes next. */
static void decide(struct walk *walk, size_t end, enum operation_pass pass)
{
    struct operation_event *items = walk->operations->items;

    for (size_t i = walk->first_pending; i < end; i++)
        if (items[i].pass == PASS_COUNT)
            items[i].pass = (uint8_t)pass;
    walk->first_pending = end;
}

static void decide_by(struct walk *walk, size_t at, uint8_t hint)
{
    if (hint == HINT_BACKWARD)
        decide(walk, at, PASS_FORWARD);
    else if (hint == HINT_OPTIMIZER)
        decide(walk, at, walk->last == HINT_BACKWARD ? PASS_OPTIMIZER : PASS_FORWARD);
    else
        return;
    walk->last = hint;
}

static void visit(struct walk *walk, size_t at)
{
    struct operation_event *items = walk->operations->items, *event = &items[at];

    while (walk->depth > 0 && items[walk->open[walk->depth - 1]].end_ns <= event->start_ns)
        walk->depth--;
    struct operation_event *around = walk->depth > 0 ? &items[walk->open[walk->depth - 1]] : NULL;
    if (around && event->end_ns > around->end_ns) /* spans nest; clocks are read twice */
        event->end_ns = around->end_ns;
    event->self_ns = event->end_ns - event->start_ns;
    if (around)
        around->self_ns -= event->self_ns;
    const uint8_t outer = walk->depth > 0 ? walk->hint[walk->depth - 1] : HINT_NONE;
    if (event->hint)
        decide_by(walk, at, event->hint);
    const uint8_t hint = event->hint ? event->hint : outer;
    event->pass = hint ? (uint8_t)pass_of(hint) : PASS_COUNT;
    if (walk->depth < DEPTH_MOST) {
        walk->open[walk->depth] = at;
        walk->hint[walk->depth++] = hint;
    }
}

static size_t settle_thread(struct operations *operations, size_t first)
{
    struct walk walk = {.operations = operations, .first_pending = first};
    const uint16_t thread = operations->items[first].thread;
    size_t end = first;

    for (; end < operations->count && operations->items[end].thread == thread; end++)
        visit(&walk, end);
    decide(&walk, end, walk.last == HINT_BACKWARD ? PASS_OPTIMIZER : PASS_FORWARD);
    for (size_t i = first; i < end; i++)
        walk.covered_ns += operations->items[i].is_note ? 0 : operations->items[i].self_ns;
    if (walk.covered_ns > operations->covered_ns)
        operations->covered_ns = walk.covered_ns;
    return end;
}

void operations_settle(struct operations *operations)
{
    if (operations->count > 0)
        qsort(operations->items, operations->count, sizeof *operations->items, compare);
    for (size_t first = 0; first < operations->count;)
        first = settle_thread(operations, first);
}

struct sum {
    int64_t calls, self_ns;
};

static int compare_rows(const void *a, const void *b)
{
    const struct device_row *first = a, *second = b;
    const int64_t x = first->number[OPERATION_SELF_NS], y = second->number[OPERATION_SELF_NS];

    return x == y ? strcmp(first->text, second->text) : x > y ? -1 : 1;
}

/* Only the largest rows of a window stay. */
static void keep_largest(struct device_rows *rows, size_t first)
{
    qsort(rows->items + first, rows->count - first, sizeof *rows->items, compare_rows);
    while (rows->count > first + ROWS_MOST)
        free(rows->items[--rows->count].text);
}

/* A script names scopes as it likes, with what it has. */
static struct device_row *add_row(struct device_table *table, const char *name)
{
    char safe[PULL_TEXT_BYTES + 1];

    return device_table_add(table, TABLE_OPERATION,
                            redact_text(name, safe, sizeof safe) ? safe : name);
}

bool operations_tell(const struct operations *operations, const struct name_set *names,
                     int64_t window, struct device_table *table)
{
    struct sum *sums = calloc(names->count * PASS_COUNT + 1, sizeof *sums);
    const size_t first = table->rows[TABLE_OPERATION].count;

    if (!sums)
        return false;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation_event *event = &operations->items[i];
        struct sum *sum = &sums[(size_t)event->name * PASS_COUNT + event->pass];
        sum->calls++;
        saturate_add(&sum->self_ns, event->self_ns);
    }
    for (size_t i = 0; i < names->count * PASS_COUNT; i++) {
        struct device_row *row = NULL;
        if (sums[i].calls > 0)
            row = add_row(table, name_set_text(names, (uint32_t)(i / PASS_COUNT)));
        if (!row)
            continue;
        row->number[OPERATION_WINDOW] = window;
        row->number[OPERATION_PASS] = (int64_t)(i % PASS_COUNT);
        row->number[OPERATION_CALLS] = sums[i].calls;
        row->number[OPERATION_SELF_NS] = sums[i].self_ns > 0 ? sums[i].self_ns : 0;
        row->number[OPERATION_FLOPS] = row->number[OPERATION_BYTES] = -1;
    }
    free(sums);
    if (!table->failed)
        keep_largest(&table->rows[TABLE_OPERATION], first);
    return !table->failed;
}

static enum operation_hint hint_of(enum ss_stage stage, bool is_backward)
{
    if (is_backward)
        return HINT_BACKWARD;
    return stage == SS_STAGE_OPTIMIZER  ? HINT_OPTIMIZER
           : stage == SS_STAGE_BACKWARD ? HINT_BACKWARD
           : stage == SS_STAGE_DATA     ? HINT_DATA
           : stage == SS_STAGE_COMM     ? HINT_OTHER
                                        : HINT_NONE;
}

void operations_watch_kineto(void *operations, struct trace *trace,
                             const struct kineto_event *event)
{
    enum ss_stage stage;
    bool is_backward;

    if (event->ph != 'X' || !event->has_time || !event->has_duration || event->duration_ns < 0 ||
        event->duration_ns > INT64_MAX / 4 || event->start_ns > INT64_MAX / 4)
        return;
    if (event->category != KINETO_OPERATION && event->category != KINETO_ANNOTATION)
        return;
    kineto_event_meaning(event->name, &stage, &is_backward);
    const struct operation_event item = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .name = trace_name(trace, event->name, strlen(event->name)),
        .thread = trace_thread(trace, event->pid, event->tid),
        .hint = (uint8_t)hint_of(stage, is_backward),
        .is_note = event->category == KINETO_ANNOTATION,
    };
    operations_add(operations, &item);
}
