/* What launchers of distributed training tell a process by its environment: which rank it is, of
 * how many, and of which job. */
#ifndef BASE_LAUNCHER_H
#define BASE_LAUNCHER_H

#include <stdbool.h>

enum { LAUNCHER_ID_SIZE = 128 };

struct launcher_ids {
    int rank;                   /* -1: not one of several */
    int world;                  /* 0: not known */
    const char *launcher;       /* that told the rank; NULL: none */
    char job[LAUNCHER_ID_SIZE]; /* the same for all ranks of a job, and no other; "": not known */
};

/* A number that is no number counts as if it were not there. */
void launcher_read(struct launcher_ids *ids);

/* TF_CONFIG: rank and world. */
bool launcher_read_tf_config(const char *text, int *rank, int *world);

#endif
