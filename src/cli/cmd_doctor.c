#include <stdbool.h>
#include <unistd.h>

#include "cli/command.h"
#include "doctor/doctor.h"

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
        const struct style style = style_for(STDOUT_FILENO);
        doctor_text(&console->out, &doctor, &style);
    }
    return doctor.count[DOCTOR_BAD] > 0 ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static const struct cli_option options[] = {
    {.name = "dir",
     .argument = "DIR",
     .help = "where runs will be kept, as for 'stepscope run'",
     .value = &dir},
    {.name = "json", .help = "one JSON object, with every Python found", .is_given = &as_json},
    {0},
};

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "check whether this machine is fit to measure",
    .operands = "",
    .details = "Checks what measuring depends on: the clock, cores, limits, memory, kernel\n"
               "counters, GPUs, Pythons, the run directory, the cost of a span, and what\n"
               "else the machine is doing right now. Takes about a second. Each line is ok,\n"
               "warn or bad, or - where it cannot be checked. Nothing is left behind.\n",
    .options = options,
    .fewest = 0,
    .most = 0,
    .run = run,
};
