/* All that is known and concluded about a run, made once for each invocation and rendered as text,
 * JSON or a page. */
#ifndef REPORT_ANALYSIS_H
#define REPORT_ANALYSIS_H

#include "diagnose/finding.h"
#include "job/job_view.h"
#include "load/run_facts.h"
#include "summary/snapshot_run.h"

struct analysis {
    struct ss_run *run;
    const struct run_facts *facts; /* NULL: not looked at */
    const struct job_view *job;    /* that the run is a launch of; NULL: the run is all */
    const struct hook_list *hooks; /* NULL: not looked at */
    const struct snapshot *snapshot;
    struct diagnosis diagnosis;
    int64_t deadline_ns; /* for the whole run, set by the caller; 0: none */
};

/* Diagnoses what the snapshot has. All that is given must outlive the analysis, which owns
 * nothing. */
void analysis_make(struct analysis *analysis, const struct snapshot *snapshot, struct ss_run *run,
                   const struct run_facts *facts, const struct hook_list *hooks);

/* The word on top of every report. */
const char *analysis_verdict(const struct analysis *analysis);

/* What a list of runs shows of it. */
void analysis_result(const struct analysis *analysis, struct run_result *result);

#endif
