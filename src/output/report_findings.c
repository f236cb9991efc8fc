#include "output/report_findings.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "output/report_json.h"

enum { TEXT_MOST = 600, NEXT_SHOWN = 2 };
static const double gain_shown = 0.01;

/* Texts of ours with names of the run in them; a number and its percent sign stay together. */
static void add_text(struct page *page, const char *text)
{
    for (const char *at = text, *next; *at; at = next) {
        const char *percent = strstr(at, " %");
        next = percent ? percent + 1 : at + strlen(at);
        page_text(page, (struct ss_text){at, (size_t)((percent ? percent : next) - at)},
                  TEXT_MOST);
        if (percent)
            buf_add_text(&page->value, TEXT_NO_BREAK);
    }
}

/* "steps at most 2.2 times as fast", of the upper end of the share. */
static void add_gain(struct page *page, const struct finding *finding)
{
    const struct interval gain = finding_gain(finding);

    if (isfinite(gain.high) && gain.high >= gain_shown && gain.high < 1)
        buf_printf(&page->value, "; gains at most %.0f" TEXT_NO_BREAK "%% of %s",
                   100 * gain.high, finding->of);
}

/* That there are too few steps is said in other words. */
static bool warns(const struct diagnosis *diagnosis, size_t index)
{
    return index < diagnosis->count &&
           diagnosis->finding[index].severity >= FINDING_WARN &&
           strcmp(diagnosis->finding[index].id, "too-few-steps") != 0;
}

void report_say_verdict(struct page *page, const struct diagnosis *diagnosis)
{
    if (!warns(diagnosis, 0))
        return;
    buf_printf(&page->value, "%s: ", diagnosis->finding[0].id);
    add_text(page, diagnosis->finding[0].claim);
}

void report_say_advice(struct page *page, const struct diagnosis *diagnosis)
{
    if (!warns(diagnosis, 0) || !diagnosis->finding[0].advice[0])
        return;
    add_text(page, diagnosis->finding[0].advice);
    add_gain(page, &diagnosis->finding[0]);
}

void report_say_next(struct page *page, const struct diagnosis *diagnosis)
{
    for (size_t i = 1; i <= NEXT_SHOWN && warns(diagnosis, i); i++) {
        const struct finding *finding = &diagnosis->finding[i];
        buf_printf(&page->value, "%s%s", i > 1 ? ", " : "", finding->id);
        if (isfinite(finding->share.mid))
            buf_printf(&page->value, " %.1f" TEXT_NO_BREAK "%%",
                       100 * finding->share.mid);
    }
}

static void field(struct page *page, const char *label, const char *text)
{
    if (!*text)
        return;
    add_text(page, text);
    page_field(page, label);
}

static void print_finding(struct report *report, const struct finding *finding)
{
    struct page *page = &report->page;

    buf_printf(&page->value, "%s (%s): ", finding->id,
               finding_severity_text(finding->severity));
    add_text(page, finding->claim);
    report_paragraph(report, finding->severity >= FINDING_WARN);
    field(page, "  because", finding->evidence);
    if (finding->advice[0]) {
        add_text(page, finding->advice);
        add_gain(page, finding);
        page_field(page, "  try");
    }
    field(page, "  check", finding->check);
    field(page, "  unsure", finding->unknown);
}

void report_findings(struct report *report)
{
    const struct diagnosis *diagnosis = &report->diagnosis;

    if (!report_has_statistics(report->loop) && diagnosis->count < 2)
        return;
    report_title(report, "Findings: %s",
                 diagnosis_verdict(diagnosis, report->input->snapshot));
    for (size_t i = 0; i < diagnosis->count; i++)
        print_finding(report, &diagnosis->finding[i]);
    if (diagnosis->count == 0) {
        buf_add_text(&report->page.value,
                     "nothing takes a share of the step that is worth a word");
        report_paragraph(report, false);
    }
}

static void put_finding(struct json *json, const struct finding *finding)
{
    const struct interval gain = finding_gain(finding);

    json_begin_object(json, NULL);
    json_string(json, "id", finding->id);
    json_string(json, "severity", finding_severity_text(finding->severity));
    report_json_interval(json, "share", "share_ci", finding->share);
    json_string(json, "of", finding->of);
    json_double(json, "gain_most", gain.high);
    json_string(json, "claim", finding->claim);
    json_string(json, "evidence", finding->evidence);
    json_string(json, "advice", finding->advice);
    json_string(json, "check", finding->check);
    json_string(json, "unknown", finding->unknown);
    json_end_object(json);
}

void report_json_findings(struct json *json, const struct snapshot *snapshot,
                          const struct diagnosis *diagnosis)
{
    json_string(json, "verdict", diagnosis_verdict(diagnosis, snapshot));
    json_begin_array(json, "findings");
    for (size_t i = 0; i < diagnosis->count; i++)
        put_finding(json, &diagnosis->finding[i]);
    json_end_array(json);
    json_begin_array(json, "unobservable");
    for (size_t i = 0; i < diagnosis->unobservable_count; i++)
        json_string(json, NULL, diagnosis->unobservable[i]);
    json_end_array(json);
}
