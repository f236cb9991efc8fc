/* Runs a command and records it: makes the run directory, starts the command, follows what it
 * records and sums it up at the end. The command keeps its terminal, its standard input and output,
 * its signals and its exit code; without a place to record into it runs all the same. */
#ifndef SUPERVISE_SUPERVISE_H
#define SUPERVISE_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sink.h"
#include "supervise/place.h"

struct supervision {
    struct place_wish place;
    bool quiet;              /* not a byte on `err` */
    bool strict;             /* without a place to record into, nothing is run */
    int64_t every_ns;        /* between two status lines; 0: none */
    int64_t deadline_ns;     /* for the whole run; 0: none */
    const char *tensorboard; /* directory for its files; NULL: none are written */
    struct sink *err;        /* for status lines and the summary; of standard error */
    void (*say)(void *context, const char *message); /* one sentence on standard error */
    /* All is over and the run is where it stays: writes the page, in a process of its own that a signal
     * may end. NULL: nothing more is to be done with it. */
    void (*done)(void *context, const char *run);
    void *context;
};

struct supervision_end {
    int exit_code; /* of the command; 126 or 127 if it could not be started */
    int signal;    /* that ended it, 0: none */
    bool refused;  /* nothing was run: strict */
};

/* Does not return if it becomes the command itself: in a run that is being recorded already, or when
 * nothing can be recorded. */
void supervise(const struct supervision *wish, struct supervision_end *end);

#endif
