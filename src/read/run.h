/* A run: its processes, lanes and losses, all in one place for run.c, run_query.c and
 * cursor.c. */
#ifndef READ_RUN_H
#define READ_RUN_H

#include "read/array.h"
#include "read/fold.h"
#include "read/liveness.h"
#include "read/manifest.h"
#include "read/process_file.h"
#include "read/source.h"

struct missing_names; /* of run_query.c */

struct ss_run {
    bool in_memory;
    struct file_pool pool;
    struct host host;
    struct losses losses;

    /* Indices never change: what a refresh finds comes at the end. */
    struct process_file **files;
    size_t file_count, file_capacity;
    struct run_lane **lanes; /* those of a process by number, as far as found together */
    size_t lane_count, lane_capacity;

    struct process_file **by_name; /* the same as files */
    size_t by_name_capacity;
    struct name_list strangers; /* files that are no process of the run */

    struct manifest manifest;
    struct run_folded folded;
    struct text_store texts;
    struct missing_names *missing;

    struct ss_cursor *cursors;
    ss_ns barrier_ns; /* merged records after it wait; INT64_MAX: no process lives */
};

/* As ss_run_open(), for a directory of which it is known that it is a run: one into which nothing
 * was recorded has no process. */
struct ss_run *run_open_empty(const char *path, struct ss_error *error);

/* A process of the run that may train: not the supervisor, which only looks on. How many there are,
 * and the first of them; SIZE_MAX: none. */
bool run_is_training(const struct ss_run *run, size_t process);
size_t run_training_processes(const struct ss_run *run);
size_t run_first_training(const struct ss_run *run);

/* Its place among the processes of the run as they are when it is opened again: while a run is
 * followed, they come in the order in which they were found. */
uint32_t run_process_number(const struct ss_run *run, size_t process);

/* 0: the run has no such process. */
uint32_t run_pid(const struct ss_run *run, size_t process);

/* For code that feeds a run while its processes live: from the next refresh on, a
 * process that did not say that it ended counts as alive until it is both gone and
 * silent. A pause of a process or of the machine must not look like its death, since
 * its open spans would be given as unfinished, and then once more. */
void run_follow(struct ss_run *run, bool following);

/* No process has the file of this one open for writing any more: what the next refresh finds in it
 * is all. For a process that did not say that it ended, which might otherwise live on where it
 * cannot be seen. */
void run_note_no_writer(struct ss_run *run, size_t process);

/* The run was refreshed: tells its cursors, and makes room for new lanes in those over
 * all lanes. 0 or SS_E_NOMEM. */
int cursors_refresh(struct ss_run *run);
/* The run goes away: its cursors give nothing more. */
void cursors_orphan(struct ss_run *run);

/* Texts for names whose record is lost. NULL: no memory. */
struct missing_names *missing_names_new(void);
void missing_names_free(struct missing_names *missing);

#endif
