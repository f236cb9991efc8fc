#include "import/device_books.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "import/intervals.h"
#include "import/trace_tables.h"

/* Parts of a step, in the order in which each takes its time out of what is left. */
enum part { PART_KERNEL, PART_COPY, PART_SET, PART_COMM, PART_RUNTIME, PART_DATA, PART_CPU, PARTS };

/* One device: when it did what, and what is left of each part after those before it. */
struct books {
    const struct trace *trace;
    uint16_t device;
    struct intervals part[PARTS];  /* overlapping each other */
    struct intervals left[PARTS];  /* what the parts before it leave */
    struct intervals busy;         /* any activity of the device */
    struct intervals compute;      /* kernels and memsets */
    struct intervals comm_exposed; /* nothing is computed at that time */
    struct intervals copy_exposed; /* neither computed nor communicated */
    struct intervals earlier;      /* doing what was launched before the trace began */
    struct intervals windows;      /* the steps; without any from the first event to the last */
    int64_t first_ns, last_ns;
    size_t events;
    bool failed;
};

static void release(struct books *books)
{
    for (int i = 0; i < PARTS; i++) {
        intervals_release(&books->part[i]);
        intervals_release(&books->left[i]);
    }
    intervals_release(&books->busy);
    intervals_release(&books->compute);
    intervals_release(&books->comm_exposed);
    intervals_release(&books->copy_exposed);
    intervals_release(&books->earlier);
    intervals_release(&books->windows);
}

static void add_device_parts(struct books *books)
{
    static const enum part parts[ACTIVITIES] = {[ACTIVITY_KERNEL] = PART_KERNEL,
                                                [ACTIVITY_COPY] = PART_COPY,
                                                [ACTIVITY_SET] = PART_SET,
                                                [ACTIVITY_COMM] = PART_COMM};

    books->first_ns = INT64_MAX;
    books->last_ns = INT64_MIN;
    for (size_t i = 0; i < books->trace->event_count; i++) {
        const struct device_event *event = &books->trace->events[i];
        if (event->device != books->device)
            continue;
        intervals_add(&books->part[parts[event->activity]], event->start_ns, event->end_ns);
        if (event->start_ns < books->first_ns)
            books->first_ns = event->start_ns;
        if (event->end_ns > books->last_ns)
            books->last_ns = event->end_ns;
        books->events++;
    }
    for (size_t i = 0; i < books->trace->unlaunched; i++) {
        const struct device_event *event = &books->trace->events[books->trace->event_count + i];
        if (event->device == books->device)
            intervals_add(&books->earlier, event->start_ns, event->end_ns);
    }
    intervals_settle(&books->earlier);
}

static void add_host_parts(struct books *books)
{
    const struct trace *trace = books->trace;

    for (size_t i = 0; i < trace->call_count; i++)
        intervals_add(&books->part[PART_RUNTIME], trace->calls[i].start_ns, trace->calls[i].end_ns);
    for (size_t t = 0; t < trace->thread_count; t++)
        for (size_t i = 0; i < trace->threads[t].top.count; i++) {
            const struct host_span *span = &trace->threads[t].top.items[i];
            intervals_add(&books->part[span->stage == SS_STAGE_DATA ? PART_DATA : PART_CPU],
                          span->start_ns, span->end_ns);
        }
}

static void find_what_is_left(struct books *books)
{
    struct intervals taken = {0};

    for (int i = 0; i < PARTS; i++) {
        struct intervals both = {0};
        intervals_settle(&books->part[i]);
        intervals_subtract(&books->left[i], &books->part[i], &taken);
        intervals_unite(&both, &taken, &books->part[i]);
        intervals_release(&taken);
        taken = both;
        books->failed |= books->part[i].failed || books->left[i].failed || both.failed;
    }
    intervals_release(&taken);
}

static void find_exposed(struct books *books)
{
    struct intervals working = {0};

    intervals_unite(&books->compute, &books->part[PART_KERNEL], &books->part[PART_SET]);
    intervals_subtract(&books->comm_exposed, &books->part[PART_COMM], &books->compute);
    intervals_unite(&working, &books->compute, &books->part[PART_COMM]);
    intervals_subtract(&books->copy_exposed, &books->part[PART_COPY], &working);
    intervals_unite(&books->busy, &working, &books->part[PART_COPY]);
    books->failed |= books->busy.failed || books->comm_exposed.failed || books->copy_exposed.failed;
    intervals_release(&working);
}

/* The step in which something was launched, or how many there are: they are in order. */
static size_t step_of(const struct trace_step *steps, size_t count, int64_t launch_ns)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (steps[middle].start_ns <= launch_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && launch_ns <= steps[low - 1].end_ns ? low - 1 : count;
}

/* When each step was over on the device: the last end of what was launched in it. One that is of
 * the device itself says so. */
static int64_t *find_ends(struct books *books, const struct trace_step *steps, size_t count)
{
    const struct trace *trace = books->trace;
    int64_t *end_ns = calloc(count + 1, sizeof *end_ns);

    books->failed |= !end_ns;
    for (size_t i = 0; end_ns && i < count; i++)
        end_ns[i] = steps[i].end_ns;
    if (!end_ns || count == 0 || steps[0].thread == TRACE_NO_THREAD)
        return end_ns;
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct device_event *event = &trace->events[i];
        const size_t step = event->device == books->device && event->launch_ns != TRACE_NO_TIME
                                ? step_of(steps, count, event->launch_ns)
                                : count;
        if (event->end_ns > end_ns[step])
            end_ns[step] = event->end_ns;
    }
    return end_ns;
}

static void add_step_row(struct books *books, struct device_table *table,
                         const struct trace_step *step, int64_t start_ns, int64_t end_ns)
{
    static const enum step_column columns[PARTS] = {
        [PART_KERNEL] = STEP_KERNEL_NS,   [PART_COPY] = STEP_COPY_NS,
        [PART_SET] = STEP_SET_NS,         [PART_COMM] = STEP_COMM_NS,
        [PART_RUNTIME] = STEP_RUNTIME_NS, [PART_DATA] = STEP_DATA_NS,
        [PART_CPU] = STEP_CPU_NS};
    const struct trace *trace = books->trace;
    struct device_row *row = device_table_add(table, TABLE_STEP, "");
    int64_t rest_ns = end_ns - start_ns;

    if (!row)
        return;
    row->number[STEP_RANK] = trace->rank;
    row->number[STEP_ID] = trace->devices[books->device].id;
    row->number[STEP_NUMBER] = step->number;
    row->number[STEP_START_NS] = start_ns - trace->first_ns;
    row->number[STEP_WALL_NS] = rest_ns;
    for (int i = 0; i < PARTS; i++) {
        const int64_t part_ns = intervals_within(&books->left[i], start_ns, end_ns);
        row->number[columns[i]] = part_ns;
        rest_ns -= part_ns;
    }
    row->number[STEP_OTHER_NS] = rest_ns;
}

/* A step begins when the one before has ended on the device, and lasts until all that it launched
 * is done. */
static void add_steps(struct books *books, struct device_table *table)
{
    const struct trace *trace = books->trace;
    int64_t before_ns = INT64_MIN;
    size_t count;
    const struct trace_step *steps = trace_steps_of(trace, books->device, &count);
    int64_t *end_of = find_ends(books, steps, count);

    for (size_t i = 0; end_of && i < count; i++) {
        const struct trace_step *step = &steps[i];
        const int64_t start_ns = step->start_ns > before_ns ? step->start_ns : before_ns;
        const int64_t end_ns = end_of[i];
        if (end_ns <= start_ns)
            continue;
        add_step_row(books, table, step, start_ns, end_ns);
        intervals_add(&books->windows, start_ns, end_ns);
        before_ns = end_ns;
    }
    free(end_of);
    /* Where other devices have steps, one without takes no part in them. */
    if (trace->step_count == 0 || trace->steps[0].thread != TRACE_NO_THREAD)
        if (books->windows.count == 0)
            intervals_add(&books->windows, books->first_ns, books->last_ns);
    intervals_settle(&books->windows);
}

/* The launch of the first event that begins at this time or after it. */
static int64_t launch_of(const struct books *books, size_t *at, int64_t start_ns)
{
    const struct trace *trace = books->trace;

    while (*at < trace->event_count &&
           (trace->events[*at].device != books->device || trace->events[*at].start_ns < start_ns))
        ++*at;
    return *at < trace->event_count && trace->events[*at].start_ns == start_ns
               ? trace->events[*at].launch_ns
               : TRACE_NO_TIME;
}

/* A gap before an event: the host had not launched it yet, or it was on its way. */
static void add_gap(struct books *books, struct device_row *row, size_t *at, int64_t start_ns,
                    int64_t end_ns, int64_t window_end_ns)
{
    int64_t host_end_ns = end_ns;

    if (end_ns < window_end_ns) {
        int64_t launch_ns = launch_of(books, at, end_ns);
        if (launch_ns == TRACE_NO_TIME && intervals_within(&books->earlier, end_ns, end_ns + 1) > 0)
            launch_ns = start_ns; /* launched before the trace began */
        if (launch_ns == TRACE_NO_TIME) {
            saturate_add(&row->number[DEVICE_UNKNOWN_NS], end_ns - start_ns);
            return;
        }
        host_end_ns = launch_ns < start_ns ? start_ns : launch_ns < end_ns ? launch_ns : end_ns;
    }
    saturate_add(&row->number[DEVICE_HOST_NS], host_end_ns - start_ns);
    saturate_add(&row->number[DEVICE_LAUNCH_NS], end_ns - host_end_ns);
    row->number[DEVICE_DATA_NS] += intervals_within(&books->part[PART_DATA], start_ns, host_end_ns);
}

static void add_gaps(struct books *books, struct device_row *row)
{
    struct intervals gaps = {0}, occupied = {0};
    size_t at = 0;

    intervals_unite(&occupied, &books->busy, &books->earlier);
    intervals_subtract(&gaps, &books->windows, &occupied);
    books->failed |= gaps.failed || occupied.failed;
    row->number[DEVICE_EARLIER_NS] = intervals_common(&occupied, &books->windows) -
                                     intervals_common(&books->busy, &books->windows);
    intervals_release(&occupied);
    for (size_t i = 0, w = 0; i < gaps.count; i++) {
        while (books->windows.items[w].end_ns < gaps.items[i].end_ns)
            w++;
        add_gap(books, row, &at, gaps.items[i].start_ns, gaps.items[i].end_ns,
                books->windows.items[w].end_ns);
    }
    intervals_release(&gaps);
}

static void add_device_row(struct books *books, struct device_table *table)
{
    const struct trace *trace = books->trace;
    const struct trace_device *device = &trace->devices[books->device];
    struct device_row *row = device_table_add(table, TABLE_DEVICE, trace_text(trace, device->name));
    const struct {
        enum device_column column;
        const struct intervals *set;
    } sums[] = {
        {DEVICE_BUSY_NS, &books->busy},
        {DEVICE_KERNEL_NS, &books->part[PART_KERNEL]},
        {DEVICE_COMPUTE_NS, &books->compute},
        {DEVICE_COMM_NS, &books->part[PART_COMM]},
        {DEVICE_COMM_EXPOSED_NS, &books->comm_exposed},
        {DEVICE_COPY_NS, &books->part[PART_COPY]},
        {DEVICE_COPY_EXPOSED_NS, &books->copy_exposed},
        {DEVICE_WINDOW_NS, &books->windows},
    };

    if (!row)
        return;
    row->number[DEVICE_RANK] = trace->rank;
    row->number[DEVICE_ID] = device->id;
    row->number[DEVICE_EVENTS] = (int64_t)books->events;
    row->number[DEVICE_EXTENT_NS] = books->last_ns - books->first_ns;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        row->number[sums[i].column] = intervals_common(sums[i].set, &books->windows);
    add_gaps(books, row);
}

static bool add_device(struct device_table *table, const struct trace *trace, uint16_t device)
{
    struct books books = {.trace = trace, .device = device};

    add_device_parts(&books);
    add_host_parts(&books);
    find_what_is_left(&books);
    find_exposed(&books);
    add_steps(&books, table);
    add_device_row(&books, table);
    const bool failed = books.failed || books.windows.failed;
    release(&books);
    return !failed;
}

bool device_books_add(struct device_table *table, const struct trace *trace)
{
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].events > 0 && !add_device(table, trace, (uint16_t)i))
            return false;
    trace_tables_add(table, trace);
    return !table->failed;
}
