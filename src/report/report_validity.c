/* What disturbed the run, and what could not be observed. */
#include <math.h>
#include <string.h>

#include "diagnose/validity.h"
#include "render/style.h"
#include "report/report_parts.h"

/* Without a supervisor there is little to say, unless something of it did disturb the run. */
static bool is_worth_saying(const struct report *report)
{
    return snapshot_is_watched(report->analysis->snapshot) ||
           report->analysis->diagnosis.validity.level > VALIDITY_OK;
}

static void add_items(struct buf *out, const struct validity *validity, enum validity_level level)
{
    for (size_t i = 0; i < validity->count; i++)
        if (validity->item[i].level == level)
            buf_printf(out, "%s%s", out->size > 0 ? "; " : "", validity->item[i].text);
}

static void add_ids(struct buf *out, const struct validity *validity, enum validity_level level)
{
    for (size_t i = 0; i < validity->count; i++)
        if (validity->item[i].level == level)
            buf_printf(out, "%s%s", out->size > 0 ? ", " : "",
                       validity_id_text(validity->item[i].id));
}

/* The first finding, which has said it already in the same words; NULL: it has not. Of the next
 * ones there is only the name, which explains nothing. */
static const struct finding *said_before(const struct diagnosis *diagnosis,
                                         const struct validity_item *item)
{
    const struct finding *first = diagnosis_first(diagnosis);

    return first && first->severity >= FINDING_WARN && strcmp(first->claim, item->text) == 0 ? first
                                                                                             : NULL;
}

static void add_unsaid(struct buf *out, const struct diagnosis *diagnosis)
{
    const struct validity *validity = &diagnosis->validity;

    for (size_t i = 0; i < validity->count; i++) {
        const struct validity_item *item = &validity->item[i];
        const struct finding *said = said_before(diagnosis, item);
        if (item->level == validity->level)
            buf_printf(out, "%s%s", out->size > 0 ? "; " : "",
                       said ? finding_name(said->id) : item->text);
    }
}

/* What was not seen may have disturbed it all the same; some of that is missing in every virtual
 * machine. */
static void say_nothing_seen(struct buf *out, const struct validity *validity)
{
    enum { NAMED = 3 }; /* of the stamp, for a line of its own in the summary */
    size_t missing = 0;

    for (size_t i = 0; i < validity->count; i++) {
        if (validity->item[i].level != VALIDITY_UNSEEN || missing++ >= NAMED)
            continue;
        buf_printf(out, "%s%s",
                   missing > 1 ? ", " : "no interference detected (not measurable here: ",
                   validity_id_text(validity->item[i].id));
    }
    if (missing > NAMED)
        buf_printf(out, ", %zu more", missing - NAMED);
    buf_add_text(out, missing ? ")" : "no interference detected");
}

void report_say_validity(struct report *report)
{
    const struct diagnosis *diagnosis = &report->analysis->diagnosis;

    if (!is_worth_saying(report))
        return;
    if (diagnosis->validity.level == VALIDITY_OK)
        say_nothing_seen(&report->page.value, &diagnosis->validity);
    else
        add_unsaid(&report->page.value, diagnosis);
}

static void add_slow(struct buf *out, const struct attribution *attribution)
{
    char text[ATTRIBUTION_TEXT_SIZE];

    for (size_t i = 0; i < attribution->count; i++)
        if (attribution->item[i].verdict > ATTRIBUTION_UNLISTED)
            buf_printf(out, "%s%s", out->size > 0 ? "; " : "steps ",
                       attribution_text(text, &attribution->item[i], true));
}

void report_validity(struct report *report)
{
    const struct validity *validity = &report->analysis->diagnosis.validity;
    struct page *page = &report->page;

    if (!is_worth_saying(report))
        return;
    report_title(report, "Interference");
    add_items(&page->value, validity, VALIDITY_WARN);
    if (page->value.size > 0)
        page_field(page, "Disturbed");
    add_items(&page->value, validity, VALIDITY_NOTE);
    if (page->value.size > 0)
        page_field(page, "Minor");
    add_ids(&page->value, validity, VALIDITY_OK);
    if (page->value.size > 0)
        page_field(page, "OK");
    add_items(&page->value, validity, VALIDITY_UNSEEN);
    if (page->value.size > 0)
        page_field(page, "No data");
    add_slow(&page->value, &report->analysis->diagnosis.attribution);
    if (page->value.size > 0)
        page_field(page, "Slow");
}

static void json_attribution(struct json *json, const struct attribution *attribution)
{
    json_begin_object(json, "attribution");
    json_uint(json, "windows", attribution->windows);
    json_double(json, "excess", attribution->excess);
    if (attribution->refused)
        json_string(json, "refused", attribution->refused);
    else
        json_null(json, "refused");
    json_begin_array(json, "counters");
    for (size_t i = 0; i < attribution->count; i++) {
        const struct attributed *item = &attribution->item[i];
        json_begin_object(json, NULL);
        json_string(json, "counter", item->counter);
        json_string(json, "text", item->words);
        json_string(json, "verdict", attribution_verdict_text(item->verdict));
        json_double(json, "explained", item->explained);
        json_double(json, "rho", item->rho);
        json_double(json, "p", item->p);
        json_bool(json, "late", item->is_late);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void report_json_validity(struct json *json, const struct diagnosis *diagnosis)
{
    const struct validity *validity = &diagnosis->validity;

    json_begin_object(json, "validity");
    json_string(json, "level", validity_level_text(validity->level));
    json_begin_array(json, "items");
    for (size_t i = 0; i < validity->count; i++) {
        const struct validity_item *item = &validity->item[i];
        json_begin_object(json, NULL);
        json_string(json, "id", validity_id_text(item->id));
        json_string(json, "level", validity_level_text(item->level));
        json_double(json, "value", item->value);
        json_string(json, "unit", item->unit);
        json_string(json, "text", item->text);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_array(json, "programs");
    for (size_t i = 0; i < validity->programs; i++) {
        json_begin_object(json, NULL);
        json_string(json, "name", validity->program[i].name);
        json_double(json, "cores", validity->program[i].cores);
        json_end_object(json);
    }
    json_end_array(json);
    json_attribution(json, &diagnosis->attribution);
    json_end_object(json);
}
