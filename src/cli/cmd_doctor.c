#include <stdbool.h>
#include <unistd.h>

#include "cli/command.h"
#include "doctor/doctor.h"
#include "doctor/doctor_output.h"

static bool as_json;
static const char *dir;

static int run(struct console *console, int count, char **operands)
{
    static struct doctor doctor; /* large: every Python has a path */

    (void)count;
    (void)operands;
    if (dir && !*dir) {
        console_error(console, "--dir is empty.");
        return EXIT_USAGE;
    }
    doctor_look(&doctor, dir);
    if (as_json) {
        doctor_json(&console->out, &doctor);
    } else {
        const struct report_style style = report_style_for(STDOUT_FILENO);
        doctor_text(&console->out, &doctor, &style);
    }
    return doctor.count[DOCTOR_BAD] > 0 ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static const struct cli_option options[] = {
    {.name = "dir",
     .argument = "DIR",
     .help = "where runs will go, as for 'stepscope run'",
     .value = &dir},
    {.name = "json",
     .help = "one JSON object, with every Python that was found",
     .is_given = &as_json},
    {0},
};

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "is this machine fit to measure, and what to do if not",
    .operands = "",
    .details =
        "Looks at what measuring depends on: the clock, cores, limits, memory, counters\n"
        "of the kernel, GPUs, Pythons, the place where runs go, what a span costs, and\n"
        "what else the machine does right now. Takes about a second; each line is ok,\n"
        "warn or bad, or - where this machine does not tell. Nothing is left behind.\n",
    .options = options,
    .fewest = 0,
    .most = 0,
    .run = run,
};
