/* Programs that used the cores of a run besides it, by name, from what the supervisor saw: of those
 * that came and went between two looks, and those of other containers, nothing is known. */
#ifndef DIAGNOSE_OTHER_PROGRAMS_H
#define DIAGNOSE_OTHER_PROGRAMS_H

#include "summary/snapshot.h"

enum { OTHER_PROGRAMS_MOST = 4, OTHER_PROGRAM_NAME = 16 };

struct other_program_use {
    char name[OTHER_PROGRAM_NAME]; /* untrusted */
    double cores;                  /* in the time of the loop, at least */
};

/* Those that used a twentieth of a core or more, the one that used most first. */
size_t other_programs_of(const struct snapshot *snapshot, const struct ss_run *run,
                         struct other_program_use out[OTHER_PROGRAMS_MOST]);

#endif
