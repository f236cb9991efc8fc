/* Finds and opens the RUN that a command was given. */
#ifndef CLI_RUN_ARGUMENT_H
#define CLI_RUN_ARGUMENT_H

#include "cli/console.h"
#include "output/run_facts.h"
#include "stepscope/reader.h"

/* Where the run is: `word` is a directory, or the name of one among the runs; NULL stands for the
 * newest of them. Runs are in STEPSCOPE_DIR, or in stepscope-runs. The caller frees it; NULL after a
 * message on stderr that says why and what to do. */
char *run_argument_find(const struct console *console, const char *word);

/* NULL after such a message. */
struct ss_run *run_argument_open(const struct console *console, const char *path);

/* The same for a run of which the facts are known: its files may still be where they were recorded, and
 * one that a supervisor watched is a run even if nothing was recorded into it. */
struct ss_run *run_argument_open_recorded(const struct console *console,
                                          const struct run_facts *facts);

#endif
