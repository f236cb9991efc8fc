/* What is in a run, as text. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "read/run.h"
#include "render/units.h"
#include "report/info.h"
#include "report/report_parts.h"

enum { COMMAND_COLUMNS = 210, TEXT_COLUMNS = 60 };

static void say_whole(struct page *page, const struct tally *tally)
{
    bool live = ss_run_is_live(tally->run);

    if (!tally->whole) {
        buf_printf(&page->value, "NO: see Lost below");
    } else {
        buf_printf(&page->value, "%s: nothing was lost", live ? "so far" : "yes");
        if (tally->unfinished > 0) {
            buf_add_text(&page->value, "; ");
            page_count(page, tally->unfinished, "span was", "spans were");
            buf_add_text(&page->value, " open at the end");
        }
    }
    page_field(page, "Whole");
}

static void say_one_end(struct page *page, enum ss_process_end end)
{
    static const char *const words[] = {
        [SS_END_LIVE] = " so far, still recording",
        [SS_END_STOPPED] = ", then recording was stopped",
        [SS_END_EXITED] = ", then it exited",
        [SS_END_KILLED] = ", then it was killed",
        [SS_END_UNKNOWN] = "; how it ended is unknown",
    };

    buf_add_text(&page->value, words[end <= SS_END_UNKNOWN ? end : SS_END_UNKNOWN]);
}

static void say_many_ends(struct page *page, const struct tally *tally)
{
    uint64_t counts[SS_END_UNKNOWN + 1] = {0};
    const char *between = "; processes: ";

    for (size_t i = 0; i < ss_run_processes(tally->run); i++) {
        enum ss_process_end end = ss_run_process(tally->run, i)->end;
        counts[end <= SS_END_UNKNOWN ? end : SS_END_UNKNOWN] += run_is_training(tally->run, i);
    }
    for (unsigned end = 0; end <= SS_END_UNKNOWN; end++) {
        if (counts[end] == 0)
            continue;
        buf_printf(&page->value, "%s%" PRIu64 " %s", between, counts[end],
                   tally_end_word((enum ss_process_end)end));
        between = ", ";
    }
}

static void say_took(struct page *page, const struct tally *tally, const struct analysis *analysis)
{
    char text[UNITS_SIZE];

    buf_add_text(&page->value, units_duration(text, report_wall_ns(analysis)));
    if (run_training_processes(tally->run) == 1)
        say_one_end(page, ss_run_process(tally->run, run_first_training(tally->run))->end);
    else
        say_many_ends(page, tally);
    page_field(page, "Took");
}

static void say_holds(struct page *page, const struct tally *tally, const struct analysis *analysis)
{
    char text[UNITS_SIZE];

    const struct snapshot *snapshot = analysis->snapshot;
    page_count(page, report_steps(analysis), "step", "steps");
    if (snapshot->loop_count > 1)
        page_joined(page, " (%s in %zu loops)", units_integer(text, report_all_steps(analysis)),
                    snapshot->loop_count);
    buf_add_text(&page->value, ", ");
    page_count(page, tally->sum.spans, "span", "spans");
    buf_add_text(&page->value, ", ");
    page_count(page, run_training_processes(tally->run), "process", "processes");
    buf_add_text(&page->value, ", ");
    page_count(page, tally->sum.threads, "thread", "threads");
    buf_printf(&page->value, ", %s", units_bytes(text, tally->bytes));
    page_field(page, "Holds");
}

/* Value of a key of the run, or of its first process. */
static struct ss_text find_info(const struct tally *tally, const char *key)
{
    struct ss_text value = ss_run_info(tally->run, SIZE_MAX, key);

    if (value.size == 0 && run_training_processes(tally->run) > 0)
        value = ss_run_info(tally->run, run_first_training(tally->run), key);
    return value;
}

static void say_command(struct page *page, const struct tally *tally)
{
    struct ss_text command = find_info(tally, "command");

    if (command.size == 0)
        command = find_info(tally, "executable");
    if (command.size == 0)
        return;
    page_text(page, command, COMMAND_COLUMNS);
    page_field(page, "Command");
}

static void say_host(struct page *page, const struct tally *tally)
{
    static const char *const keys[] = {"host", "kernel", "cpu"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct ss_text value = find_info(tally, keys[i]);
        if (value.size == 0)
            continue;
        if (page->value.size > 0)
            buf_add_text(&page->value, ", ");
        page_text(page, value, TEXT_COLUMNS);
    }
    if (page->value.size > 0)
        page_field(page, "Host");
}

static void say_recorded(struct page *page, const struct tally *tally)
{
    int64_t start_ns = ss_run_process(tally->run, 0)->start_realtime_ns;
    char text[64];
    struct tm parts;

    for (size_t i = 1; i < ss_run_processes(tally->run); i++)
        if (ss_run_process(tally->run, i)->start_realtime_ns < start_ns)
            start_ns = ss_run_process(tally->run, i)->start_realtime_ns;
    time_t seconds = (time_t)(start_ns / 1000000000);
    if (start_ns > 0 && gmtime_r(&seconds, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) > 0)
        buf_add_text(&page->value, text);
    else
        buf_add_text(&page->value, "at an unknown time");
    struct ss_text version = find_info(tally, "version");
    if (version.size > 0) {
        buf_add_text(&page->value, ", by stepscope ");
        page_text(page, version, TEXT_COLUMNS);
    }
    page_field(page, "Recorded");
}

/* The process whose clock is the worst: a suspect one, else the one with the largest drift. */
static size_t worst_clock(const struct ss_run *run, uint64_t *suspects)
{
    size_t worst = 0;

    *suspects = 0;
    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *process = ss_run_process(run, i);
        const struct ss_process *before = ss_run_process(run, worst);
        *suspects += process->clock_suspect;
        if (process->clock_suspect > before->clock_suspect ||
            (process->clock_suspect == before->clock_suspect &&
             process->clock_drift_ppm > before->clock_drift_ppm))
            worst = i;
    }
    return worst;
}

static void say_clock(struct page *page, const struct tally *tally)
{
    uint64_t suspects;
    size_t worst = worst_clock(tally->run, &suspects);
    const struct ss_process *process = ss_run_process(tally->run, worst);
    char text[UNITS_SIZE];

    if (process->clock == SS_CLOCK_RAW)
        buf_add_text(&page->value, "CLOCK_MONOTONIC_RAW");
    else
        buf_printf(&page->value, "%s at %.3f GHz",
                   process->clock == SS_CLOCK_TSC ? "TSC" : "ARM counter",
                   process->ticks_per_s / 1e9);
    buf_add_text(&page->value, ", ");
    page_count(page, process->calibrations, "calibration", "calibrations");
    if (process->clock_drift_ppm > 0.0)
        buf_printf(&page->value, ", drift %.1f ppm", process->clock_drift_ppm);
    if (suspects == 0) {
        buf_add_text(&page->value, ": fine");
    } else {
        buf_printf(&page->value, ", jump %s: SUSPECT, ",
                   units_duration(text, process->clock_jump_ns));
        buf_add_text(
            &page->value,
            "the machine was suspended or migrated; do not trust times across that moment");
        if (ss_run_processes(tally->run) > 1)
            buf_printf(&page->value, " (%" PRIu64 " processes, the worst is %zu)", suspects, worst);
    }
    page_field(page, "Clock");
}

/* What a span was measured to cost, over all processes that measured it. */
static double span_cost_ns(const struct tally *tally)
{
    double sum_ps = 0;

    for (size_t i = 0; i < ss_run_processes(tally->run); i++)
        sum_ps +=
            (double)tally->processes[i].measured * ss_run_process(tally->run, i)->span_cost_ps;
    return sum_ps / 1000.0 / (double)tally->sum.measured;
}

static void say_cost(struct page *page, const struct tally *tally)
{
    char spans[UNITS_SIZE], time[UNITS_SIZE], share[UNITS_SIZE];
    const uint64_t measured = tally->sum.measured;
    const double all_ns = (double)tally->process_ns;

    if (measured == 0)
        buf_add_text(&page->value, "the cost of a span was not measured");
    else
        buf_printf(&page->value, "%.1f ns per span x %s %s = %s, %s of the time",
                   span_cost_ns(tally), units_integer(spans, measured),
                   measured == 1 ? "span" : "spans",
                   units_duration(time, (int64_t)tally->sum.cost_ns),
                   units_share(share, (double)tally->sum.cost_ns, all_ns));
    buf_printf(&page->value, "; helper thread %s of CPU, %s",
               units_duration(time, (int64_t)tally->helper_cpu_ns),
               units_share(share, (double)tally->helper_cpu_ns, all_ns));
    page_field(page, "Cost");
}

static void say_skipped(struct page *page, const struct hook_entry *hook)
{
    buf_add_text(&page->value, "skipped ");
    page_text(page, (struct ss_text){hook->target.data, hook->target.size}, TEXT_COLUMNS);
    buf_add_text(&page->value, ": ");
    page_text(page, (struct ss_text){hook->reason.data, hook->reason.size}, TEXT_COLUMNS);
    page_field(page, "");
}

static void say_installed(struct page *page, const struct tally *tally)
{
    const char *between = "installed ";

    for (size_t i = 0; i < tally->hooks.count; i++) {
        const struct hook_entry *hook = &tally->hooks.entry[i];
        if (hook->skipped)
            continue;
        buf_add_text(&page->value, between);
        page_text(page, (struct ss_text){hook->target.data, hook->target.size}, TEXT_COLUMNS);
        between = ", ";
    }
    if (page->value.size > 0)
        page_field(page, "");
}

/* "PyTorch 2.13: 67 of 67 installed" */
static void say_groups(struct page *page, const struct tally *tally)
{
    struct hook_group group[HOOK_GROUPS_MOST];
    const size_t count = hook_list_groups(&tally->hooks, group);

    for (size_t i = 0; i < count; i++) {
        buf_add_text(&page->value, group[i].framework);
        if (group[i].version[0])
            buf_printf(&page->value, " %s", group[i].version);
        buf_printf(&page->value, ": %u of %u installed", group[i].installed,
                   group[i].installed + group[i].skipped);
        page_field(page, i == 0 ? "Hooks" : "");
    }
}

static void say_hooks(struct page *page, const struct tally *tally, bool all)
{
    say_groups(page, tally);
    for (size_t i = 0; i < tally->hooks.count; i++)
        if (tally->hooks.entry[i].skipped)
            say_skipped(page, &tally->hooks.entry[i]);
    if (all)
        say_installed(page, tally);
}

static void say_records(struct page *page, const struct tally *tally)
{
    char text[UNITS_SIZE];
    const char *between = ": ";

    page_count(page, tally->sum.records, "record", "records");
    for (unsigned i = 1; i < SS_KIND_COUNT; i++) {
        if (tally->kinds[i] == 0)
            continue;
        buf_add_text(&page->value, between);
        page_joined(page, "%s %s", ss_kind_text(i), units_integer(text, tally->kinds[i]));
        between = ", ";
    }
    page_field(page, "Records");
}

void info_text(struct sink *out, const struct tally *tally, const struct analysis *analysis,
               bool all_hooks)
{
    struct page page;

    page_init(&page, out);
    page_text(&page, (struct ss_text){tally->path, strlen(tally->path)}, COMMAND_COLUMNS);
    page_field(&page, "Run");
    say_whole(&page, tally);
    say_took(&page, tally, analysis);
    say_holds(&page, tally, analysis);
    info_text_lost(&page, tally);
    info_text_open(&page, tally);
    page_line(&page);
    if (ss_run_processes(tally->run) > 0) {
        say_command(&page, tally);
        say_host(&page, tally);
        say_recorded(&page, tally);
        say_clock(&page, tally);
        say_cost(&page, tally);
    }
    say_hooks(&page, tally, all_hooks);
    say_records(&page, tally);
    info_text_stages(&page, tally);
    info_text_processes(&page, tally);
    page_release(&page);
}
