#include "load/device_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files.h"
#include "base/saturate.h"
#include "read/array.h"
#include "stepscope/error.h"

enum { FILE_MOST = 16 * 1024 * 1024, FACT_VALUE = 0 };

#define COLUMN_TEXT(id, text) text,
static const char *const fact_columns[] = {FACT_COLUMNS(COLUMN_TEXT)};
static const char *const device_columns[] = {DEVICE_COLUMNS(COLUMN_TEXT)};
static const char *const step_columns[] = {STEP_COLUMNS(COLUMN_TEXT)};
static const char *const transfer_columns[] = {TRANSFER_COLUMNS(COLUMN_TEXT)};
static const char *const kernel_columns[] = {KERNEL_COLUMNS(COLUMN_TEXT)};
static const char *const collective_columns[] = {COLLECTIVE_COLUMNS(COLUMN_TEXT)};
static const char *const layer_columns[] = {LAYER_COLUMNS(COLUMN_TEXT)};
static const char *const window_columns[] = {WINDOW_COLUMNS(COLUMN_TEXT)};
static const char *const operation_columns[] = {OPERATION_COLUMNS(COLUMN_TEXT)};

#define COLUMNS(list) list, sizeof list / sizeof *list
static const struct {
    const char *word;
    const char *const *column;
    size_t columns;
} kinds[] = {
    [TABLE_FACT] = {"fact", COLUMNS(fact_columns)},
    [TABLE_DEVICE] = {"device", COLUMNS(device_columns)},
    [TABLE_STEP] = {"step", COLUMNS(step_columns)},
    [TABLE_TRANSFER] = {"transfer", COLUMNS(transfer_columns)},
    [TABLE_KERNEL] = {"kernel", COLUMNS(kernel_columns)},
    [TABLE_COLLECTIVE] = {"collective", COLUMNS(collective_columns)},
    [TABLE_LAYER] = {"layer", COLUMNS(layer_columns)},
    [TABLE_WINDOW] = {"window", COLUMNS(window_columns)},
    [TABLE_OPERATION] = {"operation", COLUMNS(operation_columns)},
};
_Static_assert(sizeof device_columns / sizeof *device_columns <= DEVICE_TABLE_NUMBERS, "row");
_Static_assert(sizeof step_columns / sizeof *step_columns <= DEVICE_TABLE_NUMBERS, "row");

void device_table_release(struct device_table *table)
{
    for (int kind = 0; kind < TABLE_KINDS; kind++) {
        for (size_t i = 0; i < table->rows[kind].count; i++)
            free(table->rows[kind].items[i].text);
        free(table->rows[kind].items);
    }
    *table = (struct device_table){0};
}

struct device_row *device_table_add(struct device_table *table, enum device_kind kind,
                                    const char *text)
{
    struct device_rows *rows = &table->rows[kind];
    struct device_row *items =
        array_grow(rows->items, &rows->capacity, sizeof *items, rows->count + 1);
    char *copy = strdup(text);

    if (items)
        rows->items = items;
    if (!items || !copy) {
        free(copy);
        table->failed = true;
        return NULL;
    }
    items[rows->count] = (struct device_row){.text = copy};
    return &items[rows->count++];
}

static const struct device_row *find_fact(const struct device_table *table, const char *key)
{
    const size_t size = strlen(key);

    for (size_t i = 0; i < table->rows[TABLE_FACT].count; i++) {
        const struct device_row *row = &table->rows[TABLE_FACT].items[i];
        if (strncmp(row->text, key, size) == 0 && (row->text[size] == ' ' || !row->text[size]))
            return row;
    }
    return NULL;
}

const char *device_table_fact(const struct device_table *table, const char *key)
{
    const struct device_row *row = find_fact(table, key);

    return row ? row->text + strlen(key) + (row->text[strlen(key)] == ' ') : NULL;
}

int64_t device_table_number(const struct device_table *table, const char *key, int64_t otherwise)
{
    const struct device_row *row = find_fact(table, key);

    return row ? row->number[FACT_VALUE] : otherwise;
}

int64_t device_table_sum(const struct device_table *table, enum device_kind kind, unsigned column)
{
    int64_t sum = 0;

    for (size_t i = 0; i < table->rows[kind].count; i++)
        saturate_add(&sum, table->rows[kind].items[i].number[column]);
    return sum;
}

size_t device_table_columns(enum device_kind kind)
{
    return kinds[kind].columns;
}

const char *device_table_column(enum device_kind kind, size_t column)
{
    return kinds[kind].column[column];
}

static void write_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\t')
            buf_add_text(out, "\\t");
        else if (*text == '\n')
            buf_add_text(out, "\\n");
        else if (*text == '\\')
            buf_add_text(out, "\\\\");
        else
            buf_add(out, text, 1);
}

void device_table_write(struct buf *out, const struct device_table *table)
{
    for (int kind = 0; kind < TABLE_KINDS; kind++)
        for (size_t i = 0; i < table->rows[kind].count; i++) {
            const struct device_row *row = &table->rows[kind].items[i];
            buf_add_text(out, kinds[kind].word);
            for (size_t c = 0; c < kinds[kind].columns; c++)
                buf_printf(out, "\t%" PRId64, row->number[c]);
            buf_add_text(out, "\t");
            write_text(out, row->text);
            buf_add_text(out, "\n");
        }
}

/* The next field of the line, up to a tab; the rest of the line goes on behind it. */
static bool next_field(const char **at, const char *end, const char **field, size_t *size)
{
    if (*at > end)
        return false;
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    const char *stop = tab ? tab : end;
    *field = *at;
    *size = (size_t)(stop - *at);
    *at = stop + 1;
    return true;
}

/* Whole numbers that are no negative ones, but for a rank of -1. */
static bool parse_number(const char *field, size_t size, int64_t *out)
{
    char digits[24], *end;

    if (size == 0 || size >= sizeof digits)
        return false;
    memcpy(digits, field, size);
    digits[size] = '\0';
    *out = strtoll(digits, &end, 10);
    return *end == '\0' && *out >= -1;
}

static char *parse_text(const char *field, size_t size)
{
    char *text = malloc(size + 1), *to = text;

    for (size_t i = 0; text && i < size; i++) {
        if (field[i] != '\\' || i + 1 == size) {
            *to++ = field[i];
            continue;
        }
        i++;
        *to++ = field[i] == 't' ? '\t' : field[i] == 'n' ? '\n' : field[i];
    }
    if (text)
        *to = '\0';
    return text;
}

static int find_kind(const char *field, size_t size)
{
    for (int kind = 0; kind < TABLE_KINDS; kind++)
        if (strlen(kinds[kind].word) == size && memcmp(kinds[kind].word, field, size) == 0)
            return kind;
    return TABLE_KINDS;
}

static void parse_line(struct device_table *table, const char *at, const char *end)
{
    struct device_row row = {0};
    const char *field;
    size_t size;

    if (!next_field(&at, end, &field, &size))
        return;
    const int kind = find_kind(field, size);
    if (kind == TABLE_KINDS)
        return;
    for (size_t i = 0; i < kinds[kind].columns; i++)
        if (!next_field(&at, end, &field, &size) || !parse_number(field, size, &row.number[i]))
            return;
    char *text = next_field(&at, end, &field, &size) ? parse_text(field, size) : NULL;
    struct device_row *place = text ? device_table_add(table, (enum device_kind)kind, text) : NULL;
    if (place)
        memcpy(place->number, row.number, sizeof row.number);
    free(text);
}

void device_table_parse(struct device_table *table, const char *data, size_t size)
{
    const char *end = data + size;

    while (data < end) {
        const char *line_end = memchr(data, '\n', (size_t)(end - data));
        if (!line_end)
            return; /* a line that was not finished */
        parse_line(table, data, line_end);
        data = line_end + 1;
    }
}

int device_table_load(struct device_table *table, const char *path, const char *file)
{
    struct buf name = {0}, text = {0};

    *table = (struct device_table){0};
    buf_printf(&name, "%s/%s", path, file);
    int failed = name.failed ? ENOMEM : small_file_read(name.data, FILE_MOST, &text);
    device_table_parse(table, buf_text(&text), text.size);
    if (table->failed)
        failed = ENOMEM;
    buf_release(&name);
    buf_release(&text);
    if (failed)
        device_table_release(table);
    return error_code_of_errno(failed);
}
