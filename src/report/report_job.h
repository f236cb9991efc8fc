/* A job: its ranks, its hosts and what is missing of it, as text and as JSON. */
#ifndef REPORT_REPORT_JOB_H
#define REPORT_REPORT_JOB_H

#include "job/job_view.h"
#include "report/report_parts.h"

/* What the table of ranks has no place for: the job, and what of it is missing. */
void report_job(struct report *report);

/* Of a job of which no records are here. */
void report_job_alone(struct sink *out, const struct analysis *analysis, const struct style *style);
void report_json_job_alone(struct sink *out, const struct analysis *analysis);

/* Keys of "job" that only a job of several launches has. */
void report_json_launches(struct json *json, const struct job_view *job);

/* `stepscope ranks`: all ranks or hosts as rows. */
enum job_order { JOB_BY_BLAME, JOB_BY_HOST, JOB_BY_STAGE };
struct job_table {
    const struct job_view *job;
    enum job_order order;
    unsigned stage;
};
void report_job_table(struct sink *out, const struct job_table *table, const struct style *style);
void report_job_csv(struct sink *out, const struct job_table *table);
void report_job_json(struct sink *out, const struct job_table *table);

#endif
