#include "load/operation_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "stepscope/error.h"

const char *operation_pass_text(enum operation_pass pass)
{
#define PASS_TEXT(id, number, text) [number] = text,
    static const char *const texts[] = {OPERATION_PASSES(PASS_TEXT)};

    return pass < PASS_COUNT ? texts[pass] : "";
}

/* By name and pass, so that the same of several windows are beside each other. */
static int compare_keys(const void *a, const void *b)
{
    const struct device_row *first = *(const struct device_row *const *)a;
    const struct device_row *second = *(const struct device_row *const *)b;
    const int order = strcmp(first->text, second->text);
    const int64_t x = first->number[OPERATION_PASS], y = second->number[OPERATION_PASS];

    return order != 0 ? order : (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b)
{
    const struct operation *first = a, *second = b;

    if (first->self_ns != second->self_ns)
        return first->self_ns > second->self_ns ? -1 : 1;
    const int order = strcmp(first->name, second->name);
    return order != 0 ? order : (int)first->pass - (int)second->pass;
}

static void add_known(int64_t *sum, int64_t value)
{
    if (*sum < 0)
        *sum = value;
    else if (value > 0)
        saturate_add(sum, value);
}

static void add_row(struct operation *operation, const struct device_row *row)
{
    saturate_add(&operation->calls, row->number[OPERATION_CALLS]);
    saturate_add(&operation->self_ns, row->number[OPERATION_SELF_NS]);
    add_known(&operation->flops, row->number[OPERATION_FLOPS]);
    add_known(&operation->bytes, row->number[OPERATION_BYTES]);
}

static bool is_sound(const struct device_row *row)
{
    return row->number[OPERATION_PASS] >= 0 && row->number[OPERATION_PASS] < PASS_COUNT &&
           row->number[OPERATION_CALLS] > 0 && row->number[OPERATION_SELF_NS] >= 0;
}

/* The rows of the table, moved into the list. */
static int sum_up(struct operation_list *list, struct device_rows *rows)
{
    struct device_row **order = calloc(rows->count + 1, sizeof *order);
    size_t sound = 0;

    list->items = calloc(rows->count + 1, sizeof *list->items);
    if (!order || !list->items) {
        free(order);
        return SS_E_NOMEM;
    }
    for (size_t i = 0; i < rows->count; i++)
        if (is_sound(&rows->items[i]))
            order[sound++] = &rows->items[i];
    qsort(order, sound, sizeof *order, compare_keys);
    for (size_t i = 0; i < sound; i++) {
        if (i == 0 || compare_keys(&order[i - 1], &order[i]) != 0) {
            list->items[list->count++] =
                (struct operation){.pass = (enum operation_pass)order[i]->number[OPERATION_PASS],
                                   .flops = -1,
                                   .bytes = -1};
        }
        struct operation *last = &list->items[list->count - 1];
        add_row(last, order[i]);
        saturate_add(&list->self_ns, order[i]->number[OPERATION_SELF_NS]);
        if (!last->name)
            last->name = strdup(order[i]->text);
        if (!last->name) {
            free(order);
            return SS_E_NOMEM;
        }
    }
    free(order);
    qsort(list->items, list->count, sizeof *list->items, compare_times);
    return 0;
}

static int add_windows(struct operation_list *list, const struct device_table *table)
{
    const struct device_rows *rows = &table->rows[TABLE_WINDOW];

    list->windows = (int64_t)rows->count;
    list->steps = device_table_sum(table, TABLE_WINDOW, WINDOW_STEPS);
    list->events = device_table_sum(table, TABLE_WINDOW, WINDOW_EVENTS);
    list->wall_ns = device_table_sum(table, TABLE_WINDOW, WINDOW_WALL_NS);
    list->covered_ns = device_table_sum(table, TABLE_WINDOW, WINDOW_COVERED_NS);
    list->cost_ns = device_table_sum(table, TABLE_WINDOW, WINDOW_COST_NS);
    list->framework = strdup(rows->count > 0 ? rows->items[0].text : "");
    return list->framework ? 0 : SS_E_NOMEM;
}

int operation_list_load(struct operation_list *list, const char *path)
{
    struct device_table table;

    *list = (struct operation_list){0};
    int failed = device_table_load(&table, path, OPERATION_TABLE_FILE);
    if (!failed)
        failed = add_windows(list, &table);
    if (!failed && list->windows > 0 && list->steps > 0)
        failed = sum_up(list, &table.rows[TABLE_OPERATION]);
    device_table_release(&table);
    return failed;
}

void operation_list_release(struct operation_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    free(list->framework);
    *list = (struct operation_list){0};
}
