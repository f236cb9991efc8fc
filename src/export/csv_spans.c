/* One row a span. */
#include "export/csv_cells.h"
#include "export/flag_words.h"
#include "export/name_slots.h"
#include "export/run_walk.h"

struct span_csv {
    const struct export_job *job;
    struct csv_row row;
    ss_ns begin_ns;
    struct name_slots names; /* the cells that a name has */
    bool failed;
};

static void write_head(struct csv_row *row)
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

    if (!slot ||
        (!slot->text && !make_cells(ss_run_name(csv->job->run, process, name), slot))) {
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
    struct span_csv csv = {
        .job = job, .row = {.out = out}, .begin_ns = run_walk_begin_ns(job)};
    const struct run_walk_reader reader = {
        .context = &csv, .out = out, .record = write_span};

    write_head(&csv.row);
    const int failed = run_walk_records(job, &reader);
    name_slots_release(&csv.names);
    return failed ? failed : csv.failed ? SS_E_NOMEM : 0;
}

const struct export_format export_csv_spans = {
    .name = "csv-spans",
    .summary = "one row a span, in the order in which they ended",
    .write = write_spans,
};
