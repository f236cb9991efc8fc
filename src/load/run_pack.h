/* Packs the files of a run, or unpacks them: those of processes that have ended. */
#ifndef LOAD_RUN_PACK_H
#define LOAD_RUN_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "stepscope/error.h"

struct run_pack {
    /* What is wanted. */
    const char *path; /* the directory */
    bool undo;
    bool (*may_go_on)(void *context); /* asked often; NULL: it may */
    void *context;

    /* What came of it. */
    uint32_t changed, was_so, written; /* files; still written to by a process */
    uint64_t before, after;            /* bytes on the disk of those that were changed */
};

/* Whether this stepscope can do either. */
bool run_pack_is_possible(void);

/* 0, or SS_E with a sentence; files that had their turn before are changed. A run without a process
 * has nothing to pack. */
int run_pack(struct run_pack *pack, struct ss_error *error);

#endif
