/* What was run, when and where; what it holds and used. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "read/run.h"
#include "render/units.h"
#include "report/report_parts.h"

enum { TEXT_MOST = 60, COMMAND_MOST = 210 };

static void say_recorded(struct report *report)
{
    const struct ss_run *run = report->analysis->run;
    int64_t start_ns = 0;
    char text[64];
    struct tm parts;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const int64_t own = ss_run_process(run, i)->start_realtime_ns;
        start_ns = start_ns == 0 || (own > 0 && own < start_ns) ? own : start_ns;
    }
    time_t seconds = (time_t)(start_ns / 1000000000);
    if (start_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return;
    buf_add_text(&report->page.value, text);
    const struct ss_text host = report_info(report->analysis, "host");
    if (host.size > 0) {
        buf_add_text(&report->page.value, " on ");
        page_text(&report->page, host, TEXT_MOST);
    }
    page_field(&report->page, "Recorded");
}

/* What the supervisor was told by the kernel when the command had ended. */
static void say_usage(struct report *report)
{
    const struct run_facts *facts = report->analysis->facts;
    const int64_t cpu_ns = facts->user_ns + facts->system_ns;
    const int64_t wall_ns = facts->ended_ns - facts->started_ns;
    char text[UNITS_SIZE];

    if (facts->ended_ns == 0 || wall_ns <= 0 || facts->max_rss_bytes <= 0)
        return;
    buf_printf(&report->page.value, "%.2f cores on average; largest process %s",
               (double)cpu_ns / (double)wall_ns, units_bytes(text, (uint64_t)facts->max_rss_bytes));
    page_field(&report->page, "Used");
}

/* How the processes ended, if there are several. */
static void add_ends(struct buf *out, const struct ss_run *run)
{
    static const char *const words[] = {[SS_END_LIVE] = "live",
                                        [SS_END_STOPPED] = "stopped",
                                        [SS_END_EXITED] = "exited",
                                        [SS_END_KILLED] = "killed",
                                        [SS_END_UNKNOWN] = "ended unknown"};
    uint64_t counts[SS_END_UNKNOWN + 1] = {0};
    const char *between = " (";

    for (size_t i = 0; i < ss_run_processes(run); i++)
        counts[ss_run_process(run, i)->end] += run_is_training(run, i);
    for (size_t end = 0; end <= SS_END_UNKNOWN; end++) {
        if (counts[end] == 0)
            continue;
        buf_printf(out, "%s%" PRIu64 " %s", between, counts[end], words[end]);
        between = ", ";
    }
    buf_add_text(out, ")");
}

void report_facts(struct report *report)
{
    const struct analysis *analysis = report->analysis;
    const struct ss_text command = report_command(analysis);
    struct page *page = &report->page;

    page_text(page, (struct ss_text){analysis->facts->path, strlen(analysis->facts->path)},
              COMMAND_MOST);
    page_field(page, "Run");
    if (command.size > 0) {
        page_text(page, command, COMMAND_MOST);
        page_field(page, "Command");
    }
    say_recorded(report);
    page_count(page, run_training_processes(analysis->run), "process", "processes");
    if (run_training_processes(analysis->run) > 1)
        add_ends(&page->value, analysis->run);
    buf_add_text(&page->value, ", ");
    page_count(page, analysis->snapshot->spans_seen, "span", "spans");
    if (report->loop)
        buf_printf(&page->value, ", steps counted by %s", model_source_text(report->loop->source));
    page_field(page, "Holds");
    say_usage(report);
}
