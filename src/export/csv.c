/* One row a step. */
#include <string.h>

#include "export/csv_cells.h"
#include "export/run_walk.h"
#include "output/report_parts.h"

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
    .summary = "one row a step: times by stage, loop, epoch",
    .write = write_steps,
};
