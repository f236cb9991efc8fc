/* The checks of the table in doctor.c. */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "doctor/doctor.h"

void check_clock(struct doctor *doctor);    /* source, cost of a read */
void check_cores(struct doctor *doctor);    /* how many, governor and frequency */
void check_cgroup(struct doctor *doctor);   /* limits of CPU and memory, version 1 and 2 */
void check_memory(struct doctor *doctor);   /* available, swap */
void check_counters(struct doctor *doctor); /* what the kernel lets us see */
void check_gpus(struct doctor *doctor);     /* NVML */
void check_pythons(struct doctor *doctor);  /* interpreters and our extension */
void check_build(struct doctor *doctor);    /* what was left out when it was built */
void check_place(struct doctor *doctor);    /* file system of runs; makes doctor->probe */
void check_span(struct doctor *doctor);     /* cost of a span, in doctor->probe, which it ends */
void check_load(struct doctor *doctor);     /* other work, since doctor->before; gaps */

/* Before the first check: fills doctor->before. */
void check_load_begin(struct doctor *doctor);

/* After the last one: removes doctor->probe and what is in it. */
void check_place_end(struct doctor *doctor);

/* The type of the file system that holds an absolute path without links, "ext4", in the list of
 * mounts /proc/self/mountinfo, in which nothing is trusted. Of several mounts over one another the
 * last one counts. False: no line fits, and `type` is empty. */
bool mount_text_type(const char *mounts, const char *path, char *type, size_t size);

#endif
