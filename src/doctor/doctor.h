/* `stepscope doctor`: is this machine fit to measure?
 *
 * A check looks at one thing, within a fraction of a second, and says one or a few lines. Checks
 * are a table in doctor.c, one file check_THING.c each; what they change on the way they put back.
 * What cannot be seen here is DOCTOR_UNKNOWN, which is neither good nor bad. */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/sink.h"
#include "doctor/interpreters.h"
#include "render/style.h"

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD, DOCTOR_UNKNOWN, DOCTOR_STATES };

enum { DOCTOR_LINES = 48, DOCTOR_TEXT = 224, DOCTOR_PYTHONS = 32 };

struct doctor_line {
    const char *group, *name;
    enum doctor_state state;
    bool has_value;
    double value;
    const char *unit;
    char text[DOCTOR_TEXT];   /* may hold anything: paths, names of GPUs */
    char advice[DOCTOR_TEXT]; /* what to do; "": nothing */
};

struct doctor_python {
    struct interpreter is;
    const char *why; /* no hooks in it; NULL: there are */
};

/* What the machine had done when doctor_look() began. */
struct doctor_before {
    int64_t time_ns, own_cpu_ns;
    bool has_cpus, has_swaps;
    size_t cores;        /* that we may use */
    uint64_t busy_ticks; /* of those */
    uint64_t steal_ticks, swaps;
};

struct doctor {
    const char *dir;      /* where runs go, as one would type it */
    char probe[PATH_MAX]; /* an empty directory like that of a run; "": it cannot be made */
    const char *group;    /* of the check that is at work */
    struct doctor_before before;
    int64_t longest_gap_ns, spin_ns; /* without a core, of so long; 0: not known */
    struct doctor_line line[DOCTOR_LINES];
    size_t lines;
    size_t count[DOCTOR_STATES];
    struct doctor_python python[DOCTOR_PYTHONS];
    size_t pythons;
};

/* Runs all checks. `dir`: where runs go; NULL: STEPSCOPE_DIR or stepscope-runs. Nothing needs to be
 * released. */
void doctor_look(struct doctor *doctor, const char *dir);

const char *doctor_state_text(enum doctor_state state); /* "ok", "warn", "bad", "unknown" */

/* For checks: one line more. The functions below add to the line that was said last. */
void doctor_say(struct doctor *doctor, const char *name, enum doctor_state state,
                const char *format, ...) ATTR_PRINTF(4, 5);
void doctor_value(struct doctor *doctor, double value, const char *unit);
void doctor_advise(struct doctor *doctor, const char *format, ...) ATTR_PRINTF(2, 3);

/* The usual line for what is not there: "not measurable here: WHY". */
void doctor_say_unknown(struct doctor *doctor, const char *name, const char *why);

/* What it found, for people: the answer in one line, then a line for each thing that was looked at,
 * by groups (doctor_output.c). */
void doctor_text(struct sink *out, const struct doctor *doctor, const struct style *style);

/* For programs: one object; its keys are in stepscope-doctor(1). */
void doctor_json(struct sink *out, const struct doctor *doctor);

#endif
