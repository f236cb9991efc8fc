/* Every step by itself: --steps. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "render/numbers.h"
#include "report/report.h"
#include "report/report_parts.h"

enum { NUMBER = 9, START = 11, TIME = 10 };

struct step_table {
    struct sink *out;
    const struct analysis *analysis;
    bool as_json;
    struct json json;
    struct scale scale;
    int stage[SS_STAGE_COUNT]; /* those that have a column */
    int stages;
    bool has_rest;  /* a column for all others */
    bool has_loops; /* one for the number of the loop */
};

static size_t loop_of(const struct snapshot *snapshot, const struct model_step *step)
{
    size_t i = 0;

    while (i < snapshot->loop_count &&
           (snapshot->loops[i].lane != step->lane || snapshot->loops[i].tid != step->tid ||
            snapshot->loops[i].begin_ns != step->loop_begin_ns))
        i++;
    return i;
}

static void print_json(struct step_table *table, const struct model_step *step)
{
    const struct snapshot *snapshot = table->analysis->snapshot;
    const size_t loop = loop_of(snapshot, step);
    struct json *json = &table->json;

    json_begin_object(json, NULL);
    if (loop < snapshot->loop_count)
        json_uint(json, "loop", loop);
    else
        json_null(json, "loop");
    json_uint(json, "process", step->process);
    json_uint(json, "thread", step->tid);
    json_int(json, "step", step->number);
    json_int(json, "steps", step->steps);
    json_int(json, "start_ns", step->start_ns);
    json_int(json, "time_ns", step->time_ns);
    json_bool(json, "counted", step->counted);
    json_begin_object(json, "stages_ns");
    REPORT_FOR_STAGES(stage)
    if (step->stage_ns[stage] != 0)
        json_int(json, ss_stage_text((unsigned)stage), step->stage_ns[stage]);
    json_end_object(json);
    json_end_object(json);
    json_end_line(json);
}

static void print_text(struct step_table *table, const struct model_step *step)
{
    const struct snapshot *snapshot = table->analysis->snapshot;
    int64_t rest = step->time_ns;
    char text[UNITS_SIZE];

    if (table->has_loops)
        sink_printf(table->out, "%4zu", loop_of(snapshot, step));
    sink_printf(table->out, "%*" PRId64 "%*.3f", NUMBER, step->number, START,
                (double)(step->start_ns - report_begin_ns(table->analysis)) * 1e-9);
    sink_printf(table->out, "%*s", TIME, scale_text(text, (double)step->time_ns, table->scale));
    for (int i = 0; i < table->stages; i++) {
        const int64_t ns = step->stage_ns[table->stage[i]];
        rest -= ns;
        sink_printf(table->out, "%*s", TIME, scale_text(text, (double)ns, table->scale));
    }
    if (table->has_rest)
        sink_printf(table->out, "%*s", TIME, scale_text(text, (double)rest, table->scale));
    if (step->steps > 1)
        sink_printf(table->out, " x%" PRId64, step->steps);
    sink_text(table->out, step->counted ? "\n" : " *\n");
}

static void seen(void *context, const struct model_step *step)
{
    struct step_table *table = context;

    if (table->as_json)
        print_json(table, step);
    else
        print_text(table, step);
}

/* The larger stage gets a column first; of two equal ones, the one that is named first. */
static bool is_before(const struct snap_loop *loop, int other, int stage)
{
    const int64_t theirs = loop->stage[other].total_ns, own = loop->stage[stage].total_ns;

    return theirs > own || (theirs == own && other < stage);
}

static void choose_columns(struct step_table *table, const struct snap_loop *loop, size_t columns)
{
    const size_t first = (table->has_loops ? 4 : 0) + NUMBER + START + TIME;
    const size_t marks = 6; /* x12 and * */
    const int room = columns > first + marks ? (int)((columns - first - marks) / TIME) : 0;
    int measured = 0;

    REPORT_FOR_STAGES(stage)
    measured += loop->stage[stage].measured && loop->stage[stage].total_ns > 0;
    table->has_rest = room > 0 && measured > room;
    REPORT_FOR_STAGES(stage)
    {
        int larger = 0;
        REPORT_FOR_STAGES(other)
        larger += is_before(loop, other, stage);
        if (loop->stage[stage].measured && loop->stage[stage].total_ns > 0 &&
            larger < (table->has_rest ? room - 1 : room))
            table->stage[table->stages++] = stage;
    }
}

static void print_heading(const struct step_table *table)
{
    sink_printf(table->out, "Times in %s; * excluded from statistics.\n", table->scale.unit.name);
    if (table->has_loops)
        sink_printf(table->out, "%4s", "loop");
    sink_printf(table->out, "%*s%*s%*s", NUMBER, "step", START, "starts s", TIME, "took");
    for (int i = 0; i < table->stages; i++)
        sink_printf(table->out, "%*s", TIME, ss_stage_text((unsigned)table->stage[i]));
    if (table->has_rest)
        sink_printf(table->out, "%*s", TIME, "rest");
    sink_text(table->out, "\n");
}

int report_step_table(struct sink *out, const struct analysis *analysis, const struct style *style,
                      bool as_json)
{
    const struct snapshot *snapshot = analysis->snapshot;
    struct step_table table = {.out = out, .analysis = analysis, .as_json = as_json};
    struct feed feed;

    json_init(&table.json, out);
    table.has_loops = snapshot->loop_count > 1;
    if (!as_json && snapshot->loop_count > 0) {
        const struct snap_loop *loop = snapshot->loops;
        table.scale = scale_for(loop->step_ns.mid, (double)loop->quantiles.max_ns);
        choose_columns(&table, loop, style->columns);
        print_heading(&table);
    } else if (!as_json) {
        sink_text(out, "This run recorded no training steps.\n");
    }
    int failed = feed_init(&feed, analysis->run, analysis->facts);
    if (!failed) {
        model_observe(feed.model, seen, &table);
        failed = feed_more(&feed);
        feed_finish(&feed);
    }
    feed_release(&feed);
    return failed;
}
