/* Numbers by which something is said or not that several files use, each with its reason; one that
 * a single finding uses stands beside it. docs/method.md explains how each is used (method 10, 11);
 * "ours" are those for which there is no other authority than our own measurements. Shares are
 * parts of 1; a band is compared with the lower end of a share's 95 % interval. */
#ifndef DIAGNOSE_THRESHOLDS_H
#define DIAGNOSE_THRESHOLDS_H

#include "diagnose/finding_kind.h"

/* From which share on a disturbance is significant, and from which on it changes times. */
struct limits {
    double note, warn;
};

/* Stages of a step. A candidate from 3 %, moderate from 5 %, high from 20 % (method 10.1). */
static const struct bands stage_bands = {0.03, 0.05, 0.2};
/* Of the script's own code, one line must have this part to be named; else all of it has
 * to be worth as much as what nothing names (ours). And samples of what no span covers, for these
 * to say anything (ours). */
static const double own_line_least = 0.5;
enum { OWN_SAMPLES = 4 };
/* Evaluation and saving, of the loop: both are useful, so more of it is accepted (ours). */
static const struct bands cut_bands = {0.05, 0.1, 0.3};
/* With too few steps for an interval: from such a share on a cause is named, and may be half or
 * twice as large (ours: a fifth is far above every other band, even halved). */
static const double few_least = 0.2, few_times_least = 0.5, few_times_most = 2;

/* A line is named from such a share of its stage's samples on, by the lower end of Wilson's
 * interval, so that 4 of 4 samples are more than half and 1 of 2 is nothing (ours). */
static const double line_share = 0.2;
/* Looks at a thread, for the part of the time in which it ran to be known (ours). */
enum { LOOKS_NEEDED = 20 };
/* Looks at a thread in which it ran: works itself, or waits (method 8.6: below 0.5 it waits; 0.1 to
 * either side is left open). */
static const double mostly_busy = 0.6, mostly_waiting = 0.4;
/* To hand a batch over takes a worker's process 0.3 to 2 ms here, and more on a busy machine: below
 * 5 ms of making one gains nothing that is certain, and in-memory tensors became four times slower
 * with two of them. A core that is free for three quarters of the time is one (ours). */
static const double worker_worth_ns = 5e6, core_nearly = 0.25;
/* Major faults: 2 % of the time at 1 ms each, which is between a disk and a fast one
 * (method 11.10): ten times of it, or, with the fastest, a twentieth (ours: here they took 65 to 85
 * us). */
static const double faults_share = 0.02, fault_ns = 1e6, fault_least = 0.05, fault_most = 10;
/* Of the time that the loop was ready and waited for a core: this part was surely due to others,
 * and with its helper threads, which waited as well, it may have lost this part (ours; the fault
 * matrix has the evidence). */
static const double waited_least = 0.5, waited_most = 2;
/* The clock of a GPU is held down if it lacks 10 % (ours). */
static const double gpu_clock_held = 0.9;
/* A GPU that is busy for this part of the time does its work while the host waits: then the wait is
 * no loss (ours). */
static const double gpu_working = 0.7;

/* A change below 2 % of the step is not significant, and machines that are not kept
 * quiet differ by as much from day to day (method 7.3). */
static const double step_matters = 0.02;
/* A stage that has this part of the step's change is named as its carrier (method
 * 7.5, 11.13). */
static const double carries = 0.6;
/* Waiting for a disk, of the time (method 8.2). */
static const struct limits io_limits = {0.005, 0.02};

#endif
