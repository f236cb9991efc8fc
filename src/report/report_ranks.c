#include <math.h>
#include <string.h>

#include "render/numbers.h"
#include "render/table.h"
#include "report/report_job.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { RANKS_SHOWN = 5, RANKS_LISTED = 100 };

/* How many of the job's ranks have made others wait, up to `most`. */
static size_t to_blame(const struct snap_job *job, size_t most)
{
    size_t count = 0;

    while (count < job->compared && count < most && job->ranks[count].blame.mid > 0)
        count++;
    return count;
}

static void say_missing(struct report *report, const struct snap_job *job)
{
    struct buf *value = &report->page.value;

    if (job->missing_count == 0)
        return;
    buf_printf(value, "Missing: %u of %u ranks recorded nothing here (", job->missing_count,
               job->world);
    for (uint32_t i = 0; i < job->missing_count && i < RANKS_SHOWN; i++)
        buf_printf(value, "%s%u", i == 0 ? "" : ", ", job->missing[i]);
    buf_add_text(value, job->missing_count > RANKS_SHOWN ? ", ...)" : ")");
    report_paragraph(report, false);
}

/* What the table has no rows for: the job as a whole. */
static void say_job(struct report *report, const struct blame *blame, struct scale scale)
{
    char mean[UNITS_SIZE], middle[UNITS_SIZE], most[UNITS_SIZE], wait[UNITS_SIZE],
        exchange[UNITS_SIZE];

    buf_printf(
        &report->page.value,
        "Own work: mean %s, median %s, slowest rank %s; communication: %s waiting for the last rank, %s exchange.",
        scale_text(mean, blame->own_ns, scale), scale_text(middle, blame->own_p50_ns, scale),
        scale_text(most, blame->own_max_ns, scale), scale_text(wait, blame->wait_ns, scale),
        scale_text(exchange, blame->exchange_ns, scale));
    report_paragraph(report, false);
}

static void rank_row(struct table *table, const struct snap_rank *rank, struct scale scale)
{
    char own[UNITS_SIZE], wait[UNITS_SIZE], last[UNITS_SIZE], blame[UNITS_SIZE];
    char stage[UNITS_SIZE], usual[UNITS_SIZE];

    table_cell(table, "%d", rank->rank);
    table_cell(table, "%s", scale_text(own, rank->own_ns, scale));
    table_cell(table, "%s", scale_text(wait, rank->wait_ns, scale));
    table_cell(table, "%s", share_text(last, rank->last_share));
    table_cell(table, "%s", share_text(blame, rank->blame.mid));
    if (rank->stage < 0)
        table_text(table, "-");
    else
        table_cell(table, "%s: %s, others %s", ss_stage_text((unsigned)rank->stage),
                   scale_text(stage, rank->stage_ns, scale),
                   scale_text(usual, rank->stage_usual_ns, scale));
}

void report_ranks(struct report *report)
{
    const struct snap_job *job = &report->analysis->snapshot->job;
    const struct blame *blame = &job->blame;
    struct table table;

    if (job->rank_count > 1 && blame->steps > 0) {
        const struct scale scale = scale_for(blame->own_p50_ns, blame->step_ns);
        report_title(
            report, "Ranks: %zu on %zu host%s, compared in %zu steps; times in %s per step",
            job->rank_count, job->hosts, job->hosts == 1 ? "" : "s", blame->steps, scale.unit.name);
        say_job(report, blame, scale);
        table_init(&table);
        table_column(&table, "rank", TABLE_NUMBER);
        table_column(&table, "own work", TABLE_NUMBER);
        table_optional(&table, "waits", TABLE_NUMBER, 2);
        table_optional(&table, "slowest in", TABLE_NUMBER, 1);
        table_column(&table, "makes others wait", TABLE_NUMBER);
        table_column(&table, "differs most in", TABLE_TEXT);
        for (size_t i = 0; i < to_blame(job, RANKS_SHOWN); i++)
            rank_row(&table, &job->ranks[i], scale);
        table_print(&table, &report->page, report->style);
        table_release(&table);
    }
    if (job->rank_count > 0)
        say_missing(report, job);
}

static void put_rank(struct json *json, const struct analysis *analysis,
                     const struct snap_rank *rank)
{
    const struct ss_text host = rank->host ? (struct ss_text){rank->host, strlen(rank->host)}
                                           : ss_run_info(analysis->run, rank->process, "host");

    json_begin_object(json, NULL);
    json_int(json, "rank", rank->rank);
    json_bytes(json, "host", host.data, host.size);
    report_json_interval(json, "share", "share_ci", rank->blame);
    json_double(json, "last_share", rank->last_share);
    json_double(json, "own_ns", rank->own_ns);
    json_double(json, "wait_ns", rank->wait_ns);
    if (rank->stage >= 0)
        json_string(json, "stage", ss_stage_text((unsigned)rank->stage));
    else
        json_null(json, "stage");
    json_end_object(json);
}

static double known(const struct blame *blame, double value)
{
    return blame->steps > 0 ? value : NAN;
}

void report_json_job(struct json *json, const struct analysis *analysis)
{
    const struct snap_job *job = &analysis->snapshot->job;
    const struct blame *blame = &job->blame;

    if (job->rank_count == 0) {
        json_null(json, "job");
        return;
    }
    json_begin_object(json, "job");
    if (job->id)
        json_string(json, "id", job->id);
    else
        json_null(json, "id");
    json_uint(json, "ranks", job->rank_count);
    json_uint(json, "hosts", job->hosts);
    json_uint(json, "world", job->world);
    json_uint(json, "missing_count", job->missing_count);
    json_begin_array(json, "missing");
    for (uint32_t i = 0; i < job->missing_count && i < SNAP_MISSING; i++)
        json_uint(json, NULL, job->missing[i]);
    json_end_array(json);
    json_uint(json, "steps", blame->steps);
    json_double(json, "step_ns", known(blame, blame->step_ns));
    json_begin_object(json, "own_ns");
    json_double(json, "mean", known(blame, blame->own_ns));
    json_double(json, "p50", known(blame, blame->own_p50_ns));
    json_double(json, "p95", known(blame, blame->own_p95_ns));
    json_double(json, "max", known(blame, blame->own_max_ns));
    json_end_object(json);
    json_double(json, "skew", blame->own_ns > 0 ? blame->own_max_ns / blame->own_ns : NAN);
    json_double(json, "wait_ns", known(blame, blame->wait_ns));
    json_double(json, "exchange_ns", known(blame, blame->exchange_ns));
    json_begin_array(json, "blame");
    for (size_t i = 0; i < to_blame(job, RANKS_LISTED); i++)
        put_rank(json, analysis, &job->ranks[i]);
    json_end_array(json);
    json_double(json, "clock_error_ns", job->id ? job->clock_error_ns : 0);
    if (analysis->job)
        report_json_launches(json, analysis->job);
    json_end_object(json);
}
