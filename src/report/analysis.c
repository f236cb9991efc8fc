#include "report/analysis.h"

#include <math.h>
#include <stdio.h>

#include "load/operation_list.h"
#include "report/report_parts.h"

void analysis_make(struct analysis *analysis, const struct snapshot *snapshot, struct ss_run *run,
                   const struct run_facts *facts, const struct hook_list *hooks)
{
    analysis->run = run;
    analysis->facts = facts;
    analysis->hooks = hooks;
    analysis->snapshot = snapshot;
    analysis->job = NULL;
    analysis->deadline_ns = 0;
    struct operation_list operations = {0};
    const bool is_known = facts && operation_list_load(&operations, facts->path) == 0;
    diagnose(&analysis->diagnosis, snapshot, run, hooks ? hooks->frameworks : 0,
             is_known ? &operations : NULL);
    operation_list_release(&operations);
}

const char *analysis_verdict(const struct analysis *analysis)
{
    return diagnosis_verdict(&analysis->diagnosis, analysis->snapshot);
}

void analysis_result(const struct analysis *analysis, struct run_result *result)
{
    const struct snapshot *snapshot = analysis->snapshot;
    const struct snap_loop *loop = snapshot->loop_count > 0 ? snapshot->loops : NULL;

    *result = (struct run_result){.median_ns = NAN, .samples_per_s = NAN};
    result->steps = loop ? loop->steps : 0;
    for (size_t i = 0; i < snapshot->span_count; i++)
        if (snapshot->spans[i].stage != SS_STAGE_GC)
            result->spans += (int64_t)snapshot->spans[i].count;
    if (loop && report_has_statistics(loop)) {
        result->median_ns = loop->quantiles.p50_ns;
        result->samples_per_s = loop->samples_per_s.mid;
    }
    snprintf(result->verdict, sizeof result->verdict, "%s", analysis_verdict(analysis));
}
