#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/risky_calls.h"
#include "doctor/checks.h"

static const struct {
    const char *group;
    void (*look)(struct doctor *doctor);
} checks[] = {
    {"time", check_clock},     {"cores", check_cores},       {"limits", check_cgroup},
    {"memory", check_memory},  {"counters", check_counters}, {"GPU", check_gpus},
    {"Python", check_pythons}, {"build", check_build},       {"recording", check_place},
    {"recording", check_span}, {"right now", check_load},
};

static const char *choose_dir(const char *wanted)
{
    const char *from_environment = secure_getenv("STEPSCOPE_DIR");

    if (wanted)
        return wanted;
    return from_environment && *from_environment ? from_environment : "stepscope-runs";
}

void doctor_look(struct doctor *doctor, const char *dir)
{
    memset(doctor, 0, sizeof *doctor);
    doctor->dir = choose_dir(dir);
    risky_calls_try();
    check_load_begin(doctor);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        doctor->group = checks[i].group;
        checks[i].look(doctor);
    }
}

const char *doctor_state_text(enum doctor_state state)
{
    static const char *const texts[DOCTOR_STATES] = {"ok", "warn", "bad", "unknown"};

    return texts[state];
}

static struct doctor_line *last_line(struct doctor *doctor)
{
    return &doctor->line[doctor->lines ? doctor->lines - 1 : 0];
}

void doctor_say(struct doctor *doctor, const char *name, enum doctor_state state,
                const char *format, ...)
{
    va_list arguments;

    doctor->lines += doctor->lines < DOCTOR_LINES;
    doctor->count[state]++;
    struct doctor_line *line = last_line(doctor);
    *line = (struct doctor_line){.group = doctor->group, .name = name, .state = state};
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

void doctor_value(struct doctor *doctor, double value, const char *unit)
{
    struct doctor_line *line = last_line(doctor);

    line->has_value = true;
    line->value = value;
    line->unit = unit;
}

void doctor_advise(struct doctor *doctor, const char *format, ...)
{
    struct doctor_line *line = last_line(doctor);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line->advice, sizeof line->advice, format, arguments);
    va_end(arguments);
}

void doctor_say_unknown(struct doctor *doctor, const char *name, const char *why)
{
    doctor_say(doctor, name, DOCTOR_UNKNOWN, "not measurable here: %s", why);
}
