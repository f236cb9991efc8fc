/* Processes whose files were removed to keep a run within its budget of disk: what they held is
 * counted, and the counts stay in the file "folded" of the run directory, in the form of the
 * manifest (format 1). */
#ifndef READ_FOLD_H
#define READ_FOLD_H

#include "base/buf.h"
#include "stepscope/reader.h"

#define RUN_FOLDED_FILE "folded"

struct run_folded {
    uint64_t processes, records, bytes;
};

/* All zero if nothing was folded. */
const struct run_folded *fold_counts(const struct ss_run *run);

/* Takes the counts of the file. A run without it has folded nothing. */
void fold_load(struct ss_run *run);

/* Has the process ended, and has the merged cursor given all its records? */
bool fold_is_possible(const struct ss_run *run, size_t process);

/* Counts the records of such a process and forgets where they are; `bytes` is what its file takes
 * on the disk. The caller removes the file. The process and its names stay known. */
void fold_process(struct ss_run *run, size_t process, uint64_t bytes);

/* The content of the file. */
void fold_write(struct buf *out, const struct ss_run *run);

#endif
