/* What one sees first: what ran, the verdict, what removing its cause saves; three numbers; the
 * step as a bar that adds up to 100 %; what to do next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "html/html_parts.h"
#include "html/svg.h"
#include "report/report_parts.h"

enum { BAR_HEIGHT = 30 };
static const double label_share = 0.1;  /* from here on a part has its name on it */
static const double narrow_share = 0.3; /* the same on a narrow screen */

static void put_claim(struct html_page *page)
{
    const struct finding *finding = diagnosis_worst(&page->report.analysis->diagnosis);
    struct html *html = &page->html;
    struct buf answer = {0};

    html_printf(
        html, "<h1><span class=\"verdict %s\">%s</span> ",
        finding ? finding_severity_text(finding->severity)
        : diagnosis_is_healthy(&page->report.analysis->diagnosis, page->report.analysis->snapshot)
            ? "fine"
            : "",
        page->verdict);
    if (finding) {
        html_text(html, finding->claim);
    } else if (page->report.loop) {
        html_capture(page, report_head_claim, &answer);
        html_text(html, buf_text(&answer));
    } else {
        html_markup(html, report_no_steps_text(&page->report));
    }
    html_markup(html, "</h1>\n");
    buf_release(&answer);
}

/* What it would save, and what to do for it. */
static void put_saving(struct html_page *page, const struct finding *finding)
{
    struct html *html = &page->html;
    struct buf *text = &page->report.page.value;

    if (!finding || !report_has_saving(&page->report, finding))
        return;
    html_markup(html, "<p class=\"saving\">Saves <b>");
    report_say_saving(&page->report, finding);
    html_text(html, buf_text(text));
    buf_reset(text);
    html_markup(html, "</b>");
    report_say_gain_most(&page->report, finding);
    if (text->size > 0) {
        html_markup(html, "<small>");
        html_text(html, buf_text(text));
        html_markup(html, "</small>");
    }
    buf_reset(text);
    html_markup(html, "</p>\n");
}

static void put_next(struct html_page *page, const struct finding *finding)
{
    struct html *html = &page->html;

    if (!finding || !finding->advice[0])
        return;
    html_markup(html, "<p class=\"next\"><b>Try first</b> ");
    html_text(html, finding->advice);
    html_markup(html, "</p>\n");
}

static void put_number(struct html *html, const char *label, const char *number, const char *note)
{
    html_printf(html, "<div><dt>%s</dt> <dd><b>", label);
    html_text(html, number);
    html_markup(html, "</b> <small>");
    html_text(html, note);
    html_markup(html, "</small></dd></div>\n");
}

static void put_median(struct html *html, const struct snap_loop *loop)
{
    const struct snap_quantiles quantiles =
        report_quantiles(loop->quantiles, (uint64_t)loop->steady_steps);
    char median[UNITS_SIZE], slow[UNITS_SIZE], note[2 * UNITS_SIZE] = "";

    if (isfinite(quantiles.p95_ns))
        snprintf(note, sizeof note, "p95 %s", units_duration(slow, (int64_t)quantiles.p95_ns));
    put_number(html, "Median step", units_duration(median, (int64_t)quantiles.p50_ns), note);
}

static void put_speed(struct html *html, const struct snap_loop *loop)
{
    char rate[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE], samples[UNITS_SIZE];
    struct buf number = {0}, note = {0};

    buf_printf(&number, "%s steps/s", digits_text(rate, loop->steps_per_s.mid));
    if (isfinite(loop->steps_per_s.low) && isfinite(loop->steps_per_s.high))
        buf_printf(&note, "%s to %s", digits_text(low, loop->steps_per_s.low),
                   digits_text(high, loop->steps_per_s.high));
    if (isfinite(loop->samples_per_s.mid))
        buf_printf(&note, "%s%s samples/s", note.size > 0 ? "; " : "",
                   digits_text(samples, loop->samples_per_s.mid));
    put_number(html, "Speed", buf_text(&number), buf_text(&note));
    buf_release(&number);
    buf_release(&note);
}

/* "confidence high: 1,790 steady steps, ...": the word, and what it comes from. */
static void put_confidence(struct html_page *page)
{
    static const char before[] = "confidence ";
    struct buf sure = {0};

    html_capture(page, report_head_sure, &sure);
    char *word = sure.size > 0 ? sure.data : NULL;
    char *colon = word ? strstr(word, ": ") : NULL;
    if (colon) {
        *colon = '\0';
        word += strncmp(word, before, strlen(before)) == 0 ? strlen(before) : 0;
        put_number(&page->html, "Confidence", word, colon + 2);
    }
    buf_release(&sure);
}

static void put_numbers(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;

    if (!loop)
        return;
    if (!report_has_statistics(loop)) {
        report_head_speed(&page->report);
        return;
    }
    html_markup(html, "<dl class=\"numbers\">\n");
    put_median(html, loop);
    put_speed(html, loop);
    put_confidence(page);
    html_markup(html, "</dl>\n");
}

/* One part of a bar: where it begins and how wide it is, as shares. */
static void put_part(struct html *html, const char *class, double from, double share)
{
    html_printf(html, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"%d\"/>", class,
                100 * from, 100 * share, BAR_HEIGHT);
}

static void put_label(struct html *html, const char *name, const char *class, double from,
                      double share)
{
    char text[UNITS_SIZE];

    if (share < label_share)
        return;
    html_printf(html, "<text class=\"part %s%s\" x=\"%.2f%%\" y=\"20\">%s %s</text>", class,
                share < narrow_share ? " wide" : "", 100 * (from + share / 2), name,
                share_text(text, share));
}

static void begin_bar(struct html *html, const char *label)
{
    html_printf(html,
                "<svg class=\"stack\" width=\"100%%\" height=\"%d\" role=\"img\" "
                "aria-label=\"%s\">",
                BAR_HEIGHT, label);
}

/* A row of the list below a bar. */
static void put_key(struct html *html, const char *class, const char *name, const char *amount,
                    double share)
{
    char text[UNITS_SIZE];

    html_printf(html,
                "<li><svg class=\"key\" width=\"12\" height=\"12\" aria-hidden=\"true\">"
                "<rect class=\"%s\" width=\"12\" height=\"12\"/></svg> %s <b>%s</b> "
                "<span class=\"amount\">%s</span></li>\n",
                class, name, share_text(text, share), amount);
}

static void put_step_bar(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;
    double from = 0;
    char class[32], text[UNITS_SIZE];

    begin_bar(html, "the step by stage");
    REPORT_FOR_STAGES(stage)
    {
        const double share = loop->stage[stage].share.mid;
        const char *name = ss_stage_text((unsigned)stage);
        if (!loop->stage[stage].measured || !(share > 0))
            continue;
        snprintf(class, sizeof class, "s-%s", name);
        put_part(html, class, from, share);
        snprintf(class, sizeof class, "on-%s", name);
        put_label(html, name, class, from, share);
        from += share;
    }
    html_markup(html, "</svg>\n<ul class=\"keys\">\n");
    REPORT_FOR_STAGES(stage)
    {
        const struct snap_stage *found = &loop->stage[stage];
        const char *name = ss_stage_text((unsigned)stage);
        if (!found->measured || !(found->share.mid > 0))
            continue;
        snprintf(class, sizeof class, "s-%s", name);
        put_key(html, class, name, units_duration(text, (int64_t)found->mean_ns), found->share.mid);
    }
    html_markup(html, "</ul>\n");
}

static void put_step(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;
    char mean[UNITS_SIZE];

    if (!loop || loop->steady_steps == 0)
        return;
    html_printf(html, "<figure><figcaption>A step: <b>%s</b> on average</figcaption>\n",
                units_duration(mean, (int64_t)loop->step_ns.mid));
    put_step_bar(page);
    html_markup(html, "</figure>\n");
}

static void put_deadline(struct html_page *page)
{
    struct page *text = &page->report.page;

    if (page->report.analysis->deadline_ns <= 0)
        return;
    report_say_deadline(text, page->report.analysis);
    page_paragraph(text, false);
}

void html_head(struct html_page *page)
{
    const struct finding *finding = diagnosis_worst(&page->report.analysis->diagnosis);

    html_markup(&page->html, "<p class=\"brand\">stepscope</p>\n");
    report_head_run(&page->report, "");
    put_claim(page);
    put_saving(page, finding);
    put_numbers(page);
    put_deadline(page);
    report_whole(&page->report);
    put_step(page);
    put_next(page, finding);
    if (!page->report.loop) {
        report_no_steps_advice(&page->report, FEED_MOST_HOOKS);
        html_medium_end(page);
    }
}
