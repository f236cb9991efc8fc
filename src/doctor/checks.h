/* The checks of the table in doctor.c; each is one file. */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "doctor/doctor.h"

void check_clock(struct doctor *doctor);  /* source, cost of a read */
void check_cores(struct doctor *doctor);  /* how many, governor and frequency */
void check_cgroup(struct doctor *doctor); /* limits of CPU and memory, version 1 and 2 */
void check_memory(struct doctor *doctor); /* available, swap */
void check_counters(struct doctor *doctor); /* what the kernel lets us see */
void check_gpus(struct doctor *doctor);     /* NVML */
void check_pythons(struct doctor *doctor);  /* interpreters and our extension */
void check_place(struct doctor *doctor);    /* file system of runs; makes doctor->probe */
void check_span(
    struct doctor *doctor); /* cost of a span, in doctor->probe, which it ends */
void check_load(struct doctor *doctor); /* other work, since doctor->before; gaps */

/* check_load.c: fills doctor->before. */
void check_load_begin(struct doctor *doctor);

/* check_place.c: removes doctor->probe and what is in it. */
void check_place_end(struct doctor *doctor);

#endif
