/* The validity stamp: what disturbed a run, each with its number (method 8.2). A
 * disturbance of which the counter is missing here is "not measurable", never ruled out. Without a
 * supervisor that is all but what the processes themselves tell. */
#ifndef DIAGNOSE_VALIDITY_H
#define DIAGNOSE_VALIDITY_H

#include "diagnose/other_programs.h"
#include "summary/snapshot.h"

enum validity_level {
    VALIDITY_OK,
    VALIDITY_UNSEEN, /* its counter is absent or denied */
    VALIDITY_NOTE,   /* it happened; too little to change a verdict */
    VALIDITY_WARN    /* it changed times */
};

/* What may disturb a run, in the order in which the stamp has it. */
/* clang-format off */
#define VALIDITY_LIST(X) \
    X(CLOCK, "clock") \
    X(FREQUENCY, "frequency") \
    X(HEAT, "heat") \
    X(CGROUP, "cgroup") \
    X(STEAL, "steal") \
    X(PREEMPTED, "preempted") \
    X(OTHERS, "others") \
    X(SWAP, "swap") \
    X(MEMORY, "memory") \
    X(IO, "io") \
    X(GPU, "gpu") \
    X(DROPPED, "dropped") \
    X(COST, "cost") \
    X(PERTURBED, "perturbed") \
    X(WATCHED, "watched")
/* clang-format on */

enum validity_id {
#define VALIDITY_ID(upper, text) VALIDITY_##upper,
    VALIDITY_LIST(VALIDITY_ID)
#undef VALIDITY_ID
};

enum { VALIDITY_TEXT_SIZE = 120 };

struct validity_item {
    enum validity_id id;
    enum validity_level level;
    double value;                  /* in the unit; NAN: none */
    const char *unit;              /* "share", "count", "ppm" */
    char text[VALIDITY_TEXT_SIZE]; /* "heat slowed cores down 3 times" */
};

enum { VALIDITY_ITEMS = 16 };

struct validity {
    enum validity_level level; /* the worst; UNSEEN counts as OK if anything is seen */
    struct validity_item item[VALIDITY_ITEMS];
    size_t count;
    struct other_program_use program[OTHER_PROGRAMS_MOST]; /* what else used the cores */
    size_t programs;
};

/* Appends ": cc1 0.80, python3 0.40", in cores; nothing if none is known. */
void validity_say_programs(char *text, size_t size, const struct validity *validity);

void validity_judge(struct validity *out, const struct snapshot *snapshot,
                    const struct ss_run *run);

const char *validity_id_text(enum validity_id id);
const char *validity_level_text(enum validity_level level);

/* What recording itself took of the primary loop. An estimate: events times what one costs inside a
 * step, not a comparison with a run that is not recorded. */
struct own_cost {
    double step;   /* share of a steady step that its thread spent on its spans; NAN: not known */
    double beside; /* cores: helper thread and stack sampler of its process, the supervisor */
};

struct own_cost own_cost_of(const struct snapshot *snapshot, const struct ss_run *run);

#endif
