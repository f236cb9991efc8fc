#include "import/reduce.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "import/kineto.h"
#include "import/operations.h"
#include "import/trace_input.h"
#include "load/operation_list.h"

enum { FACTS_MOST = 4096, WINDOWS_MOST = 64 };
static const char prefix[] = "window-", facts_ending[] = ".facts";

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

static bool is_of_window(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

bool reduce_is_due(const char *dir)
{
    DIR *const folder = opendir(dir);
    const struct dirent *entry;
    bool is_due = false;

    while (folder && !is_due && (entry = readdir(folder)))
        is_due = is_of_window(entry->d_name) && ends_with(entry->d_name, facts_ending);
    if (folder)
        closedir(folder);
    return is_due;
}

static int read_trace(struct trace *trace, struct operations *operations, const char *path)
{
    struct trace_input input;
    struct ss_error error;

    trace->watch = operations_watch_kineto;
    trace->watch_context = operations;
    int failed = trace_input_open(&input, path, &error);
    if (!failed)
        failed = kineto_read(trace, &input, path, &error);
    trace_input_release(&input);
    return failed;
}

static void add_window(struct device_table *table, const struct device_row *facts, const char *path)
{
    struct trace trace;
    struct operations operations = {0};

    trace_init(&trace, TRACE_KINETO);
    if (read_trace(&trace, &operations, path) == 0 && !operations.failed && operations.count > 0) {
        const int64_t number = (int64_t)table->rows[TABLE_WINDOW].count;
        struct device_row *row = device_table_add(table, TABLE_WINDOW, facts->text);
        operations_settle(&operations);
        if (row) {
            memcpy(row->number, facts->number, sizeof row->number);
            row->number[WINDOW_COVERED_NS] = operations.covered_ns;
            row->number[WINDOW_EVENTS] = (int64_t)operations.count;
            (void)operations_tell(&operations, &trace.names, number, table);
        }
    }
    operations_release(&operations);
    trace_release(&trace);
}

/* `name` has the facts of a file that is called the same without its ending. */
static void take_window(struct device_table *table, const char *dir, const char *name)
{
    struct device_table facts = {0};
    struct buf path = {0}, text = {0};

    buf_printf(&path, "%s/%s", dir, name);
    if (!path.failed && small_file_read(path.data, FACTS_MOST, &text) == 0)
        device_table_parse(&facts, buf_text(&text), text.size);
    if (!path.failed && facts.rows[TABLE_WINDOW].count == 1 &&
        table->rows[TABLE_WINDOW].count < WINDOWS_MOST) {
        path.data[path.size - (sizeof facts_ending - 1)] = '\0';
        add_window(table, &facts.rows[TABLE_WINDOW].items[0], path.data);
    }
    device_table_release(&facts);
    buf_release(&path);
    buf_release(&text);
}

struct name_list {
    char **items;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All files of windows, in the order of their names: facts behind what they belong to. */
static void list_files(struct name_list *names, const char *dir)
{
    enum { FILES_MOST = 4 * WINDOWS_MOST };
    DIR *const folder = opendir(dir);
    const struct dirent *entry;

    names->items = calloc(FILES_MOST, sizeof *names->items);
    while (folder && names->items && names->count < FILES_MOST && (entry = readdir(folder)))
        if (is_of_window(entry->d_name) &&
            (names->items[names->count] = strdup(entry->d_name)) != NULL)
            names->count++;
    if (folder)
        closedir(folder);
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
}

static bool has_facts(const struct name_list *names, size_t at)
{
    const size_t size = strlen(names->items[at]);

    for (size_t i = 0; i < names->count; i++)
        if (strncmp(names->items[i], names->items[at], size) == 0 &&
            strcmp(names->items[i] + size, facts_ending) == 0)
            return true;
    return false;
}

/* What was read is not read again; the table that has it is there already. */
static void remove_files(const struct name_list *names, int dir, bool keep, bool all)
{
    for (size_t i = 0; i < names->count; i++) {
        const bool is_facts = ends_with(names->items[i], facts_ending);
        if (is_facts || (!keep && (all || has_facts(names, i))))
            (void)unlinkat(dir, names->items[i], 0);
    }
}

static bool write_table(int dir, const struct device_table *table)
{
    struct buf text = {0};

    device_table_write(&text, table);
    const bool is_written =
        !table->failed && small_file_write_at(dir, OPERATION_TABLE_FILE, &text) == 0;
    buf_release(&text);
    return is_written;
}

void reduce_windows(const char *dir, bool keep, bool all)
{
    struct device_table table;
    struct name_list names = {0};
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    list_files(&names, dir);
    if (device_table_load(&table, dir, OPERATION_TABLE_FILE) == 0) {
        const size_t before = table.rows[TABLE_WINDOW].count;
        for (size_t i = 0; i < names.count; i++)
            if (ends_with(names.items[i], facts_ending))
                take_window(&table, dir, names.items[i]);
        if (table.rows[TABLE_WINDOW].count == before || write_table(fd, &table))
            remove_files(&names, fd, keep, all);
        device_table_release(&table);
    }
    for (size_t i = 0; i < names.count; i++)
        free(names.items[i]);
    free(names.items);
    close(fd);
}
