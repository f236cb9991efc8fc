/* What was run and by what; how it was measured, and what that cannot see. */
#include <errno.h>
#include <string.h>

#include "diagnose/compare_facts.h"
#include "html/html_parts.h"
#include "read/run.h"

enum { COMMAND_MOST = 4000, VALUE_MOST = 300, FACTS_MOST = 60 };

static void put_row(struct html *html, const char *key, struct ss_text value, size_t most)
{
    html_markup(html, "<dt>");
    html_text(html, key);
    html_markup(html, "</dt><dd>");
    html_bytes(html, value.data, value.size, most);
    html_markup(html, "</dd>\n");
}

/* Versions, settings and hardware, as far as the run says so. */
static void put_versions(struct html_page *page)
{
    struct compare_facts facts;
    struct html *html = &page->html;

    if (compare_facts_take(&facts, page->report.analysis->run) != 0)
        sink_fail(html->out, SS_E_NOMEM, ENOMEM);
    html_markup(html, "<dl class=\"versions\">\n");
    for (size_t i = 0; i < facts.count && i < FACTS_MOST; i++) {
        const char *value = facts.fact[i].value;
        if (strcmp(facts.fact[i].key, "command") != 0)
            put_row(html, facts.fact[i].key, (struct ss_text){value, strlen(value)}, VALUE_MOST);
    }
    html_printf(html, "<dt>this page</dt><dd>stepscope %s</dd>\n</dl>\n", SS_VERSION);
    compare_facts_release(&facts);
}

void html_command(struct html_page *page)
{
    const struct ss_text command = report_command(page->report.analysis);
    struct html *html = &page->html;

    html_heading(page, "Command and versions", "");
    if (command.size > 0) {
        html_markup(html, "<pre tabindex=\"0\"><code>");
        html_bytes(html, command.data, command.size, COMMAND_MOST);
        html_markup(html, "</code></pre>\n");
    }
    page->left_out = "Command";
    report_facts(&page->report);
    page->left_out = NULL;
    html_medium_end(page);
    put_versions(page);
}

static void put_how(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    const struct snapshot *snapshot = page->report.analysis->snapshot;
    struct html *html = &page->html;
    char spans[UNITS_SIZE], samples[UNITS_SIZE];

    html_printf(html, "<p>%s spans, recorded with nanosecond clocks inside the processes.",
                units_integer(spans, snapshot->spans_seen));
    if (snapshot->hot.samples > 0)
        html_printf(html, " Hot lines alone are sampled: from %s stacks.",
                    units_integer(samples, snapshot->hot.samples));
    html_markup(html, "</p>\n");
    if (loop)
        html_printf(html,
                    "<p>Steps were counted by %s. Stages are exclusive: each nanosecond of a "
                    "step is in one of them, and <i>other</i> is what no span covers. "
                    "Intervals are 95&nbsp;%% and account for correlation between neighbouring "
                    "steps; quantiles are within 0.5&nbsp;%%.</p>\n",
                    model_source_text(loop->source));
}

static void put_blind(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct html *html = &page->html;

    html_markup(html, "<h3>What this cannot see</h3>\n<ul>\n");
    if (loop && loop->is_asynchronous && !(report_device_share(loop) > 0))
        html_markup(html, "<li>What a device does: forward, backward, optimizer and compute "
                          "are the time in which the host queues work for it.</li>\n");
    REPORT_FOR_STAGES(stage)
    {
        const struct snap_stage *found = loop ? &loop->stage[stage] : NULL;
        if (found && !found->measured && found->reason)
            html_printf(html, "<li>%s: %s.</li>\n", ss_stage_text((unsigned)stage), found->reason);
        if (found && found->measured && found->at_most)
            html_printf(html, "<li>%s is an upper bound: %s.</li>\n",
                        ss_stage_text((unsigned)stage), found->at_most);
    }
    if (page->report.analysis->diagnosis.unobservable_count > 0)
        html_markup(html, "<li>What is listed as not measurable among the findings: it is "
                          "neither claimed nor ruled out.</li>\n");
    html_markup(html, "<li>Code outside hooks and named spans: it counts as <i>other</i>. A "
                      "stage without spans is not measured; that does not mean 0.</li>\n</ul>\n");
}

void html_measured(struct html_page *page)
{
    html_heading(page, "How this was measured", "");
    put_how(page);
    put_blind(page);
    report_lost(&page->report);
    html_medium_end(page);
}
