#include "cli/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "supervise/signals.h"

enum { SIGNAL_EXIT = 128 };
static const double usual_precision = 0.03;
static const int64_t usual_time_ns = 300000000000;

struct experiment_options experiment_options;

/* "2%" or "2": above 0 and below 100. */
static bool parse_precision(const struct console *console, double *out)
{
    const char *const text = experiment_options.precision;
    char *end = NULL;

    *out = usual_precision;
    if (!text)
        return true;
    *out = strtod(text, &end) / 100;
    if (end != text && *out > 0 && *out < 1 && (strcmp(end, "%") == 0 || *end == '\0'))
        return true;
    console_error(console, "--precision takes a percentage such as 3%%, not '%s'.", text);
    return false;
}

bool experiment_wish(const struct console *console, struct sweep_wish *wish)
{
    const char *const time = experiment_options.max_time;

    wish->parent = experiment_options.dir;
    wish->may_be_unprotected = experiment_options.unprotected;
    wish->is_serial = experiment_options.serial;
    wish->most_ns = usual_time_ns;
    if (!parse_precision(console, &wish->precision))
        return false;
    if (!time || duration_parse(time, &wish->most_ns))
        return true;
    console_error(console, "--max-time takes a time such as " DURATION_EXAMPLES ", not '%s'.",
                  time);
    return false;
}

struct told {
    struct progress progress;
    const struct console *console;
};

static void show(void *context, double done)
{
    struct told *const told = context;

    progress_show(&told->progress, done);
}

static void say(void *context, const char *message)
{
    const struct told *const told = context;

    console_error(told->console, "%s", message);
}

bool experiment_run(struct console *console, const struct sweep_wish *wish,
                    struct sweep_result *result)
{
    struct told told = {.console = console};
    struct sweep_wish shown = *wish;
    struct ss_error error = {0};

    progress_begin(&told.progress, console->command);
    shown.progress = show;
    shown.say = say;
    shown.context = &told;
    const int failed = sweep_run(&shown, result, &error);
    progress_end(&told.progress);
    if (failed)
        console_error(console, "%s.", error.message);
    return !failed;
}

int experiment_run_inside(struct console *console, const struct in_process_wish *wish,
                          struct in_process_result *result, struct ss_error *error)
{
    struct told told = {.console = console};
    struct in_process_wish shown = *wish;

    progress_begin(&told.progress, console->command);
    shown.progress = show;
    shown.say = say;
    shown.context = &told;
    const int failed = in_process_run(&shown, result, error);
    progress_end(&told.progress);
    return failed;
}

int experiment_code(struct console *console, int code, int signal)
{
    if (!signal)
        return code;
    (void)sink_flush(&console->out);
    signals_die_by(signal);
    return SIGNAL_EXIT + signal;
}

int experiment_end(struct console *console, struct sweep_result *result, bool is_useful)
{
    const int signal = result->signal;

    if (!is_useful && !signal)
        console_error(console,
                      "no training could be measured. What they printed is in output.log below "
                      "'%s'.",
                      buf_text(&result->dir));
    sweep_release(result);
    return experiment_code(console, is_useful ? EXIT_FINE : EXIT_DATA, signal);
}
