#include "report/list_runs.h"

#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "render/numbers.h"
#include "render/table.h"
#include "render/units.h"

enum { NAME_MOST = 22, COMMAND_MOST = 40, DATE_SIZE = 32, YEAR_S = 31556952 };

/* "11-19 01:43"; of a run that is older than half a year "2025-11-19". */
static const char *date_text(char out[DATE_SIZE], int64_t created_s)
{
    const time_t when = (time_t)created_s;
    const bool is_old = time(NULL) - when > YEAR_S / 2;
    struct tm parts;

    if (!localtime_r(&when, &parts) ||
        strftime(out, DATE_SIZE, is_old ? "%Y-%m-%d" : "%m-%d %H:%M", &parts) == 0)
        out[0] = '\0';
    return out;
}

/* How it ended, if that is worth a word. */
static void end_cell(struct table *table, const struct list_row *row)
{
    const struct run_facts *facts = &row->entry->facts;

    if (row->state == REPORT_LIVE || row->state == REPORT_KILLED)
        table_cell(table, "%s", report_state_text(row->state));
    else if (facts->ended_ns > 0 && facts->signal > 0)
        table_cell(table, "signal %d", facts->signal);
    else if (facts->ended_ns > 0 && facts->exit_code > 0)
        table_cell(table, "exit %d", facts->exit_code);
    else
        table_cell(table, "ended");
}

static void add_row(struct table *table, const struct list_row *row)
{
    const struct run_result *result = &row->result;
    char date[DATE_SIZE], text[UNITS_SIZE];
    struct buf command = {0};

    table_cell(table, "%s", date_text(date, row->entry->created_s));
    table_text(table, row->entry->name);
    text_fit(&command, row->entry->command, strlen(row->entry->command), COMMAND_MOST);
    table_text(table, buf_text(&command));
    buf_release(&command);
    table_cell(table, "%s", result->steps > 0 ? count_text(text, (uint64_t)result->steps) : "-");
    if (result->median_ns > 0)
        table_cell(table, "%s", units_duration(text, (int64_t)result->median_ns));
    else
        table_cell(table, "-");
    table_cell(table, "%s",
               result->samples_per_s > 0 ? digits_text(text, result->samples_per_s) : "-");
    table_text(table, result->verdict[0] ? result->verdict : "-");
    table_cell(table, "%s", units_bytes(text, row->bytes));
    end_cell(table, row);
}

/* Runs are called by their names: other columns give way first. */
static size_t name_width(const struct list_row *rows, size_t count)
{
    size_t widest = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t width = strlen(rows[i].entry->name);
        widest = width > widest ? width : widest;
    }
    return widest < NAME_MOST ? widest : NAME_MOST;
}

void list_runs_text(struct sink *out, const struct list_row *rows, size_t count,
                    const struct style *style)
{
    struct table table;
    struct page page;

    page_init(&page, out);
    page.columns = style->columns;
    table_init(&table);
    table.text_wanted = name_width(rows, count);
    table_column(&table, "date", TABLE_NUMBER);
    table_column(&table, "name", TABLE_TEXT);
    table_optional(&table, "command", TABLE_TEXT, 3);
    table_column(&table, "steps", TABLE_NUMBER);
    table_column(&table, "median", TABLE_NUMBER);
    table_optional(&table, "samples/s", TABLE_NUMBER, 1);
    table_column(&table, "verdict", TABLE_TEXT);
    table_optional(&table, "size", TABLE_NUMBER, 2);
    table_column(&table, "end", TABLE_TEXT);
    for (size_t i = 0; i < count; i++)
        add_row(&table, &rows[i]);
    table_print(&table, &page, style);
    table_release(&table);
    page_release(&page);
}

static void add_created(struct json *json, int64_t created_s)
{
    const time_t when = (time_t)created_s;
    char text[DATE_SIZE];
    struct tm parts;

    if (gmtime_r(&when, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        json_string(json, "created", text);
    else
        json_null(json, "created");
}

static void add_object(struct json *json, const char *folder, const struct list_row *row)
{
    const struct run_entry *entry = row->entry;
    const struct run_facts *facts = &entry->facts;
    struct buf path = {0};

    buf_printf(&path, "%s/%s", folder, entry->directory);
    json_begin_object(json, NULL);
    json_string(json, "name", entry->name);
    json_string(json, "path", buf_text(&path));
    json_string(json, "command", entry->command);
    add_created(json, entry->created_s);
    json_string(json, "state", report_state_text(row->state));
    if (facts->ended_ns > 0 && facts->exit_code >= 0)
        json_int(json, "exit_code", facts->exit_code);
    else
        json_null(json, "exit_code");
    if (facts->ended_ns > 0 && facts->signal > 0)
        json_int(json, "signal", facts->signal);
    else
        json_null(json, "signal");
    json_int(json, "steps", row->result.steps);
    json_double(json, "median_step_ns", row->result.median_ns);
    json_double(json, "samples_per_s", row->result.samples_per_s);
    if (row->result.verdict[0])
        json_string(json, "verdict", row->result.verdict);
    else
        json_null(json, "verdict");
    json_uint(json, "size_bytes", row->bytes);
    json_end_object(json);
    buf_release(&path);
}

void list_runs_json(struct sink *out, const char *folder, const struct list_row *rows, size_t count)
{
    struct json json;

    json_init(&json, out);
    json_begin_array(&json, NULL);
    for (size_t i = 0; i < count; i++)
        add_object(&json, folder, &rows[i]);
    json_end_array(&json);
    json_end_line(&json);
}
