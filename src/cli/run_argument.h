/* Finds and opens the RUN that a command was given. */
#ifndef CLI_RUN_ARGUMENT_H
#define CLI_RUN_ARGUMENT_H

#include "cli/console.h"
#include "load/run_facts.h"
#include "stepscope/reader.h"

/* For the details of commands that take one. */
#define RUN_ARGUMENT_HELP                                                                          \
    "RUN is the name of a run or its beginning, latest, latest~1 (the one before), or\n"           \
    "a directory; 'stepscope list' shows the runs. Without it, the latest run.\n"

/* The path of the run that `word` stands for: a directory; or, among the runs in STEPSCOPE_DIR or
 * stepscope-runs, what run_list_find() says. NULL stands for the latest of them. The caller frees
 * it; NULL after a message on stderr that says why and what to do. */
char *run_argument_find(const struct console *console, const char *word);

/* The same for commands that read jobs; others get the run of a job's lowest rank, and say so. */
char *run_argument_find_job(const struct console *console, const char *word);

/* NULL after such a message. */
struct ss_run *run_argument_open(const struct console *console, const char *path);

/* The same for a run of which the facts are known: its files may still be where they were recorded,
 * and one that a supervisor watched is a run even if nothing was recorded into it. */
struct ss_run *run_argument_open_recorded(const struct console *console,
                                          const struct run_facts *facts);

/* The same without a message, for one of many. */
struct ss_run *run_argument_open_quietly(const struct run_facts *facts, const char *path);

/* Says on stderr if part of it is missing, where the output does not show that by itself. */
void run_argument_say_missing(const struct console *console, const struct ss_run *run,
                              const char *path);

#endif
