/* Which Pythons are here, and in which of them `stepscope run` can lay its hooks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "doctor/checks.h"
#include "supervise/python_path.h"

enum { OLDEST = 10, NEWEST = 15 }; /* CPython 3.x whose stacks can be sampled */

static const char no_extension[] = "no stepscope extension";

/* Of "3.11.7": 11; 0 for what is not Python 3. */
static long minor_of(const char *version)
{
    return strncmp(version, "3.", 2) == 0 ? strtol(version + 2, NULL, 10) : 0;
}

static const char *why_not(const struct interpreter *python)
{
    const long minor = minor_of(python->version);

    if (!python->answered)
        return "does not start";
    if (strcmp(python->implementation, "cpython") != 0)
        return "not CPython";
    if (minor < OLDEST)
        return "older than 3.10";
    return python->has_extension ? NULL : no_extension;
}

/* 3.14.7 is called 3.14.7t if it is built without the GIL. */
static const char *letter_of(const struct interpreter *python)
{
    return python->is_free_threaded ? "t" : "";
}

static void gather(struct doctor *doctor, const char *package)
{
    static struct interpreter found[DOCTOR_PYTHONS];

    doctor->pythons = interpreters_find(found, DOCTOR_PYTHONS, package);
    for (size_t i = 0; i < doctor->pythons; i++) {
        doctor->python[i].is = found[i];
        doctor->python[i].why = why_not(&found[i]);
    }
}

static void say_first(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->pythons; i++) {
        const struct doctor_python *python = &doctor->python[i];
        if (!python->is.is_first)
            continue;
        if (!python->why) {
            if (minor_of(python->is.version) > NEWEST)
                doctor_say(doctor, "python3", DOCTOR_WARN,
                           "%s%s, hooks available, but no stack samples for this version",
                           python->is.version, letter_of(&python->is));
            else
                doctor_say(doctor, "python3", DOCTOR_OK, "%s%s, hooks available",
                           python->is.version, letter_of(&python->is));
            return;
        }
        doctor_say(doctor, "python3", DOCTOR_WARN, "%s%s: %s",
                   python->is.answered ? python->is.version : python->is.path,
                   letter_of(&python->is), python->why);
        if (!python->is.answered)
            doctor_advise(doctor, "run it: it should print its version within a second");
        else if (python->why == no_extension)
            doctor_advise(doctor, "%s -m pip install stepscope", python->is.path);
        else
            doctor_advise(
                doctor,
                "use CPython 3.10 or later: scripts run with this one, but are not measured");
        return;
    }
    doctor_say(doctor, "python3", DOCTOR_OK, "none on PATH");
}

/* "3.10.13, 3.14.7t": those for which `why` is this one. */
static void list(const struct doctor *doctor, const char *why, struct buf *out)
{
    for (size_t i = 0; i < doctor->pythons; i++)
        if (!doctor->python[i].is.is_first && doctor->python[i].why == why)
            buf_printf(out, "%s%s%s", out->size > 0 ? ", " : "", doctor->python[i].is.version,
                       letter_of(&doctor->python[i].is));
}

static void say_others(struct doctor *doctor)
{
    struct buf fit = {0}, bare = {0};

    list(doctor, NULL, &fit);
    list(doctor, no_extension, &bare);
    if (fit.size > 0)
        doctor_say(doctor, "others", DOCTOR_OK, "%s: hooks available", fit.data);
    if (bare.size > 0) {
        doctor_say(doctor, "others", DOCTOR_OK, "%s: %s", bare.data, no_extension);
        doctor_advise(doctor, "install stepscope for it before you train with it");
    }
    buf_release(&fit);
    buf_release(&bare);
}

void check_pythons(struct doctor *doctor)
{
    struct buf package = {0};

    python_path_find(&package);
    if (package.size > 0)
        *strrchr(package.data, '/') = '\0';
    gather(doctor, buf_text(&package));
    if (package.size > 0) {
        doctor_say(doctor, "package", DOCTOR_OK, "%s", buf_text(&package));
    } else {
        doctor_say(doctor, "package", DOCTOR_WARN, "not found next to this command");
        doctor_advise(
            doctor,
            "Python scripts run but are not hooked: install stepscope with pip, or build it with its Python part");
    }
    say_first(doctor);
    say_others(doctor);
    buf_release(&package);
}
