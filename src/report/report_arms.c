/* What the arms of an experiment gained: of a run of `stepscope try`. */
#include "report/report_arms.h"

#include <math.h>
#include <string.h>

#include "render/numbers.h"
#include "render/table.h"
#include "render/units.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { LABEL_COLUMNS = 60 };
static const double worth_a_word = 0.05;

static const char *const words[] = {[COMPARE_INCONCLUSIVE] = "inconclusive",
                                    [COMPARE_SAME] = "same",
                                    [COMPARE_FASTER] = "faster",
                                    [COMPARE_SLOWER] = "slower"};

static void add_row(struct table *table, const struct snap_arm *arm, bool is_first)
{
    char text[UNITS_SIZE];

    table_text(table, arm->label);
    table_cell(table, "%s", arm->step_ns > 0 ? units_duration(text, (int64_t)arm->step_ns) : "-");
    if (is_first) {
        for (int column = 0; column < 3; column++)
            table_cell(table, "%s", "");
    } else if (isfinite(arm->gain.high)) {
        table_cell(table, "%.1f %%", 100 * arm->gain.mid);
        table_cell(table, "%.1f to %.1f", 100 * arm->gain.low, 100 * arm->gain.high);
        table_cell(table, "%s", words[arm->word]);
    } else {
        table_cell(table, "-");
        table_cell(table, "-");
        table_cell(table, "too few rounds");
    }
}

void report_arms_table(struct page *page, const struct snap_arms *arms, const struct style *style)
{
    struct table table;

    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "step", TABLE_NUMBER);
    table_column(&table, "gain", TABLE_NUMBER);
    table_column(&table, "95 % interval", TABLE_NUMBER);
    table_column(&table, "verdict", TABLE_TEXT);
    for (size_t i = 0; i < arms->count; i++)
        add_row(&table, &arms->rows[i], i == 0);
    table_print(&table, page, style);
    table_release(&table);
}

/* By the wall clock, and why. */
static void say_wall(struct page *page, const struct snap_arms *arms)
{
    size_t count = 0;

    for (size_t i = 1; i < arms->count; i++)
        count += !arms->rows[i].is_quiet;
    if (count == 0)
        return;
    if (count + 1 < arms->count)
        page_prose(page, ". The wall clock holds for");
    for (size_t i = 1; i < arms->count && count + 1 < arms->count; i++)
        if (!arms->rows[i].is_quiet) {
            const char *const label = arms->rows[i].label;
            page_prose(page, " '");
            page_text(page, (struct ss_text){label, strlen(label)}, LABEL_COLUMNS);
            page_prose(page, "'");
        }
    if (count + 1 == arms->count)
        page_prose(page, "the wall clock");
    page_prose(page,
               ", since not only the loop's own thread worked for a step there: it has in it what "
               "other programs did");
}

void report_arms_say_clock(struct page *page, const struct snap_arms *arms)
{
    const struct snap_arm *quiet = NULL;
    char share[UNITS_SIZE];

    for (size_t i = arms->count; i-- > 1;)
        quiet = arms->rows[i].is_quiet ? &arms->rows[i] : quiet;
    if (quiet) {
        page_prose(page, "without the time that the loop waited for a core");
        if (arms->others_share >= worth_a_word)
            buf_printf(&page->value, ", %s of all", share_text(share, arms->others_share));
        if (arms->others_share >= worth_a_word && isfinite(quiet->wall.high))
            buf_printf(&page->value, "; by the wall clock the first gains %.0f %% (%.0f to %.0f)",
                       100 * quiet->wall.mid, 100 * quiet->wall.low, 100 * quiet->wall.high);
    }
    say_wall(page, arms);
}

void report_arms(struct report *report)
{
    const struct snap_arms *const arms = report->loop ? &report->loop->arms : NULL;

    if (!arms || arms->count == 0)
        return;
    report_title(report, "Experiment: what changes gained, tried by turns in this run");
    report_arms_table(&report->page, arms, report->style);
    report_arms_say_clock(&report->page, arms);
    page_field(&report->page, "Clock");
}

static void put_interval(struct json *json, const char *key, const char *ci_key,
                         struct interval interval)
{
    if (isfinite(interval.high)) {
        report_json_interval(json, key, ci_key, interval);
        return;
    }
    json_null(json, key);
    json_null(json, ci_key);
}

static void put_arm(struct json *json, const struct snap_arm *arm, bool is_first)
{
    json_begin_object(json, NULL);
    json_string(json, "arm", arm->label);
    json_int(json, "steps", arm->steps);
    json_string(json, "clock", arm->is_quiet ? "quiet" : "wall");
    if (arm->step_ns > 0)
        json_double(json, "step_ns", arm->step_ns);
    else
        json_null(json, "step_ns");
    put_interval(json, "gain", "gain_ci", arm->gain);
    put_interval(json, "typical_gain", "typical_gain_ci", arm->typical);
    put_interval(json, "wall_gain", "wall_gain_ci", arm->wall);
    if (!is_first && isfinite(arm->gain.high))
        json_string(json, "verdict", words[arm->word]);
    else
        json_null(json, "verdict");
    json_end_object(json);
}

void report_json_arms(struct json *json, const struct snap_arms *arms)
{
    json_begin_array(json, "arms");
    for (size_t i = 0; i < arms->count; i++)
        put_arm(json, &arms->rows[i], i == 0);
    json_end_array(json);
}
