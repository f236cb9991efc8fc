#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "doctor/doctor.h"
#include "stepscope/error.h"

/* Columns of the group, the state and the name, with the space behind them. */
enum { GROUP = 11, STATE = 6, NAME = 12, INDENT = GROUP + STATE + NAME };

static const char *colour_of(enum doctor_state state)
{
    static const char *const colours[DOCTOR_STATES] = {"\033[32m", "\033[33m", "\033[1;31m",
                                                       "\033[2m"};

    return colours[state];
}

static void add_padded(struct buf *out, const char *text, size_t columns)
{
    buf_printf(out, "%-*s", (int)columns, text);
}

static void add_state(struct buf *out, enum doctor_state state, bool colour)
{
    const char *text = state == DOCTOR_UNKNOWN ? "-" : doctor_state_text(state);

    if (colour)
        buf_add_text(out, colour_of(state));
    buf_add_text(out, text);
    if (colour)
        buf_add_text(out, "\033[0m");
    buf_add_repeated(out, ' ', STATE - strlen(text));
}

/* text_wrap() counts from the start of a paragraph: the left part is put in front afterwards. */
static void add_wrapped(struct buf *out, const char *text, unsigned columns)
{
    struct buf wrapped = {0};

    text_wrap(&wrapped, text, strlen(text), INDENT, columns);
    buf_add_text(out, buf_text(&wrapped));
    buf_add(out, "\n", 1);
    buf_release(&wrapped);
}

static void add_line(struct buf *out, const struct doctor_line *line, bool begins_group,
                     const struct style *style)
{
    add_padded(out, begins_group ? line->group : "", GROUP);
    add_state(out, line->state, style->colour);
    add_padded(out, line->name, NAME);
    add_wrapped(out, line->text, style->columns);
    if (line->advice[0]) {
        buf_add_repeated(out, ' ', INDENT);
        struct buf advice = {0};
        buf_printf(&advice, "-> %s", line->advice);
        add_wrapped(out, buf_text(&advice), style->columns);
        buf_release(&advice);
    }
}

static void add_answer(struct buf *out, const struct doctor *doctor)
{
    const size_t bad = doctor->count[DOCTOR_BAD], warn = doctor->count[DOCTOR_WARN];

    buf_add_text(out, bad > 0 ? "This machine is NOT fit to measure: "
                              : "This machine is fit to measure");
    if (bad > 0)
        buf_printf(out, "%zu bad", bad);
    if (warn > 0)
        buf_printf(out, "%s%zu warning%s", bad > 0 ? ", " : ", with ", warn, warn == 1 ? "" : "s");
    buf_add_text(out, ".\n\n");
}

void doctor_text(struct sink *out, const struct doctor *doctor, const struct style *style)
{
    struct buf page = {0};
    const char *group = "";

    add_answer(&page, doctor);
    for (size_t i = 0; i < doctor->lines; i++) {
        const struct doctor_line *line = &doctor->line[i];
        add_line(&page, line, strcmp(line->group, group) != 0, style);
        group = line->group;
    }
    if (page.failed)
        sink_fail(out, SS_E_NOMEM, 0);
    sink_write(out, page.data, page.size);
    buf_release(&page);
}

static void write_line(struct json *json, const struct doctor_line *line)
{
    json_begin_object(json, NULL);
    json_string(json, "group", line->group);
    json_string(json, "name", line->name);
    json_string(json, "state", doctor_state_text(line->state));
    if (line->has_value)
        json_double(json, "value", line->value);
    else
        json_null(json, "value");
    if (line->has_value)
        json_string(json, "unit", line->unit);
    else
        json_null(json, "unit");
    json_string(json, "text", line->text);
    if (line->advice[0])
        json_string(json, "advice", line->advice);
    else
        json_null(json, "advice");
    json_end_object(json);
}

static void write_python(struct json *json, const struct doctor_python *python)
{
    json_begin_object(json, NULL);
    json_string(json, "path", python->is.path);
    json_string(json, "implementation", python->is.implementation);
    json_string(json, "version", python->is.version);
    json_bool(json, "first", python->is.is_first);
    json_bool(json, "fits", python->why == NULL);
    if (python->why)
        json_string(json, "why", python->why);
    else
        json_null(json, "why");
    json_end_object(json);
}

void doctor_json(struct sink *out, const struct doctor *doctor)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "version", SS_VERSION);
    json_bool(&json, "fit", doctor->count[DOCTOR_BAD] == 0);
    for (int state = 0; state < DOCTOR_STATES; state++)
        json_uint(&json, doctor_state_text((enum doctor_state)state), doctor->count[state]);
    json_string(&json, "dir", doctor->dir);
    json_begin_array(&json, "checks");
    for (size_t i = 0; i < doctor->lines; i++)
        write_line(&json, &doctor->line[i]);
    json_end_array(&json);
    json_begin_array(&json, "pythons");
    for (size_t i = 0; i < doctor->pythons; i++)
        write_python(&json, &doctor->python[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_end_line(&json);
}
