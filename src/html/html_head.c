/* What one sees first: what ran, the verdict, what it would gain and what to try; the step and the run
 * as bars that add up to 100 %. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "html/html_parts.h"
#include "html/svg.h"
#include "output/report_findings.h"

enum { BAR_HEIGHT = 30 };
static const double label_share = 0.1;  /* from here on a part has its name on it */
static const double narrow_share = 0.3; /* the same on a narrow screen */
static const double gain_shown = 0.01;

static void put_claim(struct html_page *page)
{
    const struct finding *finding = diagnosis_worst(&page->report.diagnosis);
    struct html *html = &page->html;
    struct buf answer = {0};

    html_printf(html, "<h1><span class=\"verdict %s\">%s</span> ",
                finding ? finding_severity_text(finding->severity)
                : strcmp(page->verdict, "healthy") == 0 ? "fine"
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

/* "137 ms a step, at best 54.0 ms: 2.5 times as fast"; of other things than the step the share. */
static void put_gain(struct html_page *page, const struct finding *finding)
{
    const struct interval gain = finding_gain(finding);
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;
    char now[UNITS_SIZE], then[UNITS_SIZE];

    if (!isfinite(gain.high) || gain.high < gain_shown || gain.high >= 1)
        return;
    html_markup(html, "<dt>Gain</dt><dd>");
    if (loop && strcmp(finding->of, "the step") == 0)
        html_printf(
            html,
            "at most %.0f&nbsp;%% of the step: <span class=\"amount\">%s</span> now, <span "
            "class=\"amount\">%s</span> at best, %.1f times as fast",
            100 * gain.high, units_duration(now, (int64_t)loop->step_ns.mid),
            units_duration(then, (int64_t)(loop->step_ns.mid * (1 - gain.high))),
            1 / (1 - gain.high));
    else
        html_printf(html, "at most %.0f&nbsp;%% of %s", 100 * gain.high, finding->of);
    html_markup(html, "</dd>\n");
}

static void put_fact(struct html *html, const char *label, const char *text)
{
    if (!*text)
        return;
    html_printf(html, "<dt>%s</dt><dd>", label);
    html_text(html, text);
    html_markup(html, "</dd>\n");
}

static void put_facts(struct html_page *page)
{
    const struct finding *finding = diagnosis_worst(&page->report.diagnosis);
    struct html *html = &page->html;
    struct buf speed = {0}, sure = {0};

    if (!page->report.loop)
        return;
    html_capture(page, report_head_speed, &speed);
    html_capture(page, report_head_sure, &sure);
    html_markup(html, "<dl class=\"facts\">\n");
    if (finding) {
        report_say_share(&page->report.page, finding);
        put_fact(html, "Share", buf_text(&page->report.page.value));
        buf_reset(&page->report.page.value);
        put_gain(page, finding);
        put_fact(html, "Because", finding->evidence);
        put_fact(html, "Try first", finding->advice);
    }
    put_fact(html, "Speed", buf_text(&speed));
    put_fact(html, "How sure", buf_text(&sure));
    html_markup(html, "</dl>\n");
    buf_release(&speed);
    buf_release(&sure);
}

/* One part of a bar: where it begins and how wide it is, as shares. */
static void put_part(struct html *html, const char *class, double from, double share)
{
    html_printf(html, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"%d\"/>",
                class, 100 * from, 100 * share, BAR_HEIGHT);
}

static void put_label(struct html *html, const char *name, const char *class, double from,
                      double share)
{
    char text[UNITS_SIZE];

    if (share < label_share)
        return;
    html_printf(html, "<text class=\"part %s%s\" x=\"%.2f%%\" y=\"20\">%s %s</text>",
                class, share < narrow_share ? " wide" : "", 100 * (from + share / 2),
                name, share_text(text, share));
}

static void begin_bar(struct html *html, const char *label)
{
    html_printf(html,
                "<svg class=\"stack\" width=\"100%%\" height=\"%d\" role=\"img\" "
                "aria-label=\"%s\">",
                BAR_HEIGHT, label);
}

/* A row of the list below a bar. */
static void put_key(struct html *html, const char *class, const char *name,
                    const char *amount, double share)
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
        put_key(html, class, name, units_duration(text, (int64_t)found->mean_ns),
                found->share.mid);
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

static void put_run_bar(struct html_page *page, const struct snap_thread *thread)
{
    struct html *html = &page->html;
    double from = 0;
    char class[32], text[UNITS_SIZE];

    begin_bar(html, "the run by segment");
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        const double share = (double)thread->segment_ns[i] / (double)thread->wall_ns;
        if (!(share > 0))
            continue;
        snprintf(class, sizeof class, "g-%s", model_segment_text(i));
        put_part(html, class, from, share);
        snprintf(class, sizeof class, "on-%s", model_segment_text(i));
        put_label(html, report_segment_text(page->report.input, i), class, from, share);
        from += share;
    }
    html_markup(html, "</svg>\n<ul class=\"keys\">\n");
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        const double share = (double)thread->segment_ns[i] / (double)thread->wall_ns;
        if (!(share > 0))
            continue;
        snprintf(class, sizeof class, "g-%s", model_segment_text(i));
        put_key(html, class, report_segment_text(page->report.input, i),
                units_duration(text, thread->segment_ns[i]), share);
    }
    html_markup(html, "</ul>\n");
}

static void put_run(struct html_page *page)
{
    const struct snap_thread thread = report_thread(page->report.input);
    struct html *html = &page->html;
    char text[UNITS_SIZE];

    if (thread.wall_ns <= 0)
        return;
    html_printf(html, "<figure><figcaption>The run: <b>%s</b>%s</figcaption>\n",
                units_duration(text, thread.wall_ns),
                page->report.loop ? " of the loop's thread" : "");
    put_run_bar(page, &thread);
    html_markup(html, "</figure>\n");
}

static void put_deadline(struct html_page *page)
{
    struct page *text = &page->report.page;

    if (page->report.input->deadline_ns <= 0)
        return;
    report_say_deadline(text, page->report.input);
    page_paragraph(text, false);
}

void html_head(struct html_page *page)
{
    html_markup(&page->html, "<p class=\"brand\">stepscope</p>\n");
    report_head_run(&page->report, "");
    put_claim(page);
    put_facts(page);
    put_deadline(page);
    report_whole(&page->report);
    put_step(page);
    put_run(page);
    if (!page->report.loop) {
        report_no_steps_advice(&page->report, FEED_MOST_HOOKS);
        html_medium_end(page);
    }
}
