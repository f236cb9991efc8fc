/* Finds and reads the JOB that a command was given. */
#ifndef CLI_JOB_ARGUMENT_H
#define CLI_JOB_ARGUMENT_H

#include "cli/console.h"
#include "job/job_view.h"

/* Whether the path is a job: the directory of several launches, or files of parts. */
bool job_argument_is_job(const char *path);

/* Its ranks beside each other. False after a message on stderr; release the view in either case. */
bool job_argument_load(const struct console *console, const char *path, struct job_view *view);

/* The run of a rank, or of the lowest one that has its records here (`rank` -1), in the directory
 * of the job. The caller frees it; NULL: it is not here. */
char *job_argument_run(const struct job_view *view, const char *path, int rank);

#endif
