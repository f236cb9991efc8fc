/* The faults of demo.h at work: each takes the time that it was asked to take, where it belongs,
 * and keeps count of what it really took. A place may be hit from one thread only. */
#ifndef DEMO_FAULTS_H
#define DEMO_FAULTS_H

#include <stdio.h>
#include <sys/types.h>

#include "demo.h"

struct faults {
    const struct demo_fault *wanted;
    struct {
        int64_t times, spent_ns;
    } done[FAULT_COUNT];
    pid_t hogs[DEMO_HOGS];
};

/* Starts the processes of cpu-hog: before any thread is started, and before anything is
 * recorded. */
void faults_start(struct faults *faults, const struct demo_settings *settings);
void faults_stop(struct faults *faults);

/* Does nothing if this fault is off, is not for this step (counted from 0), or is for another name;
 * `name` is NULL where the fault has none. */
void faults_hit(struct faults *faults, enum demo_fault_id id, int64_t step, const char *name);

/* JSON: a list of the faults that are on, what they were asked for and what they did. */
void faults_write(const struct faults *faults, FILE *file);

#endif
