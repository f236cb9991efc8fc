/* A comparison as text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "render/markdown.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/compare_report.h"
#include "report/report_parts.h"

enum { VALUE_COLUMNS = 210, SIGNED_SIZE = 24, WIDEST = 1 << 20 };

static char letter(size_t side)
{
    return (char)('A' + side);
}

/* "+11.2 %", "-3.0 %", "0.0 %"; "-" if it is not known. */
static const char *signed_text(char out[SIGNED_SIZE], double share, const char *unit)
{
    const double percent = round(1000 * share) / 10;

    if (percent == 0)
        snprintf(out, SIGNED_SIZE, "0.0%s", unit);
    else if (isfinite(percent))
        snprintf(out, SIGNED_SIZE, "%+.1f%s", percent, unit);
    else
        snprintf(out, SIGNED_SIZE, "-");
    return out;
}

/* What changes of a stage are in: parts of A's step. They may be many of them. */
static void change_text(char out[SIGNED_SIZE], double change, bool as_factor, bool of_itself)
{
    if (!as_factor || !isfinite(change))
        signed_text(out, change, "");
    else if (of_itself)
        snprintf(out, SIGNED_SIZE, change < 0 ? "%.2fx" : "%.1fx", 1 + change);
    else
        snprintf(out, SIGNED_SIZE, "%+.1fx", change);
}

/* "+11.2 % (+9.8 to +12.6 %)"; from twice on "2.9x as long (2.7x to 3.1x)". */
static void add_change(struct buf *out, struct interval change)
{
    char mid[SIGNED_SIZE], low[SIGNED_SIZE], high[SIGNED_SIZE];

    if (change.mid >= 1 && isfinite(change.high)) {
        buf_printf(out, "%.1fx as long (%.1fx to %.1fx)", 1 + change.mid, 1 + change.low,
                   1 + change.high);
        return;
    }
    if (change.mid <= -0.5 && change.low > -1 && isfinite(change.high)) {
        buf_printf(out, "%.1fx as fast (%.1fx to %.1fx)", 1 / (1 + change.mid),
                   1 / (1 + change.high), 1 / (1 + change.low));
        return;
    }
    buf_printf(out, "%s (%s to %s)", signed_text(mid, change.mid, " %"),
               signed_text(low, change.low, ""), signed_text(high, change.high, " %"));
}

static const char *course_text(enum warmup_class class)
{
    static const char *const texts[] = {
        [WARMUP_TOO_FEW] = "too short",   [WARMUP_FLAT] = "steady",
        [WARMUP_SLOWER_FIRST] = "steady", [WARMUP_FASTER_FIRST] = "became slower",
        [WARMUP_DRIFTING] = "drifting",   [WARMUP_NO_STEADY_STATE] = "never steady"};

    return texts[class];
}

static const char *machine_text(const struct compare_run *run)
{
    if (!run->watched)
        return "-";
    return run->validity.level == VALIDITY_WARN   ? "disturbed"
           : run->validity.level == VALIDITY_NOTE ? "a little"
                                                  : "quiet";
}

static void add_run(struct table *table, const struct compare_report *report, size_t side,
                    size_t number)
{
    const struct compare_run *run = &report->runs[number];
    char text[UNITS_SIZE];
    const bool is_whole = fabs(run->samples - round(run->samples)) < 1e-6;

    table_cell(table, "%c", letter(side));
    table_text(table, report->names[number]);
    table_cell(table, "%s", count_text(text, (uint64_t)run->warmup_steps));
    table_cell(table, "%s", count_text(text, (uint64_t)run->steady_steps));
    table_cell(table, "%s",
               is_whole ? count_text(text, (uint64_t)round(run->samples))
                        : digits_text(text, run->samples));
    table_cell(table, "%s", course_text(run->class));
    table_cell(table, "%s", machine_text(run));
}

static void print_runs(struct report *page, const struct compare_report *report)
{
    struct table table;

    report_title(page, "Runs");
    table_init(&table);
    table_column(&table, "", TABLE_NUMBER);
    table_column(&table, "run", TABLE_TEXT);
    table_optional(&table, "warm-up", TABLE_NUMBER, 1);
    table_column(&table, "steady", TABLE_NUMBER);
    table_optional(&table, "samples", TABLE_NUMBER, 2);
    table_optional(&table, "course", TABLE_TEXT, 3);
    table_optional(&table, "machine", TABLE_TEXT, 4);
    for (size_t side = 0; side < report->side_count; side++)
        for (size_t i = 0; i < report->side[side].count; i++)
            add_run(&table, report, side, report->side[side].first + i);
    table_print(&table, &page->page, page->style);
    table_release(&table);
}

static size_t side_of_run(const struct compare_report *report, size_t run)
{
    size_t side = 0;

    while (side + 1 < report->side_count && run >= report->side[side + 1].first)
        side++;
    return side;
}

/* Disturbances that changed times: each with the runs that had it. */
static void print_disturbances(struct report *page, const struct compare_report *report)
{
    bool titled = false;

    for (size_t i = 0; i < report->run_count; i++) {
        const struct compare_run *run = &report->runs[i];
        const char *between = "";
        if (!run->watched || run->validity.level != VALIDITY_WARN)
            continue;
        if (!titled)
            report_title(page, "Interference");
        titled = true;
        buf_printf(&page->page.value, "%c ", letter(side_of_run(report, i)));
        text_safe(&page->page.value, report->names[i], strlen(report->names[i]));
        buf_add_text(&page->page.value, ": ");
        for (size_t k = 0; k < run->validity.count; k++) {
            if (run->validity.item[k].level != VALIDITY_WARN)
                continue;
            buf_printf(&page->page.value, "%s%s", between, run->validity.item[k].text);
            between = "; ";
        }
        report_paragraph(page, false);
    }
}

/* The values that the runs of a side have, each once. */
static void add_values(struct buf *out, const struct compare_report *report, size_t side,
                       const char *key)
{
    const struct compare_facts *facts = report->facts + report->side[side].first;
    const char *between = "";

    for (size_t i = 0; i < report->side[side].count; i++) {
        const char *value = compare_facts_value(&facts[i], key);
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++) {
            const char *before = compare_facts_value(&facts[k], key);
            is_new = !value != !before || (value && strcmp(value, before) != 0);
        }
        if (!is_new)
            continue;
        buf_add_text(out, between);
        if (value)
            text_fit(out, value, strlen(value), VALUE_COLUMNS);
        else
            buf_add_text(out, "(unknown)");
        between = " | ";
    }
}

static void print_differences(struct report *page, const struct compare_report *report)
{
    const char *keys[COMPARE_MOST_KEYS];
    const size_t count =
        compare_facts_differing(report->facts, report->run_count, keys, COMPARE_MOST_KEYS);

    report_title(page, "What differs");
    if (count == 0) {
        buf_add_text(&page->page.value,
                     "nothing recorded: command, host and versions are the same");
        report_paragraph(page, false);
    }
    for (size_t i = 0; i < count; i++) {
        text_fit(&page->page.value, keys[i], strlen(keys[i]), PAGE_COLUMNS);
        report_paragraph(page, false);
        for (size_t side = 0; side < report->side_count; side++) {
            const char label[] = {' ', ' ', letter(side), '\0'};
            add_values(&page->page.value, report, side, keys[i]);
            page_field(&page->page, label);
        }
    }
}

static const char *unit_of(const struct comparison *comparison)
{
    return comparison->per_sample ? "sample" : "step";
}

static void say_answer(struct report *page, const struct comparison *comparison, size_t side)
{
    const struct compare_row *row = &comparison->row[comparison->decided_by];
    struct buf *out = &page->page.value;

    switch (comparison->word) {
    case COMPARE_SLOWER:
    case COMPARE_FASTER:
        buf_printf(out, "%c is %s than A: ", letter(side), compare_word_text(comparison->word));
        break;
    case COMPARE_SAME:
        buf_printf(out, "%c is as fast as A: ", letter(side));
        break;
    default:
        buf_add_text(out, "Inconclusive: ");
    }
    add_change(out, row->change);
    buf_printf(out, " per %s%s%s", comparison->decided_by == COMPARE_MEDIAN ? "typical " : "",
               unit_of(comparison),
               comparison->decided_by == COMPARE_QUIET
                   ? ", without the time that it waited for a core"
                   : "");
    if (comparison->word == COMPARE_SAME)
        buf_add_text(out, ", too small to matter");
    report_paragraph(page, true);
}

static void say_carrier(struct report *page, const struct comparison *comparison)
{
    if (comparison->carrier < 0)
        return;
    buf_printf(&page->page.value, "%s: ", compare_row_text(comparison->carrier));
    if (comparison->carried >= 1) /* others made up for a part of it */
        buf_add_text(&page->page.value, "all of that");
    else
        buf_printf(&page->page.value, "%.0f %% of that", 100 * comparison->carried);
    page_field(&page->page, "Mostly");
}

/* Where the mean and the median part, slow steps are at work that come now and then. */
static void say_other(struct report *page, const struct comparison *comparison)
{
    const bool by_median = comparison->decided_by == COMPARE_MEDIAN;
    const struct compare_row *other = &comparison->row[by_median ? COMPARE_STEP : COMPARE_MEDIAN];

    if (other->word == comparison->word)
        return;
    buf_printf(&page->page.value, "the %s step: %s, ", by_median ? "mean" : "median",
               compare_word_text(other->word));
    add_change(&page->page.value, other->change);
    if (by_median)
        buf_add_text(&page->page.value, ": occasional slow steps differ from run to run");
    page_field(&page->page, by_median ? "Average" : "Typical");
}

/* What the step is without the time in which others had its core. */
static void say_quiet(struct report *page, const struct comparison *comparison)
{
    const struct compare_row *quiet = &comparison->row[COMPARE_QUIET];
    const bool decided = comparison->decided_by == COMPARE_QUIET;

    if (!quiet->in_a || !quiet->in_b)
        return;
    buf_printf(&page->page.value, "loops waited up to %.0f %% of the time for a core; ",
               100 * comparison->waited_share);
    if (decided)
        buf_add_text(&page->page.value, "with that time the comparison is inconclusive");
    else {
        buf_printf(&page->page.value, "without it: %s, ", compare_word_text(quiet->word));
        add_change(&page->page.value, quiet->change);
    }
    page_field(&page->page, "Quiet");
}

static void say_level(struct report *page, const struct compare_report *report, size_t side)
{
    const struct comparison *comparison = &report->with[side];
    struct buf *out = &page->page.value;

    if (comparison->level == COMPARE_TEST)
        buf_printf(out, "a test of %zu against %zu runs, at 95 %%", report->side[0].count,
                   report->side[side].count);
    else if (comparison->unsteady)
        buf_add_text(out,
                     "none: a run never became steady, and there are fewer than 3 runs per side");
    else
        buf_printf(
            out,
            "an indication, not a test: with fewer than 3 runs per side the run-to-run variation is unknown; "
            "%.0f %% is assumed%s",
            100 * comparison->assumed,
            comparison->assumed > COMPARE_RUN_SIGMA ? ", because a run was disturbed" : "");
    if (comparison->level == COMPARE_TEST && comparison->unsteady)
        buf_add_text(out, "; a run never became steady, so its second half was used");
    if (comparison->per_sample)
        buf_add_text(out, "; per sample, because the batch sizes differ");
    page_field(&page->page, "Basis");
}

static void say_more(struct report *page, const struct compare_report *report, size_t side)
{
    const struct comparison *comparison = &report->with[side];
    const int64_t more = comparison->row[COMPARE_STEP].more_runs;
    const bool open = comparison->word == COMPARE_INCONCLUSIVE;
    const size_t have = report->side[0].count < report->side[side].count ? report->side[0].count
                                                                         : report->side[side].count;
    struct buf *out = &page->page.value;

    if (open && more > 0)
        buf_printf(out, "about %" PRId64 " more run%s per side to decide", more,
                   more == 1 ? "" : "s");
    else if (comparison->level == COMPARE_INDICATION)
        buf_printf(out, "%zu more run%s per side for a test", COMPARE_RUNS_FOR_TEST - have,
                   COMPARE_RUNS_FOR_TEST - have == 1 ? "" : "s");
    else if (open)
        buf_add_text(
            out,
            "more than 100 runs per side to decide: they vary too much. 'stepscope doctor' shows what disturbs this machine");
    else
        return;
    page_field(&page->page, "Needs");
}

static void say_gate(struct report *page, const struct compare_report *report, size_t side)
{
    struct buf *out = &page->page.value;
    const double limit = 100 * report->gate;

    if (isnan(report->gate))
        return;
    switch (compare_gate(&report->with[side], report->gate)) {
    case COMPARE_GATE_FAILED:
        buf_printf(out, "failed: the whole interval is above %g %%", limit);
        break;
    case COMPARE_GATE_PASSED:
        buf_printf(out, "passed: the whole interval is below %g %%", limit);
        break;
    case COMPARE_GATE_UNSURE:
        buf_printf(out, "passed, but undecided: %g %% is within the interval", limit);
        break;
    default:
        buf_printf(out, "not decided: needs %d runs per side", COMPARE_RUNS_FOR_TEST);
    }
    page_field(&page->page, "Gate");
}

static const char *row_word(const struct compare_row *row)
{
    return !row->in_a   ? "not measured in A"
           : !row->in_b ? "only in A"
                        : compare_word_text(row->word);
}

/* The cells that rows of stages and of layers have in common. At twice or
 * half of A's a step has a factor, "5.3x" as long; a stage that grows by A's step or more the
 * number of them, "+4.3x". */
static void add_numbers(struct table *table, const struct compare_row *row, struct scale scale,
                        bool of_itself)
{
    const double ends[] = {row->change.mid, row->change.low, row->change.high};
    const bool is_far = row->change.mid >= 1 || (of_itself && row->change.mid <= -0.5);
    const bool as_factor = is_far && isfinite(row->change.high);
    char text[UNITS_SIZE], change[SIGNED_SIZE];

    table_cell(table, "%s", scale_text(text, row->a_ns, scale));
    table_cell(table, "%s", scale_text(text, row->b_ns, scale));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        change_text(change, ends[i], as_factor, of_itself);
        table_cell(table, "%s", change);
    }
}

static void add_row(struct table *table, const struct comparison *comparison, int number,
                    struct scale scale)
{
    const struct compare_row *row = &comparison->row[number];

    if (!(row->a_ns > 0) && !(row->b_ns > 0))
        return;
    table_cell(table, "%s", compare_row_text(number));
    add_numbers(table, row, scale, number >= COMPARE_STEP);
    table_cell(table, "%s", row_word(row));
}

/* The columns of changes: of stages, and of layers. `name` is the other side's. */
static void begin_changes(struct table *table, const char *name)
{
    table_init(table);
    table_column(table, "", TABLE_TEXT);
    table_column(table, "A", TABLE_NUMBER);
    table_column(table, name, TABLE_NUMBER);
    table_column(table, "change", TABLE_NUMBER);
    table_optional(table, "from", TABLE_NUMBER, 2);
    table_optional(table, "to", TABLE_NUMBER, 1);
    table_column(table, "verdict", TABLE_TEXT);
}

static void print_stages(struct report *page, const struct comparison *comparison, size_t side)
{
    const struct compare_row *step = &comparison->row[COMPARE_STEP];
    const struct scale scale = scale_for(step->a_ns, fmax(step->a_ns, step->b_ns));
    const char name[] = {letter(side), '\0'};
    struct table table;

    report_title(page, "By stage: %s per %s; change in %% of A's %s, with 95 %% interval",
                 scale.unit.name, unit_of(comparison), unit_of(comparison));
    begin_changes(&table, name);
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        if (i != SS_STAGE_OTHER)
            add_row(&table, comparison, i, scale);
    add_row(&table, comparison, SS_STAGE_OTHER, scale);
    add_row(&table, comparison, COMPARE_STEP, scale);
    add_row(&table, comparison, COMPARE_MEDIAN, scale);
    if (comparison->row[COMPARE_QUIET].in_a && comparison->row[COMPARE_QUIET].in_b)
        add_row(&table, comparison, COMPARE_QUIET, scale);
    table_print(&table, &page->page, page->style);
    table_release(&table);
}

static void add_layer(struct table *table, const struct compare_layer_row *layer,
                      struct scale scale)
{
    const struct compare_row *row = &layer->row;

    table_text(table, layer->path);
    add_numbers(table, row, scale, false);
    table_cell(table, "%s",
               !row->in_a   ? "not in A"
               : !row->in_b ? "only in A"
                            : compare_word_text(row->word));
}

/* Forward and backward of those that changed most. */
static void print_layers(struct report *page, const struct compare_report *report, size_t side)
{
    enum { SHOWN = 8 };
    const struct comparison *comparison = &report->with[side];
    const struct compare_row *step = &comparison->row[COMPARE_STEP];
    const struct scale scale = scale_for(step->a_ns / 10, fmax(step->a_ns, step->b_ns));
    const char name[] = {letter(side), '\0'};
    struct compare_layer_row rows[COMPARE_LAYERS_MOST] = {{0}};
    const size_t count = compare_report_layers(report, side, rows);
    struct table table;

    if (count == 0)
        return;
    report_title(page, "By layer, what changed most first: %s per %s", scale.unit.name,
                 unit_of(comparison));
    begin_changes(&table, name);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        add_layer(&table, &rows[i], scale);
    table_print(&table, &page->page, page->style);
    table_release(&table);
}

static void print_side(struct report *page, const struct compare_report *report, size_t side)
{
    const struct comparison *comparison = &report->with[side];

    if (!page->page.medium)
        page_line(&page->page);
    say_answer(page, comparison, side);
    say_carrier(page, comparison);
    say_other(page, comparison);
    say_quiet(page, comparison);
    say_level(page, report, side);
    say_more(page, report, side);
    say_gate(page, report, side);
    print_stages(page, comparison, side);
    print_layers(page, report, side);
}

void compare_text(struct sink *out, const struct compare_report *report, const struct style *style)
{
    struct report page = {.style = style};

    page_init(&page.page, out);
    page.page.columns = style->columns;
    print_runs(&page, report);
    print_disturbances(&page, report);
    print_differences(&page, report);
    for (size_t side = 1; side < report->side_count; side++)
        print_side(&page, report, side);
    page_release(&page.page);
}

/* The answer comes first: what it is about is folded away. */
void compare_markdown(struct sink *out, const struct compare_report *report)
{
    static const struct style style = {.columns = WIDEST};
    struct report page = {.style = &style};
    struct markdown markdown;

    page_init(&page.page, out);
    page.page.columns = style.columns;
    markdown_begin(&markdown, &page.page);
    for (size_t side = 1; side < report->side_count; side++)
        print_side(&page, report, side);
    markdown_fold(&markdown, "The runs and what differs between them");
    print_runs(&page, report);
    print_disturbances(&page, report);
    print_differences(&page, report);
    markdown_unfold(&markdown);
    page_release(&page.page);
}

static struct compare_side side_of(const struct compare_report *report, size_t side)
{
    return (struct compare_side){report->runs + report->side[side].first, report->side[side].count};
}

size_t compare_report_layers(const struct compare_report *report, size_t side,
                             struct compare_layer_row rows[COMPARE_LAYERS_MOST])
{
    const struct compare_side a = side_of(report, 0), b = side_of(report, side);

    return compare_layer_rows(&report->with[side], &a, &b, rows);
}

void compare_report_fill(struct compare_report *report)
{
    const struct compare_side a = side_of(report, 0);

    for (size_t i = 1; i < report->side_count; i++) {
        const struct compare_side b = side_of(report, i);
        compare_sides(&report->with[i], &a, &b);
    }
}

enum compare_gate compare_report_gate(const struct compare_report *report)
{
    enum compare_gate worst = COMPARE_GATE_PASSED;

    for (size_t i = 1; i < report->side_count && !isnan(report->gate); i++) {
        const enum compare_gate own = compare_gate(&report->with[i], report->gate);
        worst = own > worst ? own : worst;
    }
    return worst;
}
