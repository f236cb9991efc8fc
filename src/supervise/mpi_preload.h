/* Lets every MPI program below the command record its calls, without a change to it.
 *
 * libstepscope-mpi.so goes to the head of LD_PRELOAD. It does nothing in programs that call no MPI.
 * That is done below an MPI launcher or in one of its ranks, or where STEPSCOPE_MPI=1 (`run --mpi`)
 * asks for it; never with STEPSCOPE_MPI=0. */
#ifndef SUPERVISE_MPI_PRELOAD_H
#define SUPERVISE_MPI_PRELOAD_H

#include "base/buf.h"

/* Adds the path of the library; nothing if it is not there, as in an installation by pip. */
void mpi_preload_find(struct buf *out);

/* In this process, for what it becomes. */
void mpi_preload_set(char *const *command);

#endif
