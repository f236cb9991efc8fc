#include "report/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "render/units.h"
#include "report/tally.h"
#include "stepscope/counters.h"

const struct ss_name_info *dump_name(const struct dump *dump, const struct ss_record *record)
{
    return ss_run_name(dump->run, ss_run_lane(dump->run, record->lane)->process, record->name);
}

static int digits(uint64_t number)
{
    return snprintf(NULL, 0, "%" PRIu64, number);
}

static int wider(int a, int b)
{
    return a > b ? a : b;
}

void dump_init(struct dump *dump, struct ss_run *run, struct sink *out)
{
    size_t processes = ss_run_processes(run);
    ss_ns end_ns;
    uint32_t last_lane = 0;

    *dump = (struct dump){.run = run, .out = out};
    json_init(&dump->json, out);
    tally_extent(run, &dump->start_ns, &end_ns);
    for (size_t i = 0; i < ss_run_lanes(run); i++)
        if (ss_run_lane(run, i)->number > last_lane)
            last_lane = ss_run_lane(run, i)->number;
    dump->seconds_width = digits(tally_difference(end_ns, dump->start_ns) / 1000000000);
    dump->process_width = processes > 1 ? digits(processes - 1) : 0;
    dump->lane_width = wider(digits(last_lane), processes > 1 ? 2 : 4);
}

void dump_release(struct dump *dump)
{
    buf_release(&dump->line);
}

enum { KIND_COLUMNS = 12, DURATION_COLUMNS = 8, STAGE_COLUMNS = 10, MOST_INDENT = 8 };

/* Says what a record is about; dump->line has the columns before. */
typedef void say_kind(struct dump *dump, const struct ss_record *record);

static void add_text(struct dump *dump, struct ss_text text)
{
    text_safe(&dump->line, text.data, text.size);
}

static void say_name(struct dump *dump, const struct ss_record *record)
{
    const struct ss_name_info *name = dump_name(dump, record);

    add_text(dump, name->text);
    if (name->object.size > 0) {
        buf_add_text(&dump->line, " (");
        add_text(dump, name->object);
        buf_add_text(&dump->line, ")");
    }
}

static void say_span(struct dump *dump, const struct ss_record *record)
{
    buf_add_repeated(&dump->line, ' ', record->depth < MOST_INDENT ? record->depth : MOST_INDENT);
    say_name(dump, record);
    if (record->u.arg != 0)
        buf_printf(&dump->line, " arg %" PRId64, record->u.arg);
}

static void say_step(struct dump *dump, const struct ss_record *record)
{
    if (record->u.samples > 0)
        buf_printf(&dump->line, "%" PRIu64 " samples", record->u.samples);
}

static void say_epoch_begin(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "epoch %" PRIu64, record->u.epoch);
}

static void say_counter(struct dump *dump, const struct ss_record *record)
{
    say_name(dump, record);
    buf_printf(&dump->line, " = %.9g", record->u.value);
}

static void say_mark(struct dump *dump, const struct ss_record *record)
{
    say_name(dump, record);
    buf_add_text(&dump->line, ": ");
    add_text(dump, record->u.text.a);
}

static void say_plan(struct dump *dump, const struct ss_record *record)
{
    static const char *const words[] = {"steps", "epochs", "steps per epoch", "batch size"};
    const char *between = "";

    for (size_t i = 0; i < 4; i++) {
        if (record->u.plan[i] == 0)
            continue;
        buf_printf(&dump->line, "%s%s %" PRIu64, between, words[i], record->u.plan[i]);
        between = ", ";
    }
}

static void say_calibration(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "raw %" PRId64 " ns, read in %" PRIu64 " ticks", record->u.clocks[0],
               (uint64_t)record->u.clocks[2]);
}

static void say_sample(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "thread %" PRIu32 ", frames", record->tid);
    for (uint32_t i = 0; i < record->u.sample.frames; i++)
        buf_printf(&dump->line, " %" PRIu32, record->u.sample.frame[i]);
}

static void say_frame(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "%" PRIu32 " is ", record->u.text.id);
    add_text(dump, record->u.text.a);
    buf_add_text(&dump->line, " (");
    add_text(dump, record->u.text.b);
    buf_printf(&dump->line, ":%" PRIu32 ")", record->u.text.line);
    if (record->u.text.traits & SS_FRAME_GENERATOR)
        buf_add_text(&dump->line, ", a generator");
    if (record->u.text.traits & SS_FRAME_FOR)
        buf_printf(&dump->line, ", the next item of a loop over %u lines more",
                   (unsigned)record->u.text.body);
}

static void say_hook(struct dump *dump, const struct ss_record *record)
{
    add_text(dump, record->u.text.a);
    if (record->flags & SS_FLAG_FAILED) {
        buf_add_text(&dump->line, " skipped: ");
        add_text(dump, record->u.text.b);
    }
}

static void say_perturbed(struct dump *dump, const struct ss_record *record)
{
    static const char *const reasons[] = {
        [SS_PERTURBED_PROFILER] = "by another profiler",
        [SS_PERTURBED_SUSPEND] = "the machine was suspended",
        [SS_PERTURBED_EXPERIMENT] = "by an experiment",
    };
    int64_t reason = record->u.arg;

    if (reason >= SS_PERTURBED_PROFILER && reason <= SS_PERTURBED_EXPERIMENT)
        buf_add_text(&dump->line, reasons[reason]);
    else
        buf_printf(&dump->line, "reason %" PRId64, reason);
}

static void say_system(struct dump *dump, const struct ss_record *record)
{
    say_name(dump, record);
    if (record->subject == SS_ALL_CPUS)
        buf_add_text(&dump->line, " of all");
    else
        buf_printf(&dump->line, " of %" PRIu64, record->subject);
    if (record->flags == SS_SYSTEM_ABSENT)
        buf_add_text(&dump->line, " is absent");
    else if (record->flags == SS_SYSTEM_DENIED)
        buf_add_text(&dump->line, " is denied");
    else
        buf_printf(&dump->line, " = %.9g", record->u.value);
}

static void say_declaration(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "%u is ", record->name);
    add_text(dump, record->u.text.a);
    if (record->u.text.b.size > 0) {
        buf_add_text(&dump->line, " (");
        add_text(dump, record->u.text.b);
        buf_add_text(&dump->line, ")");
    }
    if (record->role != SS_ROLE_NONE)
        buf_printf(&dump->line, ", role %s", ss_role_text(record->role));
    if (record->scope != SS_SCOPE_NONE)
        buf_printf(&dump->line, ", scope %s", ss_scope_text(record->scope));
}

static void say_info(struct dump *dump, const struct ss_record *record)
{
    add_text(dump, record->u.text.a);
    buf_add_text(&dump->line, " = ");
    add_text(dump, record->u.text.b);
}

static void say_thread_begin(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "thread %" PRIu32 " ", record->tid);
    add_text(dump, record->u.text.a);
}

static void say_thread_end(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "thread %" PRIu32, record->tid);
}

static void say_lost(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "%" PRId64 " %s dropped", record->u.arg,
               record->u.arg == 1 ? "record" : "records");
}

static void say_clock(struct dump *dump, const struct ss_record *record)
{
    buf_printf(&dump->line, "no core for %" PRIu64 " ns, other threads ran %" PRIu64 " ns",
               record->u.waited_ns, record->subject);
}

static void say_arm(struct dump *dump, const struct ss_record *record)
{
    say_name(dump, record);
    buf_printf(&dump->line, ", round %" PRIu64, record->u.round);
}

static void say_nothing(struct dump *dump, const struct ss_record *record)
{
    (void)dump;
    (void)record;
}

static say_kind *const say_by_kind[SS_KIND_COUNT] = {
    [SS_KIND_SPAN] = say_span,
    [SS_KIND_STEP] = say_step,
    [SS_KIND_LOOP_BEGIN] = say_name,
    [SS_KIND_LOOP_END] = say_nothing,
    [SS_KIND_EPOCH_BEGIN] = say_epoch_begin,
    [SS_KIND_EPOCH_END] = say_nothing,
    [SS_KIND_COUNTER] = say_counter,
    [SS_KIND_MARK] = say_mark,
    [SS_KIND_PLAN] = say_plan,
    [SS_KIND_CALIBRATION] = say_calibration,
    [SS_KIND_SAMPLE] = say_sample,
    [SS_KIND_FRAME] = say_frame,
    [SS_KIND_HOOK] = say_hook,
    [SS_KIND_PERTURBED] = say_perturbed,
    [SS_KIND_SYSTEM] = say_system,
    [SS_KIND_NAME] = say_declaration,
    [SS_KIND_INFO] = say_info,
    [SS_KIND_THREAD_BEGIN] = say_thread_begin,
    [SS_KIND_THREAD_END] = say_thread_end,
    [SS_KIND_LOST] = say_lost,
    [SS_KIND_CLOCK] = say_clock,
    [SS_KIND_ARM] = say_arm,
};

/* Seconds with all nine digits; before the start of the run they are negative. */
static void add_time(struct dump *dump, ss_ns time_ns)
{
    bool before = time_ns < dump->start_ns;
    uint64_t ns = before ? (uint64_t)dump->start_ns - (uint64_t)time_ns
                         : (uint64_t)time_ns - (uint64_t)dump->start_ns;
    char seconds[24];

    snprintf(seconds, sizeof seconds, "%s%" PRIu64, before ? "-" : "", ns / 1000000000);
    buf_printf(&dump->line, "%*s.%09u", dump->seconds_width, seconds, (unsigned)(ns % 1000000000));
}

static void add_lane(struct dump *dump, const struct ss_lane *lane)
{
    if (dump->process_width > 0)
        buf_printf(&dump->line, "  %*" PRIu32 ":%-*" PRIu32, dump->process_width, lane->process,
                   dump->lane_width, lane->number);
    else
        buf_printf(&dump->line, "  %*" PRIu32, dump->lane_width, lane->number);
}

/* A span of minutes stays in seconds, so that the column stays narrow. */
static void add_duration(struct dump *dump, const struct ss_record *record)
{
    uint64_t ns = (uint64_t)record->end_ns - (uint64_t)record->start_ns;
    char text[UNITS_SIZE];

    if (ns < 59950000000)
        units_duration(text, (int64_t)ns);
    else
        snprintf(text, sizeof text, "%" PRIu64 " s", (ns + 500000000) / 1000000000);
    buf_printf(&dump->line, "  %*s", DURATION_COLUMNS, text);
}

static void add_flags(struct dump *dump, const struct ss_record *record, const char *space)
{
    const char *before = "[";

    if (record->kind == SS_KIND_SYSTEM || (record->flags & SS_FLAG_ALL) == 0)
        return;
    buf_add_text(&dump->line, space);
    for (unsigned bit = 0; SS_FLAG_ALL >> bit; bit++) {
        if (record->flags >> bit & 1) {
            buf_printf(&dump->line, "%s%s", before, ss_flag_text(bit));
            before = ",";
        }
    }
    buf_add_text(&dump->line, "]");
}

static void end_line(struct dump *dump)
{
    struct buf *line = &dump->line;

    while (line->size > 0 && line->data[line->size - 1] == ' ')
        line->size--;
    buf_add_text(line, "\n");
    if (line->failed)
        sink_fail(dump->out, SS_E_NOMEM, ENOMEM);
    sink_write(dump->out, buf_text(line), line->size);
    buf_reset(line);
}

void dump_text(struct dump *dump, const struct ss_record *record)
{
    bool lasts = record->kind == SS_KIND_SPAN || record->kind == SS_KIND_PERTURBED ||
                 record->kind == SS_KIND_LOST;
    bool has_stage = record->kind == SS_KIND_SPAN || record->kind == SS_KIND_NAME;

    add_time(dump, record->time_ns);
    add_lane(dump, ss_run_lane(dump->run, record->lane));
    buf_printf(&dump->line, "  %-*s", KIND_COLUMNS, ss_kind_text(record->kind));
    if (lasts)
        add_duration(dump, record);
    else
        buf_add_repeated(&dump->line, ' ', 2 + DURATION_COLUMNS);
    buf_printf(&dump->line, "  %-*s  ", STAGE_COLUMNS,
               has_stage ? ss_stage_text(record->stage) : "");
    size_t columns = dump->line.size;
    say_by_kind[record->kind](dump, record);
    add_flags(dump, record, dump->line.size > columns ? "  " : "");
    end_line(dump);
}

void dump_text_heading(struct dump *dump)
{
    int lane_columns = dump->lane_width + (dump->process_width ? dump->process_width + 1 : 0);

    buf_printf(&dump->line, "%*s  %*s  %-*s  %*s  %-*s  what", dump->seconds_width + 10, "time s",
               lane_columns, "lane", KIND_COLUMNS, "kind", DURATION_COLUMNS, "lasted",
               STAGE_COLUMNS, "stage");
    end_line(dump);
}
