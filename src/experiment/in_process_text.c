#include <string.h>

#include "base/json.h"
#include "experiment/in_process.h"
#include "render/page.h"
#include "render/units.h"
#include "report/report_arms.h"

enum { NOTE_COLUMNS = 400 };

static void print_notes(struct page *page, const struct in_process_result *result)
{
    const char *at = result->notes.size > 0 ? result->notes.data : "";
    const char *const end = at + result->notes.size;

    while (at < end) {
        const char *const line = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((line ? line : end) - at);
        page_text(page, (struct ss_text){at, size}, NOTE_COLUMNS);
        page_field(page, "note");
        at += size + 1;
    }
}

void in_process_text(struct sink *out, const struct in_process_result *result,
                     const struct style *style)
{
    char took[UNITS_SIZE];
    struct page page;

    page_init(&page, out);
    page.columns = style->columns;
    buf_add_text(&page.value, "stepscope try: ");
    page_count(&page, (uint64_t)result->steps, "step", "steps");
    buf_printf(&page.value, " in %s%s", units_duration(took, (int64_t)(result->seconds * 1e9)),
               result->signal ? ", interrupted" : "");
    page_line(&page);
    if (result->arms.count > 0) {
        report_arms_table(&page, &result->arms, style);
        report_arms_say_clock(&page, &result->arms);
        page_field(&page, "clock");
    }
    if (result->arms.count > 0 && !result->is_precise && !result->signal) {
        page_prose(&page, "not as precise as it was asked for; a longer --max-time or a quieter "
                          "machine would tell more");
        page_field(&page, "note");
    }
    print_notes(&page, result);
    page_prose(&page, "the training was thrown away; ");
    page_prose(&page, protect_text(result->level));
    page_field(&page, "files");
    page_text(&page, (struct ss_text){result->dir.data, result->dir.size}, result->dir.size);
    page_field(&page, "run");
    page_release(&page);
}

void in_process_json(struct sink *out, const struct in_process_result *result)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    report_json_arms(&json, &result->arms);
    json_string(&json, "protected", protect_word(result->level));
    json_bool(&json, "precise", result->is_precise);
    json_int(&json, "steps", result->steps);
    json_double(&json, "seconds", result->seconds);
    json_bytes(&json, "run", result->dir.data, result->dir.size);
    json_bytes(&json, "notes", result->notes.data, result->notes.size);
    json_end_object(&json);
    json_end_line(&json);
}
