/* Which recorder calls of MPI are recorded by: the one that the program has already.
 *
 * libstepscope-mpi.so lies in front of libmpi, in programs of any kind. A Python process has its
 * recorder inside the extension `_core`, which gives it here when it is loaded; a C program may be
 * linked with libstepscope.so; for all others it is loaded at their first call of MPI. */
#ifndef MPI_MPI_RECORDER_H
#define MPI_MPI_RECORDER_H

#include "stepscope/recorder.h"

struct mpi_recorder {
    ss_name (*intern)(const char *text, enum ss_stage stage, enum ss_role role, enum ss_scope scope,
                      const char *object);
    void (*begin)(ss_name name, unsigned flags);
    void (*end)(unsigned flags, int64_t arg);
};

#define MPI_RECORDER_TAKE "stepscope_mpi_take_recorder"

/* Exported: `recorder` stays valid for the life of the process. The first one counts. */
SS_API void stepscope_mpi_take_recorder(const struct mpi_recorder *recorder);

/* NULL: there is none, and nothing is recorded. Any thread. */
const struct mpi_recorder *mpi_recorder(void);

#endif
