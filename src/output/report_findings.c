#include "output/report_findings.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "output/report_json.h"

static const double gain_shown = 0.01, range_shown = 0.0005;

/* Whether the ends of its share say more than its middle. */
static bool has_range(const struct finding *finding)
{
    const struct interval share = finding->share;

    return finding->kind != SHARE_BOUND && isfinite(share.low) && isfinite(share.high) &&
           share.high - share.low >= range_shown;
}

/* "38.1 to 41.2 %" after a word on what that is. */
static void add_range(struct page *page, const struct finding *finding,
                      const char *before_estimate, const char *before_interval)
{
    buf_printf(&page->value, "%s%.1f to %.1f" TEXT_NO_BREAK "%%",
               finding->kind == SHARE_ESTIMATE ? before_estimate : before_interval,
               100 * finding->share.low, 100 * finding->share.high);
}

void report_say_share(struct page *page, const struct finding *finding)
{
    const struct interval share = finding->share;
    const bool is_bound = finding->kind == SHARE_BOUND;

    if (!isfinite(share.mid))
        return;
    buf_printf(&page->value, "%s%.1f" TEXT_NO_BREAK "%% of %s",
               is_bound ? "at most " : "", 100 * (is_bound ? share.high : share.mid),
               finding->of);
    if (has_range(finding))
        add_range(page, finding, "; an estimate, ", "; 95" TEXT_NO_BREAK "% interval ");
}

/* "gains at most 42 % of the step" */
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

/* "data takes 12.0 % of the step (1.0 to 23.0 %): some 400 more steps would tell whether that holds it back" */
static void say_unsure(struct page *page, const struct unsure *unsure)
{
    char steps[UNITS_SIZE];

    buf_printf(&page->value,
               "%s takes %.1f" TEXT_NO_BREAK "%% of the step (%.1f to %.1f" TEXT_NO_BREAK
               "%%): ",
               ss_stage_text(unsure->stage), 100 * unsure->share.mid,
               100 * unsure->share.low, 100 * unsure->share.high);
    if (unsure->more_steps > 0)
        buf_printf(&page->value, "some %s more steps",
                   units_integer(steps, (uint64_t)unsure->more_steps));
    else
        buf_add_text(&page->value, "a longer run");
    buf_add_text(&page->value, " would tell whether that holds it back");
}

void report_say_claim(struct page *page, const struct diagnosis *diagnosis)
{
    const struct finding *first = diagnosis_first(diagnosis);

    if (!first && diagnosis->unsure.share.high > 0)
        say_unsure(page, &diagnosis->unsure);
    if (!first || strcmp(first->id, "too-few-steps") == 0)
        return;
    page_prose(page, first->claim);
    if (has_range(first)) {
        add_range(page, first, " (estimate: ", " (");
        buf_add_text(&page->value, ")");
    }
}

void report_say_advice(struct page *page, const struct diagnosis *diagnosis)
{
    if (!warns(diagnosis, 0) || !diagnosis->finding[0].advice[0])
        return;
    page_prose(page, diagnosis->finding[0].advice);
    add_gain(page, &diagnosis->finding[0]);
}

void report_say_next(struct page *page, const struct diagnosis *diagnosis)
{
    for (size_t i = 1; i < FINDINGS_SAID && warns(diagnosis, i); i++) {
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
    page_prose(page, text);
    page_field(page, label);
}

static void print_finding(struct report *report, const struct finding *finding)
{
    struct page *page = &report->page;

    buf_printf(&page->value, "%s (%s): ", finding->id,
               finding_severity_text(finding->severity));
    page_prose(page, finding->claim);
    report_paragraph(report, finding->severity >= FINDING_WARN);
    report_say_share(page, finding);
    if (page->value.size > 0)
        page_field(page, "  share");
    field(page, "  because", finding->evidence);
    if (finding->advice[0]) {
        page_prose(page, finding->advice);
        add_gain(page, finding);
        page_field(page, "  try");
    }
    field(page, "  check", finding->check);
    field(page, "  unsure", finding->unknown);
}

/* Adds the ids of all causes with that reason; false: one before had it. */
static bool add_unobservable(struct page *page, const struct diagnosis *diagnosis,
                             size_t index)
{
    const struct unobservable *own = &diagnosis->unobservable[index];

    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *other = &diagnosis->unobservable[i];
        if (strcmp(own->reason, other->reason) != 0 ||
            strcmp(own->needs, other->needs) != 0)
            continue;
        if (i < index)
            return false;
        buf_printf(&page->value, "%s%s", i > index ? ", " : "", other->id);
    }
    return true;
}

static void say_unobservable(struct report *report)
{
    const struct diagnosis *diagnosis = &report->diagnosis;
    struct page *page = &report->page;

    if (diagnosis->unobservable_count == 0)
        return;
    buf_add_text(&page->value, "not observable, so neither claimed nor ruled out:");
    report_paragraph(report, false);
    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *cause = &diagnosis->unobservable[i];
        if (!add_unobservable(page, diagnosis, i))
            continue;
        buf_printf(&page->value, ": %s%s%s", cause->reason, *cause->needs ? "; " : "",
                   cause->needs);
        page_field(page, "  unseen");
    }
}

void report_findings(struct report *report)
{
    const struct diagnosis *diagnosis = &report->diagnosis;

    if (report->loop ? !report_has_statistics(report->loop) && diagnosis->count < 2
                     : diagnosis->count == 0)
        return;
    report_title(report, "Findings: %s",
                 diagnosis_verdict(diagnosis, report->input->snapshot));
    for (size_t i = 0; i < diagnosis->count; i++)
        print_finding(report, &diagnosis->finding[i]);
    if (diagnosis->unsure.share.high > 0 && !diagnosis_first(diagnosis)) {
        say_unsure(&report->page, &diagnosis->unsure);
        report_paragraph(report, false);
    } else if (diagnosis->count == 0) {
        buf_add_text(&report->page.value,
                     "nothing takes a share of the step that is worth a word");
        report_paragraph(report, false);
    }
    say_unobservable(report);
}

static void put_finding(struct json *json, const struct finding *finding)
{
    const struct interval gain = finding_gain(finding);

    json_begin_object(json, NULL);
    json_string(json, "id", finding->id);
    json_string(json, "severity", finding_severity_text(finding->severity));
    report_json_interval(json, "share", "share_ci", finding->share);
    if (isfinite(finding->share.mid))
        json_string(json, "share_kind", share_kind_text(finding->kind));
    else
        json_null(json, "share_kind");
    json_string(json, "of", finding->of);
    json_double(json, "gain_most", gain.high);
    json_string(json, "claim", finding->claim);
    json_string(json, "evidence", finding->evidence);
    json_string(json, "advice", finding->advice);
    json_string(json, "check", finding->check);
    json_string(json, "unknown", finding->unknown);
    json_end_object(json);
}

static void put_unsure(struct json *json, const struct unsure *unsure)
{
    if (!(unsure->share.high > 0)) {
        json_null(json, "unsure");
        return;
    }
    json_begin_object(json, "unsure");
    json_string(json, "stage", ss_stage_text(unsure->stage));
    report_json_interval(json, "share", "share_ci", unsure->share);
    if (unsure->more_steps > 0)
        json_int(json, "more_steps", unsure->more_steps);
    else
        json_null(json, "more_steps");
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
    put_unsure(json, &diagnosis->unsure);
    json_begin_array(json, "unobservable");
    for (size_t i = 0; i < diagnosis->unobservable_count; i++)
        json_string(json, NULL, diagnosis->unobservable[i].id);
    json_end_array(json);
    json_begin_array(json, "unobservable_reasons");
    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *cause = &diagnosis->unobservable[i];
        json_begin_object(json, NULL);
        json_string(json, "id", cause->id);
        json_string(json, "reason", cause->reason);
        json_string(json, "needs", cause->needs);
        json_end_object(json);
    }
    json_end_array(json);
}
