/* System calls that a filter (seccomp) may answer with the death of the caller. What is done with
 * them can be done without, so no process is to die by them: `stepscope run` tries them in
 * processes that may, and tells the processes of the run by the environment. */
#ifndef BASE_RISKY_CALLS_H
#define BASE_RISKY_CALLS_H

#include <stdbool.h>

enum risky_call {
    RISKY_OWN_MEMORY, /* process_vm_readv(), process_vm_writev() */
    RISKY_FALLOCATE,
    RISKY_MEMFD,
    RISKY_MADVISE,
    RISKY_SOCKET, /* of AF_UNIX */
    RISKY_SOCKET_PAIR,
    RISKY_WRITEBACK, /* sync_file_range(), posix_fadvise() */
    RISKY_CALLS
};

/* Tries all of them, and notes in the environment which kill. Forks. */
void risky_calls_try(void);

/* Whether that was noted. The environment is read at the first question of a process, from
 * whichever thread: to be asked first when the program starts. */
bool risky_call_kills(enum risky_call call);

const char *risky_call_name(enum risky_call call);

#endif
