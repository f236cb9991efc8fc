/* Prints what `stepscope run` prints of a run: report_view summary|status RUN [DEADLINE]. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "report/report.h"

int main(int count, char **words)
{
    const struct style style = style_for(STDOUT_FILENO);
    struct run_facts facts;
    struct feed feed;
    struct sink out;

    int64_t deadline_ns = 0;

    if (count < 3 || count > 4 || (count == 4 && !duration_parse(words[3], &deadline_ns)) ||
        run_facts_load(&facts, words[2]) != 0)
        return 2;
    struct ss_run *run = ss_run_open(words[2], NULL);
    if (!run || feed_init(&feed, run, &facts) != 0 || feed_more(&feed) != 0)
        return 3;
    feed_finish(&feed);
    struct snapshot *snapshot = model_snapshot(feed.model);
    struct analysis analysis;

    analysis_make(&analysis, snapshot, run, &facts, &feed.hooks);
    analysis.deadline_ns = deadline_ns;
    sink_init_fd(&out, STDOUT_FILENO);
    if (strcmp(words[1], "summary") == 0)
        report_summary(&out, &analysis, &style);
    else
        report_status_line(&out, &analysis, &style);
    const int failed = sink_flush(&out);
    snapshot_free(snapshot);
    feed_release(&feed);
    ss_run_close(run);
    run_facts_release(&facts);
    return failed ? 3 : 0;
}
