/* The steps over time: how long they took, and what of it each stage took. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "html/html_parts.h"
#include "html/svg.h"

enum { COLUMNS = 240, STEPS_HEIGHT = 180, STACK_HEIGHT = 140 };
static const double USUAL = 0.97;      /* of the points: what the axis is made for */
static const double FAR = 2;           /* times as long as these: beyond the axis */
static const double ABOVE_USUAL = 1.2; /* then it ends so far above them */

static struct svg_plot plot_of(struct html_page *page, unsigned height)
{
    const struct snap_loop *loop = page->report.loop;

    return (struct svg_plot){.html = &page->html,
                             .height = height,
                             .left = html_seconds(page, loop->begin_ns),
                             .right = html_seconds(page, loop->end_ns)};
}

static void axis_of_times(const struct svg_plot *plot)
{
    const struct units_scale scale = units_scale_for((int64_t)plot->top);

    svg_axis_y(plot, scale.name, (double)scale.ns);
}

/* A line that is broken where there was something else than steps for a while. */
static void put_means(struct html_page *page, const struct svg_plot *plot,
                      const struct step_bucket *column, size_t count)
{
    svg_path_begin(plot, "line mean");
    for (size_t i = 0; i < count; i++) {
        const int64_t width_ns = column[i].end_ns - column[i].start_ns;
        const bool joined = i > 0 && column[i].start_ns - column[i - 1].end_ns <= 2 * width_ns;
        svg_path_level(plot, html_seconds(page, column[i].start_ns),
                       html_seconds(page, column[i].end_ns), step_bucket_mean(&column[i]), joined);
    }
    svg_path_end(plot);
}

static int shorter_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* What all but the few slowest points stay below; the longest of all if memory is short. */
static int64_t usual_most_ns(const struct step_course *course, int64_t longest_ns)
{
    int64_t *const all = course->count > 0 ? calloc(course->count, sizeof *all) : NULL;

    if (!all)
        return longest_ns;
    for (size_t i = 0; i < course->count; i++)
        all[i] = course->bucket[i].max_ns;
    qsort(all, course->count, sizeof *all, shorter_first);
    const int64_t most_ns = all[(size_t)(USUAL * (double)(course->count - 1))];
    free(all);
    return most_ns;
}

struct steps_range html_steps_range(const struct html_page *page)
{
    const struct step_course *course = page->course;
    int64_t shortest_ns = INT64_MAX, longest_ns = 1, longest_step = 0;

    for (size_t i = 0; i < course->count; i++) {
        const struct step_bucket *bucket = &course->bucket[i];
        longest_step = bucket->max_ns > longest_ns ? bucket->max_step : longest_step;
        longest_ns = bucket->max_ns > longest_ns ? bucket->max_ns : longest_ns;
        shortest_ns = bucket->min_ns < shortest_ns ? bucket->min_ns : shortest_ns;
    }
    const double most = (double)longest_ns;
    const double usual = (double)usual_most_ns(course, longest_ns);
    struct steps_range range = {.top = svg_round_up(most),
                                .bottom = pow(10, floor(log10(fmax((double)shortest_ns, 1)))),
                                .log_top = pow(10, ceil(log10(fmax(most, 10))))};
    if (most > FAR * usual) {
        range.top = svg_round_up(ABOVE_USUAL * usual);
        range.longest_ns = longest_ns;
        range.longest_step = longest_step;
    }
    return range;
}

/* A mark at the upper edge where a step is beyond it. */
static void put_marks(struct html_page *page, const struct svg_plot *plot,
                      const struct step_bucket *column, size_t count)
{
    char number[UNITS_SIZE], took[UNITS_SIZE], text[2 * UNITS_SIZE];

    for (size_t i = 0; i < count; i++) {
        if (!((double)column[i].max_ns > plot->top))
            continue;
        snprintf(text, sizeof text, "step %s: %s",
                 units_integer(number, (uint64_t)column[i].max_step),
                 units_duration(took, column[i].max_ns));
        svg_mark(plot,
                 (html_seconds(page, column[i].start_ns) + html_seconds(page, column[i].end_ns)) /
                     2,
                 text);
    }
}

static void put_steps(struct html_page *page, const struct step_bucket *column, size_t count)
{
    struct svg_plot plot = plot_of(page, STEPS_HEIGHT);

    plot.top = html_steps_range(page).top;
    svg_begin(&plot, "steps", "time of a step over the run: shortest, mean and longest");
    svg_axis_x_time(&plot);
    axis_of_times(&plot);
    put_marks(page, &plot, column, count);
    svg_shapes(&plot);
    svg_path_begin(&plot, "envelope");
    for (size_t i = 0; i < count; i++)
        svg_path_box(&plot, html_seconds(page, column[i].start_ns),
                     html_seconds(page, column[i].end_ns), (double)column[i].min_ns,
                     (double)column[i].max_ns);
    svg_path_end(&plot);
    put_means(page, &plot, column, count);
    svg_end(&plot);
}

static double top_of_means(const struct step_bucket *column, size_t count)
{
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, step_bucket_mean(&column[i]));
    return svg_round_up(largest);
}

/* Stages lie on each other; what is below `base` belongs to those before. */
static void put_stack(struct html_page *page, const struct step_bucket *column, size_t count)
{
    const struct snap_loop *loop = page->report.loop;
    struct svg_plot plot = plot_of(page, STACK_HEIGHT);
    double base[COLUMNS] = {0};
    char class[32];

    plot.top = fmin(top_of_means(column, count), html_steps_range(page).top);
    svg_begin(&plot, "stack", "mean time of a step over the run, by stage");
    svg_axis_x_time(&plot);
    axis_of_times(&plot);
    svg_shapes(&plot);
    REPORT_FOR_STAGES(stage)
    {
        if (!loop->stage[stage].measured)
            continue;
        snprintf(class, sizeof class, "s-%s", ss_stage_text((unsigned)stage));
        svg_path_begin(&plot, class);
        for (size_t i = 0; i < count; i++) {
            const double own = (double)column[i].stage_ns[stage] / (double)column[i].steps;
            if (own <= 0)
                continue;
            svg_path_box(&plot, html_seconds(page, column[i].start_ns),
                         html_seconds(page, column[i].end_ns), base[i], base[i] + own);
            base[i] += own;
        }
        svg_path_end(&plot);
    }
    svg_end(&plot);
}

static void put_keys(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;

    html_markup(html, "<ul class=\"keys\">\n");
    REPORT_FOR_STAGES(stage)
    {
        const char *name = ss_stage_text((unsigned)stage);
        if (loop->stage[stage].measured && loop->stage[stage].total_ns > 0)
            html_printf(html,
                        "<li><svg class=\"key\" width=\"12\" height=\"12\" "
                        "aria-hidden=\"true\"><rect class=\"s-%s\" width=\"12\" "
                        "height=\"12\"/></svg> %s</li>\n",
                        name, name);
    }
    html_markup(html, "</ul>\n");
}

static void put_charts(struct html_page *page, struct step_bucket *column)
{
    struct html *html = &page->html;
    const size_t count = step_course_columns(page->course, column, COLUMNS);
    const struct steps_range range = html_steps_range(page);
    char number[UNITS_SIZE], took[UNITS_SIZE];

    html_markup(html, "<div id=\"brush\" hidden></div>\n"
                      "<p class=\"note\">Time of a step: the band reaches from the "
                      "shortest to the longest, the line is the mean. "
                      "A point stands for neighbouring steps, and none of them is left out.");
    if (range.longest_ns > 0)
        html_printf(
            html,
            " <span class=\"beyond\">\u25b2</span> marks steps that are longer than the axis: "
            "the longest, step %s, took %s.",
            units_integer(number, (uint64_t)range.longest_step),
            units_duration(took, range.longest_ns));
    html_markup(html, "</p>\n");
    put_steps(page, column, count);
    html_markup(html, "<h3>By stage <small>means of neighbouring steps</small></h3>\n");
    put_stack(page, column, count);
    put_keys(page);
}

/* So that a part is not taken for the whole. */
static void put_missing(struct html_page *page)
{
    const int64_t steps = page->course ? step_course_steps(page->course) : 0;
    const int64_t all = page->report.loop->steps;
    char drawn[UNITS_SIZE], whole[UNITS_SIZE];

    if (steps != all)
        html_printf(&page->html, "<p class=\"note\">%s of %s steps are drawn.</p>\n",
                    units_integer(drawn, (uint64_t)steps), units_integer(whole, (uint64_t)all));
}

void html_steps(struct html_page *page)
{
    if (!page->report.loop || page->report.loop->steps == 0)
        return;
    html_heading(page, "Steps over time", "since the run began");
    put_missing(page);
    if (!page->course || page->course->count == 0)
        return;
    struct step_bucket *column = calloc(COLUMNS, sizeof *column);
    if (column)
        put_charts(page, column);
    else
        sink_fail(page->html.out, SS_E_NOMEM, ENOMEM);
    free(column);
}
