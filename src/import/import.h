/* Makes a run of traces that other profilers wrote (docs/import.md). */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "stepscope/error.h"

struct import_job {
    char *const *traces; /* paths: the ranks of one job */
    size_t count;
    const char *run; /* the directory, which must not be there */
    void (*progress)(void *context, double done);
    void *context;
};

/* What was found, for a line to the user. */
struct import_result {
    uint64_t events, steps, device_events, unlaunched;
};

/* 0, or an SS_E code with a sentence; then no directory is left. */
int import_traces(const struct import_job *job, struct import_result *result,
                  struct ss_error *error);

#endif
