/* A file that appears whole or not at all.
 *
 * It is written as PATH.PID.part in the same directory and takes its name at the end, and the mode
 * of a file that had this name. Until then that one stays as it was; after an error, or a signal
 * that ends us (ending_signals.h), nothing is left. A process that is killed leaves the .part file.
 * "-" is the standard output; a pipe or a device is written as it is.
 *
 *   if (!out_file_open(&file, path, force, &error)) {
 *       ... sink_text(&file.sink, ...) ...
 *       failed = out_file_finish(&file, &error);
 *   }
 *
 * One at a time: signals remove the one that was opened last. */
#ifndef BASE_OUT_FILE_H
#define BASE_OUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/sink.h"
#include "stepscope/error.h"

struct out_file {
    struct sink sink; /* write here; it keeps the first error */
    char *path;       /* the name it will have; NULL: written as it is */
    char *part;       /* the name it has until then */
    const char *name; /* for messages: as it was given */
    bool force, replaces;
};

/* 0, or an SS_E code with a sentence that says what is wrong, where, and what to do. SS_E_BUSY:
 * there is such a file, and `force` is not given. `path` must outlive the file. */
int out_file_open(struct out_file *file, const char *path, bool force, struct ss_error *error);

/* A new file is no more open to others than `mode` says; one that replaces another keeps its mode.
 */
void out_file_restrict(struct out_file *file, mode_t mode);

/* Writes what is waiting and puts the file in place. 0, or an SS_E code with such a sentence; then
 * nothing is left of it. A reader of the standard output that has seen enough (| head) is no
 * error. */
int out_file_finish(struct out_file *file, struct ss_error *error);

/* Gives up: nothing is left of it. */
void out_file_discard(struct out_file *file);

/* Fills `error` for something that could not be written to `path`, as the above do: for those who
 * write files of other kinds. Returns the SS_E code. */
int out_file_error(struct ss_error *error, const char *path, int os_error);

#endif
