/* What is known of a run beside its records: where it is, and what the supervisor saw of the
 * command: when it was started, when and how it ended.
 *
 * The supervisor keeps that in the file "outcome" of the run directory, in the form of the manifest
 * (format 1): written when the command was started, and again when it has ended, each
 * time as a new file that is renamed over the old one. */
#ifndef LOAD_RUN_FACTS_H
#define LOAD_RUN_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "stepscope/reader.h"

#define RUN_OUTCOME_FILE "outcome"
#define RUN_SUMMARY_FILE "summary" /* of a run that gave up records: report_lost.c */

struct run_facts {
    char *path;      /* of the run directory */
    char *elsewhere; /* where its process files are, if not there; NULL */
    uint32_t pid;    /* of the command; 0: no supervisor, and nothing of this is known */
    int64_t started_ns, ended_ns; /* fork, reaped: CLOCK_MONOTONIC_RAW; 0: not yet */
    int exit_code;                /* of a command that has ended by itself, else -1 */
    int signal;                   /* that ended it, else 0 */
    int64_t user_ns, system_ns;   /* CPU time, of its own children too that it waited for */
    int64_t max_rss_bytes;        /* the largest of them; 0: nothing of this is known */
};

/* 0 or SS_E_NOMEM; a run without an outcome is none the worse. A released one is as {0}. */
int run_facts_load(struct run_facts *facts, const char *path);
void run_facts_release(struct run_facts *facts);

/* The content of the file. */
void run_facts_write(struct buf *out, const struct run_facts *facts);

/* Last part of the path: what the run is called. */
const char *run_facts_name(const struct run_facts *facts);

/* The facts on a process of the run. The command's own lives, for the books, from the moment when
 * it was started to the moment when it was reaped. */
struct ss_process run_facts_process(const struct run_facts *facts, const struct ss_run *run,
                                    size_t index);

/* The few numbers of a run that a list of runs shows, kept in the run directory when it ends so
 * that the records need not be read again: the file "result", in the form of the manifest
 * (format 1). */
#define RUN_RESULT_FILE "result"

enum { RUN_VERDICT_SIZE = 48 };

struct run_result {
    int64_t steps, spans;            /* spans: without those of the garbage collector */
    double median_ns, samples_per_s; /* NAN: not known */
    char verdict[RUN_VERDICT_SIZE];  /* "": none */
};

/* The content of the file. */
void run_result_write(struct buf *out, const struct run_result *result);

/* False: there is none in this directory, or memory is short. */
bool run_result_load(struct run_result *result, const char *path);

/* Neither a step nor anything else of the program was recorded. */
bool run_result_is_empty(const struct run_result *result);

#endif
