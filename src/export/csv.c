/* Comma-separated values: one row a step, or one row a span. */
#include <string.h>

#include "base/sink.h"
#include "base/text.h"
#include "export/run_walk.h"
#include "report/report_parts.h"

/* Writes rows of cells with commas between them, quoted as RFC 4180 says, a line feed at the end.
 *
 * Spreadsheets take a cell that begins with = + - or @ for a formula, which may run programs. Texts
 * of a run get an apostrophe in front of such a character, also after a quote, a comma or a
 * semicolon, where a program that parts cells elsewhere would see a beginning. Control characters
 * and what is not UTF-8 go as base/text.h has it. */
struct csv_row {
    struct sink *out;
    bool filled; /* has a cell already */
};

/* Several cells that are made already, as by csv_quote(). */
static void csv_cells(struct csv_row *row, const char *cells, size_t size)
{
    if (row->filled)
        sink_write(row->out, ",", 1);
    row->filled = true;
    sink_write(row->out, cells, size);
}

/* Our own words: without commas and quotes. */
static void csv_word(struct csv_row *row, const char *word)
{
    csv_cells(row, word, strlen(word));
}

static void csv_empty(struct csv_row *row)
{
    csv_cells(row, "", 0);
}

/* printf() would take longer than all the rest of a row. */
static void csv_int(struct csv_row *row, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        *--at = '-';
    csv_cells(row, at, (size_t)(digits + sizeof digits - at));
}

static void csv_end(struct csv_row *row)
{
    sink_write(row->out, "\n", 1);
    row->filled = false;
}

/* The wide forms are the same to some spreadsheets. */
static bool begins_formula(uint32_t character)
{
    static const uint32_t risky[] = {'=', '+', '-', '@', 0xff0b, 0xff0d, 0xff1d, 0xff20};

    for (size_t i = 0; i < sizeof risky / sizeof risky[0]; i++)
        if (character == risky[i])
            return true;
    return false;
}

static bool parts_cells(uint32_t character)
{
    return character == ',' || character == ';' || character == '"' || character == '\'';
}

/* Appends a text of a run as one cell. */
static void csv_quote(struct buf *out, struct ss_text text)
{
    struct buf safe = {0};
    uint32_t character;
    bool at_begin = true, quoted;

    text_safe(&safe, text.data, text.size);
    quoted =
        safe.size > 0 && (memchr(safe.data, ',', safe.size) || memchr(safe.data, '"', safe.size) ||
                          memchr(safe.data, ';', safe.size));
    if (quoted)
        buf_add(out, "\"", 1);
    for (size_t i = 0, bytes; i < safe.size; i += bytes) {
        bytes = utf8_next(safe.data + i, safe.size - i, &character);
        if (at_begin && begins_formula(character))
            buf_add(out, "'", 1);
        if (character == '"')
            buf_add(out, "\"", 1);
        buf_add(out, safe.data + i, bytes);
        /* blanks that a program takes off make what follows the beginning */
        at_begin = parts_cells(character) || (at_begin && character == ' ');
    }
    if (quoted)
        buf_add(out, "\"", 1);
    out->failed = out->failed || safe.failed;
    buf_release(&safe);
}

/* One row a step. */

struct step_csv {
    struct csv_row row;
    const struct snapshot *snapshot;
    ss_ns begin_ns;
    struct buf name; /* under construction */
};

static void write_head(void *context, const struct snapshot *snapshot)
{
    struct step_csv *csv = context;
    struct csv_row *row = &csv->row;

    csv->snapshot = snapshot;
    csv_word(row, "loop,loop_name,process,rank,thread,step,steps,epoch,part,samples");
    csv_word(row, "start_ns,end_ns,time_ns");
    REPORT_FOR_STAGES(stage)
    {
        csv_word(row, ss_stage_text((unsigned)stage));
        sink_text(row->out, "_ns");
    }
    csv_end(row);
}

static void int_or_empty(struct csv_row *row, int64_t value, bool known)
{
    if (known)
        csv_int(row, value);
    else
        csv_empty(row);
}

static void write_loop(struct step_csv *csv, const struct run_walk_step *step)
{
    struct csv_row *row = &csv->row;
    int rank = -1;

    if (step->loop == SIZE_MAX) {
        csv_empty(row);
        csv_empty(row);
    } else {
        const struct snap_loop *loop = &csv->snapshot->loops[step->loop];
        rank = loop->rank;
        csv_int(row, (int64_t)step->loop);
        buf_reset(&csv->name);
        csv_quote(&csv->name, (struct ss_text){loop->name, strlen(loop->name)});
        csv_cells(row, buf_text(&csv->name), csv->name.size);
    }
    csv_int(row, step->step->process);
    int_or_empty(row, rank, rank >= 0);
    csv_int(row, step->step->tid);
}

static void write_step(void *context, const struct run_walk_step *step)
{
    struct step_csv *csv = context;
    struct csv_row *row = &csv->row;
    const struct model_step *own = step->step;

    write_loop(csv, step);
    csv_int(row, own->number);
    csv_int(row, own->steps);
    int_or_empty(row, own->epoch, own->epoch >= 0);
    csv_word(row, run_walk_part_text(step->part));
    int_or_empty(row, own->samples, own->samples > 0);
    csv_int(row, run_walk_since(own->start_ns, csv->begin_ns));
    csv_int(row, run_walk_since(own->end_ns, csv->begin_ns));
    csv_int(row, own->time_ns);
    REPORT_FOR_STAGES(stage)
    csv_int(row, own->stage_ns[stage]);
    csv_end(row);
}

static int write_steps(const struct export_job *job, struct sink *out)
{
    struct step_csv csv = {.row = {.out = out}, .begin_ns = run_walk_begin_ns(job)};
    const struct run_walk_reader reader = {
        .context = &csv, .out = out, .begin = write_head, .step = write_step};
    int failed = run_walk_steps(job, &reader);

    if (csv.name.failed)
        failed = SS_E_NOMEM;
    buf_release(&csv.name);
    return failed;
}

const struct export_format export_csv = {
    .name = "csv",
    .summary = "one row per step: times by stage, loop, epoch",
    .write = write_steps,
};

/* One row a span. */

struct span_csv {
    const struct export_job *job;
    struct csv_row row;
    ss_ns begin_ns;
    struct name_slots names; /* the cells that a name has */
    bool failed;
};

static void write_span_head(struct csv_row *row)
{
    csv_word(row, "process,pid,rank,lane,thread,depth,name,object,stage,role,scope");
    csv_word(row, "start_ns,duration_ns,argument,flags");
    csv_end(row);
}

static bool make_cells(const struct ss_name_info *name, struct name_slot *slot)
{
    struct buf cells = {0};

    csv_quote(&cells, name->text);
    buf_add(&cells, ",", 1);
    csv_quote(&cells, name->object);
    buf_printf(&cells, ",%s,%s,%s", ss_stage_text(name->stage), ss_role_text(name->role),
               ss_scope_text(name->scope));
    if (cells.failed) {
        buf_release(&cells);
        return false;
    }
    slot->text = cells.data;
    slot->size = cells.size;
    return true;
}

static void write_name(struct span_csv *csv, uint32_t process, uint32_t name)
{
    struct name_slot *slot = name_slots_at(&csv->names, process, name);

    if (!slot || (!slot->text && !make_cells(ss_run_name(csv->job->run, process, name), slot))) {
        csv->failed = true;
        return;
    }
    csv_cells(&csv->row, slot->text, slot->size);
}

static void write_span(void *context, uint32_t process, const struct ss_record *record)
{
    struct span_csv *csv = context;
    struct csv_row *row = &csv->row;
    char flags[FLAG_WORDS_SIZE];

    if (record->kind != SS_KIND_SPAN || csv->failed)
        return;
    const struct ss_process *facts = ss_run_process(csv->job->run, process);
    csv_int(row, process);
    csv_int(row, facts->pid);
    if (facts->rank >= 0)
        csv_int(row, facts->rank);
    else
        csv_empty(row);
    csv_int(row, ss_run_lane(csv->job->run, record->lane)->number);
    csv_int(row, record->tid);
    csv_int(row, record->depth);
    write_name(csv, process, record->name);
    csv_int(row, run_walk_since(record->start_ns, csv->begin_ns));
    csv_int(row, run_walk_since(record->end_ns, record->start_ns));
    csv_int(row, record->u.arg);
    csv_cells(row, flags, flag_words(flags, record->flags));
    csv_end(row);
}

static int write_spans(const struct export_job *job, struct sink *out)
{
    struct span_csv csv = {.job = job, .row = {.out = out}, .begin_ns = run_walk_begin_ns(job)};
    const struct run_walk_reader reader = {.context = &csv, .out = out, .record = write_span};

    write_span_head(&csv.row);
    const int failed = run_walk_records(job, &reader);
    name_slots_release(&csv.names);
    return failed ? failed : csv.failed ? SS_E_NOMEM : 0;
}

const struct export_format export_csv_spans = {
    .name = "csv-spans",
    .summary = "one row per span, in the order in which they ended",
    .write = write_spans,
};
