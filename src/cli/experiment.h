/* What `sweep` and `try` have in common: options, progress, and how they end. */
#ifndef CLI_EXPERIMENT_H
#define CLI_EXPERIMENT_H

#include "cli/console.h"
#include "cli/options.h"
#include "experiment/in_process.h"
#include "experiment/sweep.h"

struct experiment_options {
    const char *dir, *precision, *max_time;
    bool as_json, unprotected, serial;
};
extern struct experiment_options experiment_options;

#define EXPERIMENT_OPTIONS                                                                         \
    {.name = "precision",                                                                          \
     .argument = "PERCENT",                                                                        \
     .help = "stop at this precision (default: 3%)",                                               \
     .value = &experiment_options.precision},                                                      \
        {.name = "max-time",                                                                       \
         .argument = "T",                                                                          \
         .help = "stop after " DURATION_EXAMPLES " (default: 5m)",                                 \
         .value = &experiment_options.max_time},                                                   \
        {.name = "serial",                                                                         \
         .help = "one training at a time, in two rounds",                                          \
         .is_given = &experiment_options.serial},                                                  \
        {.name = "unprotected",                                                                    \
         .help = "let the script change files",                                                    \
         .is_given = &experiment_options.unprotected},                                             \
        {.name = "dir",                                                                            \
         .argument = "DIR",                                                                        \
         .help = "keep runs in DIR (default: stepscope-runs)",                                     \
         .value = &experiment_options.dir},                                                        \
    {                                                                                              \
        .name = "json", .help = "print JSON", .is_given = &experiment_options.as_json              \
    }

/* Fills in what the options say. False after a message: usage. */
bool experiment_wish(const struct console *console, struct sweep_wish *wish);

/* Runs it with a line of progress. False after a message: there is no result. Release the result in
 * either case. */
bool experiment_run(struct console *console, const struct sweep_wish *wish,
                    struct sweep_result *result);

/* The same for one that goes on within a training: 0, or SS_E with a sentence. */
int experiment_run_inside(struct console *console, const struct in_process_wish *wish,
                          struct in_process_result *result, struct ss_error *error);

/* `code`; does not return if a signal ended it early. */
int experiment_code(struct console *console, int code, int signal);

/* The exit code; does not return if a signal ended it early. `is_useful`: something was measured.
 */
int experiment_end(struct console *console, struct sweep_result *result, bool is_useful);

#endif
