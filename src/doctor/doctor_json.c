#include "base/json.h"
#include "doctor/doctor_output.h"

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
        json_uint(&json, doctor_state_text((enum doctor_state)state),
                  doctor->count[state]);
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
