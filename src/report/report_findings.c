/* Findings with their evidence, saving and advice. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "render/units.h"
#include "report/report_json.h"
#include "report/report_parts.h"

static const double range_shown = 0.0005;

/* Whether the ends of its share say more than its middle. */
static bool has_range(const struct finding *finding)
{
    const struct interval share = finding->share;

    return finding->kind != SHARE_BOUND && isfinite(share.low) && isfinite(share.high) &&
           share.high - share.low >= range_shown;
}

enum { RANGE_SIZE = 64 };

/* "38.1 to 41.2 %" */
static const char *range_text_of(char out[RANGE_SIZE], const struct finding *finding)
{
    snprintf(out, RANGE_SIZE, "%.1f to %.1f %%", 100 * finding->share.low,
             100 * finding->share.high);
    return out;
}

void report_say_share(struct page *page, const struct finding *finding)
{
    const struct interval share = finding->share;
    const bool is_bound = finding->kind == SHARE_BOUND;
    char range[RANGE_SIZE];

    if (!isfinite(share.mid))
        return;
    buf_printf(&page->value, "%s%.1f %% of %s", is_bound ? "at most " : "",
               100 * (is_bound ? share.high : share.mid), finding_of_text(finding->of));
    if (has_range(finding))
        buf_printf(&page->value,
                   finding->kind == SHARE_ESTIMATE ? "; an estimate, %s" : "; 95 %% interval %s",
                   range_text_of(range, finding));
}

/* That there are too few steps is said in other words. */
static bool warns(const struct diagnosis *diagnosis, size_t index)
{
    return index < diagnosis->count && diagnosis->finding[index].severity >= FINDING_WARN &&
           diagnosis->finding[index].id != FINDING_TOO_FEW_STEPS;
}

/* "data takes 12.0 % of the step (1.0 to 23.0 %): some 400 more steps would tell whether that holds
 * it back" */
static void say_unsure(struct page *page, const struct inconclusive *unsure)
{
    char steps[UNITS_SIZE];

    buf_printf(&page->value,
               "%s takes %.1f %% of the step (%.1f to %.1f %%): ", ss_stage_text(unsure->stage),
               100 * unsure->share.mid, 100 * unsure->share.low, 100 * unsure->share.high);
    if (unsure->more_steps > 0)
        buf_printf(&page->value, "about %s more steps would show whether that is a bottleneck",
                   units_integer(steps, (uint64_t)unsure->more_steps));
    else
        buf_add_text(&page->value, "a longer run would show whether that is a bottleneck");
}

void report_say_claim(struct page *page, const struct diagnosis *diagnosis)
{
    const struct finding *first = diagnosis_first(diagnosis);
    char range[RANGE_SIZE];

    if (!first && diagnosis->inconclusive.share.high > 0)
        say_unsure(page, &diagnosis->inconclusive);
    if (!first || first->id == FINDING_TOO_FEW_STEPS)
        return;
    page_prose(page, first->claim);
    if (has_range(first))
        buf_printf(&page->value, first->kind == SHARE_ESTIMATE ? " (estimate: %s)" : " (%s)",
                   range_text_of(range, first));
}

void report_say_advice(struct report *report)
{
    const struct diagnosis *diagnosis = &report->analysis->diagnosis;

    if (!warns(diagnosis, 0) || !diagnosis->finding[0].advice[0])
        return;
    page_prose(&report->page, diagnosis->finding[0].advice);
    if (report_has_saving(report, &diagnosis->finding[0]))
        buf_add_text(&report->page.value, "; saves ");
    report_say_saving(report, &diagnosis->finding[0]);
}

void report_say_next(struct page *page, const struct diagnosis *diagnosis)
{
    for (size_t i = 1; i < FINDINGS_SAID && warns(diagnosis, i); i++) {
        const struct finding *finding = &diagnosis->finding[i];
        buf_printf(&page->value, "%s%s", i > 1 ? ", " : "", finding_name(finding->id));
        if (isfinite(finding->share.mid))
            buf_printf(&page->value, " %.1f %%", 100 * finding->share.mid);
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
    const bool is_in_head = finding == report->in_head;

    buf_printf(&page->value, "%s (%s)", finding_name(finding->id),
               finding_severity_text(finding->severity));
    if (!is_in_head) {
        buf_add_text(&page->value, ": ");
        page_prose(page, finding->claim);
    }
    report_paragraph(report, finding->severity >= FINDING_WARN);
    report_say_share(page, finding);
    if (page->value.size > 0)
        page_field(page, "  share");
    if (!is_in_head) {
        report_say_saving(report, finding);
        report_say_gain_most(report, finding);
    }
    if (page->value.size > 0)
        page_field(page, "  saves");
    field(page, "  because", finding->evidence);
    if (!is_in_head)
        field(page, "  try", finding->advice);
    field(page, "  check", finding->check);
    field(page, "  unsure", finding->unknown);
}

/* Adds the ids of all causes with that reason; false: one before had it. */
static bool add_unobservable(struct page *page, const struct diagnosis *diagnosis, size_t index)
{
    const struct unobservable *own = &diagnosis->unobservable[index];

    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *other = &diagnosis->unobservable[i];
        if (strcmp(own->reason, other->reason) != 0 || strcmp(own->needs, other->needs) != 0)
            continue;
        if (i < index)
            return false;
        buf_printf(&page->value, "%s%s", i > index ? ", " : "", finding_name(other->id));
    }
    return true;
}

static void say_unobservable(struct report *report)
{
    const struct diagnosis *diagnosis = &report->analysis->diagnosis;
    struct page *page = &report->page;

    if (diagnosis->unobservable_count == 0)
        return;
    buf_add_text(&page->value, "not measurable, so neither claimed nor ruled out:");
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
    const struct diagnosis *diagnosis = &report->analysis->diagnosis;

    if (report->loop ? !report_has_statistics(report->loop) && diagnosis->count < 2
                     : diagnosis->count == 0)
        return;
    report_title(report, "Findings: %s", diagnosis_verdict(diagnosis, report->analysis->snapshot));
    for (size_t i = 0; i < diagnosis->count; i++)
        print_finding(report, &diagnosis->finding[i]);
    if (diagnosis->inconclusive.share.high > 0 && !diagnosis_first(diagnosis)) {
        say_unsure(&report->page, &diagnosis->inconclusive);
        report_paragraph(report, false);
    } else if (diagnosis->count == 0) {
        buf_add_text(&report->page.value, "no significant bottleneck");
        report_paragraph(report, false);
    }
    say_unobservable(report);
}

static void put_finding(struct json *json, const struct finding *finding)
{
    json_begin_object(json, NULL);
    json_string(json, "id", finding_name(finding->id));
    json_string(json, "severity", finding_severity_text(finding->severity));
    report_json_interval(json, "share", "share_ci", finding->share);
    if (isfinite(finding->share.mid))
        json_string(json, "share_kind", share_kind_text(finding->kind));
    else
        json_null(json, "share_kind");
    json_string(json, "of", finding_of_text(finding->of));
    report_json_interval(json, "saving", "saving_ci", finding_saving(finding));
    report_json_interval(json, "predicted", "predicted_ci", finding_predicted(finding));
    json_double(json, "gain_most", finding_gain_most(finding));
    json_string(json, "claim", finding->claim);
    json_string(json, "evidence", finding->evidence);
    json_string(json, "advice", finding->advice);
    json_string(json, "check", finding->check);
    json_string(json, "unknown", finding->unknown);
    json_end_object(json);
}

static void put_unsure(struct json *json, const struct inconclusive *unsure)
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
    put_unsure(json, &diagnosis->inconclusive);
    json_begin_array(json, "unobservable");
    for (size_t i = 0; i < diagnosis->unobservable_count; i++)
        json_string(json, NULL, finding_name(diagnosis->unobservable[i].id));
    json_end_array(json);
    json_begin_array(json, "unobservable_reasons");
    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *cause = &diagnosis->unobservable[i];
        json_begin_object(json, NULL);
        json_string(json, "id", finding_name(cause->id));
        json_string(json, "reason", cause->reason);
        json_string(json, "needs", cause->needs);
        json_end_object(json);
    }
    json_end_array(json);
}
