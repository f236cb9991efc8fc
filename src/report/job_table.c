/* Ranks or hosts of a job as rows. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "render/numbers.h"
#include "render/page.h"
#include "render/table.h"
#include "report/report_job.h"

enum { ROWS_SHOWN = 16 };

/* A rank, or a host with all of its ranks. */
struct row {
    const struct job_rank *rank;      /* NULL: a host */
    const struct snap_rank *compared; /* NULL: it has no steps */
    const char *host;
    size_t ranks;
    double own_ns, own_max_ns, wait_ns, blame, stage_ns; /* NAN: not known */
    int slowest;                                         /* rank with most own work; -1: none */
};

static double blame_of(const struct row *row)
{
    return isfinite(row->blame) ? row->blame : -1;
}

static int by_number(const struct row *x, const struct row *y)
{
    const int x_rank = x->rank ? x->rank->rank : 0, y_rank = y->rank ? y->rank->rank : 0;

    return (x_rank > y_rank) - (x_rank < y_rank);
}

static int by_blame(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const double x_blame = blame_of(x), y_blame = blame_of(y);

    return x_blame != y_blame ? (x_blame < y_blame ? 1 : -1) : by_number(x, y);
}

static int by_stage(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const double x_ns = isfinite(x->stage_ns) ? x->stage_ns : -1;
    const double y_ns = isfinite(y->stage_ns) ? y->stage_ns : -1;

    return x_ns != y_ns ? (x_ns < y_ns ? 1 : -1) : by_number(x, y);
}

static struct row rank_row(const struct job_table *table, const struct job_rank *rank)
{
    const struct snap_rank *compared = job_view_compared(table->job, rank);
    const bool is_known = compared && isfinite(compared->own_ns);

    return (struct row){.rank = rank,
                        .compared = compared,
                        .host = table->job->launches[rank->launch].host,
                        .ranks = 1,
                        .own_ns = is_known ? compared->own_ns : NAN,
                        .own_max_ns = is_known ? compared->own_ns : NAN,
                        .wait_ns = is_known ? compared->wait_ns : NAN,
                        .blame = is_known ? compared->blame.mid : NAN,
                        .stage_ns = rank->mean_ns[table->stage],
                        .slowest = rank->rank};
}

/* Means over the ranks of a host; blame is what all of them make the others wait. */
static void add_to_host(struct row *host, const struct row *rank)
{
    if (!isfinite(rank->own_ns))
        return;
    if (host->slowest < 0 || rank->own_ns > host->own_max_ns) {
        host->own_max_ns = rank->own_ns;
        host->slowest = rank->rank->rank;
    }
    const double count = (double)++host->ranks;
    host->own_ns = count > 1 ? host->own_ns + (rank->own_ns - host->own_ns) / count : rank->own_ns;
    host->wait_ns =
        count > 1 ? host->wait_ns + (rank->wait_ns - host->wait_ns) / count : rank->wait_ns;
    host->stage_ns =
        count > 1 ? host->stage_ns + (rank->stage_ns - host->stage_ns) / count : rank->stage_ns;
    host->blame = count > 1 ? host->blame + rank->blame : rank->blame;
}

/* The caller frees them; NULL: memory is short. */
static struct row *make_rows(const struct job_table *table, size_t *count)
{
    const struct job_view *job = table->job;
    const bool are_hosts = table->order == JOB_BY_HOST;
    struct row *rows = calloc(job->rank_count + job->host_count + 1, sizeof *rows);

    *count = are_hosts ? job->host_count : job->rank_count;
    for (size_t i = 0; rows && are_hosts && i < job->host_count; i++)
        rows[i] = (struct row){.host = job->hosts[i].name,
                               .slowest = -1,
                               .own_ns = NAN,
                               .own_max_ns = NAN,
                               .wait_ns = NAN,
                               .blame = NAN,
                               .stage_ns = NAN};
    for (size_t i = 0; rows && i < job->rank_count; i++) {
        const struct row row = rank_row(table, &job->ranks[i]);
        if (are_hosts)
            add_to_host(&rows[job->launches[job->ranks[i].launch].host_at], &row);
        else
            rows[i] = row;
    }
    if (rows && *count > 1)
        qsort(rows, *count, sizeof *rows, table->order == JOB_BY_STAGE ? by_stage : by_blame);
    return rows;
}

static void columns(struct table *out, const struct job_table *table)
{
    const bool are_hosts = table->order == JOB_BY_HOST;

    table_init(out);
    if (are_hosts) {
        table_column(out, "host", TABLE_TEXT);
        table_column(out, "ranks", TABLE_NUMBER);
    } else {
        table_column(out, "rank", TABLE_NUMBER);
    }
    if (table->order == JOB_BY_STAGE)
        table_column(out, ss_stage_text(table->stage), TABLE_NUMBER);
    table_column(out, "own work", TABLE_NUMBER);
    table_optional(out, "waits", TABLE_NUMBER, 2);
    table_column(out, "makes others wait", TABLE_NUMBER);
    if (are_hosts) {
        table_column(out, "slowest rank", TABLE_NUMBER);
    } else {
        table_optional(out, "steps", TABLE_NUMBER, 3);
        table_column(out, "host", TABLE_TEXT);
    }
}

static void print_row(struct table *out, const struct job_table *table, const struct row *row,
                      struct scale scale)
{
    char text[UNITS_SIZE];

    if (row->rank)
        table_cell(out, "%d", row->rank->rank);
    else {
        table_text(out, row->host);
        table_cell(out, "%zu", row->ranks);
    }
    if (table->order == JOB_BY_STAGE)
        table_cell(out, "%s", scale_text(text, row->stage_ns, scale));
    table_cell(out, "%s", scale_text(text, row->own_ns, scale));
    table_cell(out, "%s", scale_text(text, row->wait_ns, scale));
    table_cell(out, "%s", share_text(text, row->blame));
    if (row->rank) {
        table_cell(out, "%" PRId64, row->rank->steps);
        table_text(out, row->host);
    } else if (row->slowest >= 0) {
        table_cell(out, "%d", row->slowest);
    } else {
        table_text(out, "-");
    }
}

void report_job_table(struct sink *out, const struct job_table *table, const struct style *style)
{
    const struct blame *blame = &table->job->compared.blame;
    const struct scale scale = scale_for(blame->own_p50_ns, blame->step_ns);
    struct table cells;
    struct page page;
    size_t count;
    struct row *rows = make_rows(table, &count);

    if (!rows) {
        sink_fail(out, SS_E_NOMEM, 0);
        return;
    }
    page_init(&page, out);
    page.columns = style->columns;
    if (blame->steps > 0)
        buf_printf(&page.value, "Times are %s a step, from %zu steps that all ranks have",
                   scale.unit.name, blame->steps);
    else
        buf_add_text(&page.value, "The ranks have no steps that can be compared");
    page_line(&page);
    columns(&cells, table);
    for (size_t i = 0; i < count && i < ROWS_SHOWN; i++)
        print_row(&cells, table, &rows[i], scale);
    table_print(&cells, &page, style);
    if (count > ROWS_SHOWN) {
        buf_printf(&page.value, "and %zu more; --csv and --json have all", count - ROWS_SHOWN);
        page_line(&page);
    }
    table_release(&cells);
    page_release(&page);
    free(rows);
}

/* A text of a file as a cell: quoted, and made safe. */
static void csv_text(struct sink *out, const char *text)
{
    struct buf safe = {0};

    text_safe(&safe, text, strlen(text));
    sink_text(out, "\"");
    for (const char *at = buf_text(&safe); *at; at++)
        sink_printf(out, *at == '"' ? "\"%c" : "%c", *at);
    sink_text(out, "\"");
    buf_release(&safe);
}

static void csv_number(struct sink *out, double value)
{
    if (isfinite(value))
        sink_printf(out, ",%.9g", value);
    else
        sink_text(out, ",");
}

void report_job_csv(struct sink *out, const struct job_table *table)
{
    size_t count;
    struct row *rows = make_rows(table, &count);

    if (!rows) {
        sink_fail(out, SS_E_NOMEM, 0);
        return;
    }
    sink_text(out, table->order == JOB_BY_HOST
                       ? "job,host,ranks,slowest_rank,own_ns,own_max_ns,wait_ns,blame\n"
                       : "job,host,rank,steps,own_ns,wait_ns,blame,last_share,step_p50_ns,"
                         "step_p95_ns,step_max_ns");
    for (unsigned k = 0; table->order != JOB_BY_HOST && k < SS_STAGE_COUNT; k++)
        sink_printf(out, ",%s_ns%s", ss_stage_text(k), k + 1 == SS_STAGE_COUNT ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        csv_text(out, table->job->id);
        sink_text(out, ",");
        csv_text(out, row->host);
        if (row->rank)
            sink_printf(out, ",%d,%" PRId64, row->rank->rank, row->rank->steps);
        else
            sink_printf(out, ",%zu,%d", row->ranks, row->slowest);
        csv_number(out, row->own_ns);
        if (!row->rank)
            csv_number(out, row->own_max_ns);
        csv_number(out, row->wait_ns);
        csv_number(out, row->blame);
        if (row->rank) {
            csv_number(out, row->compared ? row->compared->last_share : NAN);
            csv_number(out, row->rank->p50_ns);
            csv_number(out, row->rank->p95_ns);
            csv_number(out, row->rank->max_ns);
            for (unsigned k = 0; k < SS_STAGE_COUNT; k++)
                csv_number(out, row->rank->mean_ns[k]);
        }
        sink_text(out, "\n");
    }
    free(rows);
}

static void put_rank(struct json *json, const struct row *row)
{
    json_int(json, "rank", row->rank->rank);
    json_string(json, "host", row->host);
    json_int(json, "steps", row->rank->steps);
    json_double(json, "own_ns", row->own_ns);
    json_double(json, "wait_ns", row->wait_ns);
    json_double(json, "share", row->blame);
    json_begin_array(json, "share_ci");
    json_double(json, NULL, row->compared ? row->compared->blame.low : NAN);
    json_double(json, NULL, row->compared ? row->compared->blame.high : NAN);
    json_end_array(json);
    json_double(json, "last_share", row->compared ? row->compared->last_share : NAN);
    json_double(json, "step_p50_ns", row->rank->p50_ns);
    json_double(json, "step_p95_ns", row->rank->p95_ns);
    json_double(json, "step_max_ns", row->rank->max_ns);
    json_begin_object(json, "stages");
    for (unsigned k = 0; k < SS_STAGE_COUNT; k++)
        if ((row->rank->measured >> k) & 1)
            json_double(json, ss_stage_text(k), row->rank->mean_ns[k]);
    json_end_object(json);
}

static void put_host(struct json *json, const struct row *row)
{
    json_string(json, "host", row->host);
    json_uint(json, "ranks", row->ranks);
    json_double(json, "own_ns", row->own_ns);
    json_double(json, "own_max_ns", row->own_max_ns);
    json_double(json, "wait_ns", row->wait_ns);
    json_double(json, "share", row->blame);
    if (row->slowest >= 0)
        json_int(json, "slowest_rank", row->slowest);
    else
        json_null(json, "slowest_rank");
}

void report_job_json(struct sink *out, const struct job_table *table)
{
    struct json json;
    size_t count;
    struct row *rows = make_rows(table, &count);

    if (!rows) {
        sink_fail(out, SS_E_NOMEM, 0);
        return;
    }
    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "job", table->job->id);
    json_uint(&json, "steps", table->job->compared.blame.steps);
    json_begin_array(&json, table->order == JOB_BY_HOST ? "hosts" : "ranks");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&json, NULL);
        (rows[i].rank ? put_rank : put_host)(&json, &rows[i]);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end_line(&json);
    free(rows);
}
