#include "import/trace_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

enum { ROWS_MOST = 1000 };

/* Rows of one kind by their text, and by the names of the trace. */
struct row_index {
    struct device_table *table;
    const struct trace *trace;
    enum device_kind kind;
    struct name_set texts; /* its numbers are those of the rows */
    size_t *place;         /* by name, 1 more than the row's; 0: not looked for yet */
};

static bool index_init(struct row_index *index, struct device_table *table,
                       const struct trace *trace, enum device_kind kind)
{
    const struct device_rows *rows = &table->rows[kind];

    *index = (struct row_index){.table = table,
                                .trace = trace,
                                .kind = kind,
                                .place = calloc(trace->names.count + 1, sizeof *index->place)};
    table->failed |= !index->place;
    for (size_t i = 0; i < rows->count; i++)
        table->failed |=
            name_set_add(&index->texts, rows->items[i].text, strlen(rows->items[i].text)) != i;
    return !table->failed;
}

/* The row of this text: one that another trace of the run has made, or a new one. */
static struct device_row *row_of_text(struct row_index *index, const char *text, size_t size)
{
    struct device_rows *rows = &index->table->rows[index->kind];
    const uint32_t place = name_set_add(&index->texts, text, size);

    index->table->failed |= place == NAME_SET_FULL;
    if (place < rows->count)
        return &rows->items[place];
    return place == NAME_SET_FULL
               ? NULL
               : device_table_add(index->table, index->kind, name_set_text(&index->texts, place));
}

static struct device_row *row_of(struct row_index *index, uint32_t name)
{
    struct device_rows *rows = &index->table->rows[index->kind];
    size_t *place = &index->place[name];

    if (*place == 0) {
        const char *text = trace_text(index->trace, name);
        const struct device_row *row = row_of_text(index, text, strlen(text));
        if (!row)
            return NULL;
        *place = (size_t)(row - rows->items) + 1;
    }
    return &rows->items[*place - 1];
}

static struct device_row *find_row(const struct device_rows *rows, const char *text)
{
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i].text, text) == 0)
            return &rows->items[i];
    return NULL;
}

static void add_kernels(struct row_index *index)
{
    for (size_t i = 0; i < index->trace->event_count; i++) {
        const struct device_event *event = &index->trace->events[i];
        struct device_row *row = row_of(index, event->name);
        const int64_t own_ns = event->end_ns - event->start_ns;
        if (!row)
            return;
        row->number[KERNEL_CALLS]++;
        saturate_add(&row->number[KERNEL_TOTAL_NS], own_ns);
        if (own_ns > row->number[KERNEL_MOST_NS])
            row->number[KERNEL_MOST_NS] = own_ns;
    }
}

static void add_collectives(struct row_index *index)
{
    for (size_t i = 0; i < index->trace->event_count; i++) {
        const struct device_event *event = &index->trace->events[i];
        const int64_t own_ns = event->end_ns - event->start_ns;
        if (event->activity != ACTIVITY_COMM || event->collective == TRACE_NO_NAME)
            continue;
        struct device_row *row = row_of(index, event->collective);
        if (!row)
            return;
        if (row->number[COLLECTIVE_CALLS]++ == 0 || own_ns < row->number[COLLECTIVE_LEAST_NS])
            row->number[COLLECTIVE_LEAST_NS] = own_ns;
        if (own_ns > row->number[COLLECTIVE_MOST_NS])
            row->number[COLLECTIVE_MOST_NS] = own_ns;
        saturate_add(&row->number[COLLECTIVE_TOTAL_NS], own_ns);
        row->number[COLLECTIVE_ELEMENTS] = event->elements;
        row->number[COLLECTIVE_RANKS] = event->ranks;
    }
}

static void add_transfers(struct device_table *table, const struct trace *trace)
{
    static const char *const names[ROUTES] = {[ROUTE_HTOD] = "host to device",
                                              [ROUTE_DTOH] = "device to host",
                                              [ROUTE_DTOD] = "on the device",
                                              [ROUTE_OTHER] = "other"};

    for (size_t i = 0; i < trace->event_count; i++) {
        const struct device_event *event = &trace->events[i];
        if (event->activity != ACTIVITY_COPY)
            continue;
        struct device_rows *rows = &table->rows[TABLE_TRANSFER];
        struct device_row *row = find_row(rows, names[event->route]);
        if (!row)
            row = device_table_add(table, TABLE_TRANSFER, names[event->route]);
        if (!row)
            return;
        row->number[TRANSFER_COUNT]++;
        saturate_add(&row->number[TRANSFER_BYTES], (int64_t)(event->bytes & INT64_MAX));
        saturate_add(&row->number[TRANSFER_TOTAL_NS], event->end_ns - event->start_ns);
    }
}

static void add_to_row(struct device_row *row, int64_t calls, int64_t host_ns, int64_t device_ns)
{
    saturate_add(&row->number[LAYER_CALLS], calls);
    saturate_add(&row->number[LAYER_HOST_NS], host_ns);
    saturate_add(&row->number[LAYER_DEVICE_NS], device_ns);
}

/* A layer, and all around it: "a/b/c", "a/b", "a". */
static void add_to_layers(struct row_index *index, uint32_t layer, int64_t calls, int64_t host_ns,
                          int64_t device_ns)
{
    const char *text = trace_text(index->trace, layer);

    for (size_t i = strlen(text); i > 0; i--) {
        if (text[i] != '/' && text[i] != '\0')
            continue;
        struct device_row *row = row_of_text(index, text, i);
        if (!row)
            return;
        add_to_row(row, calls, host_ns, device_ns);
    }
}

/* Calls of modules, whose times have in them what is called inside. */
static void add_modules(struct row_index *index)
{
    const struct trace *trace = index->trace;

    for (size_t i = 0; i < trace->layers.count; i++) {
        const struct host_span *span = &trace->layers.items[i];
        struct device_row *row = row_of(index, span->name);
        if (!row)
            return;
        add_to_row(row, 1, span->end_ns - span->start_ns, 0);
    }
}

/* What devices did in a layer. */
static struct layer_sum *device_sums(const struct trace *trace)
{
    struct layer_sum *sums = calloc(trace->names.count + 1, sizeof *sums);

    for (size_t i = 0; sums && i < trace->event_count; i++) {
        const struct device_event *event = &trace->events[i];
        saturate_add(&sums[event->layer].ns, event->end_ns - event->start_ns);
        sums[event->layer].calls++;
    }
    return sums;
}

/* Modules have calls of their own. In what names its layer, a call is an event of a device, or
 * without devices an operation of the host. */
static void add_layers(struct row_index *index)
{
    const struct trace *trace = index->trace;
    struct layer_sum *device = device_sums(trace);

    index->table->failed |= !device;
    if (!device)
        return;
    add_modules(index);
    for (uint32_t i = 1; i < trace->names.count; i++) {
        const struct layer_sum host =
            i < trace->sum_capacity ? trace->sums[i] : (struct layer_sum){0};
        const int64_t calls = trace->form != TRACE_XPLANE ? 0
                              : trace->event_count > 0    ? device[i].calls
                                                          : host.calls;
        if (device[i].ns > 0 || host.calls > 0)
            add_to_layers(index, i, calls, host.ns > 0 ? host.ns : 0, device[i].ns);
    }
    free(device);
}

void trace_tables_add(struct device_table *table, const struct trace *trace)
{
    static const struct {
        enum device_kind kind;
        void (*add)(struct row_index *index);
    } tables[] = {
        {TABLE_KERNEL, add_kernels},
        {TABLE_COLLECTIVE, add_collectives},
        {TABLE_LAYER, add_layers},
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct row_index index;
        if (index_init(&index, table, trace, tables[i].kind))
            tables[i].add(&index);
        free(index.place);
        name_set_release(&index.texts);
    }
    add_transfers(table, trace);
}

static int kernels_by_time(const void *a, const void *b)
{
    const int64_t x = ((const struct device_row *)a)->number[KERNEL_TOTAL_NS];
    const int64_t y = ((const struct device_row *)b)->number[KERNEL_TOTAL_NS];

    return x != y
               ? (x > y ? -1 : 1)
               : strcmp(((const struct device_row *)a)->text, ((const struct device_row *)b)->text);
}

static int layers_by_device_time(const void *a, const void *b)
{
    const struct device_row *x = a, *y = b;

    if (x->number[LAYER_DEVICE_NS] != y->number[LAYER_DEVICE_NS])
        return x->number[LAYER_DEVICE_NS] > y->number[LAYER_DEVICE_NS] ? -1 : 1;
    if (x->number[LAYER_HOST_NS] != y->number[LAYER_HOST_NS])
        return x->number[LAYER_HOST_NS] > y->number[LAYER_HOST_NS] ? -1 : 1;
    return strcmp(x->text, y->text);
}

static void sort_and_cut(struct device_rows *rows, int (*order)(const void *, const void *))
{
    if (rows->count > 1)
        qsort(rows->items, rows->count, sizeof *rows->items, order);
    while (rows->count > ROWS_MOST)
        free(rows->items[--rows->count].text);
}

void trace_tables_finish(struct device_table *table)
{
    sort_and_cut(&table->rows[TABLE_KERNEL], kernels_by_time);
    sort_and_cut(&table->rows[TABLE_COLLECTIVE], kernels_by_time);
    sort_and_cut(&table->rows[TABLE_LAYER], layers_by_device_time);
}
