/* Runs a command and records it: makes the run directory, starts the command, follows what it
 * records and sums it up at the end. The command keeps its terminal, its standard input and output,
 * its signals and its exit code; without a place to record into it runs all the same. */
#ifndef SUPERVISE_SUPERVISE_H
#define SUPERVISE_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervise/run_place.h"

struct analysis;
struct model_step;

struct supervision {
    struct run_place_wish place;
    const char *job;         /* of which this launch is a part; NULL: as its launcher says */
    bool quiet;              /* not a byte on standard error */
    bool unpacked;           /* the run is not packed at its end */
    bool keep_traces;        /* what windows of a framework's own profiler left stays in the run */
    bool strict;             /* without a place to record into, nothing is run */
    int64_t every_ns;        /* between two status lines; 0: none */
    int64_t deadline_ns;     /* for the whole run; 0: none */
    const char *tensorboard; /* directory for its files; NULL: none are written */
    void (*say)(void *context, const char *message); /* one sentence on standard error */
    /* All is over and the run is where it stays: writes the page, in a process of its own that a
     * signal may end. `analysis` is the one of the summary; NULL: there is none, but what has been
     * recorded can be read. NULL: nothing more is to be done with the run. */
    void (*done)(void *context, const char *run, const struct analysis *analysis);
    void (*seen)(void *context, const struct model_step *step); /* each step; NULL: none */
    void *context;
};

struct supervision_end {
    int exit_code; /* of the command; 126 or 127 if it could not be started */
    int signal;    /* that ended it, 0: none */
    bool refused;  /* nothing was run: strict */
};

/* Does not return if it becomes the command itself: in a run that is being recorded already, or
 * when nothing can be recorded. */
void supervise(const struct supervision *wish, struct supervision_end *end);

#endif
