/* Runs in the formats of other tools. A format is one const in a file of its own and a line in the
 * table of export.c.
 *
 * All of them stream: the run is read once or twice, and memory is bounded by its lanes, names and
 * loops, whatever its length. Texts of a run are untrusted: each format makes them safe for those
 * who read it. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/sink.h"
#include "load/run_facts.h"

struct export_job {
    struct ss_run *run;
    const struct run_facts *facts;
    bool force; /* what is there already may be replaced */

    struct buf *missing; /* gets a sentence without its full stop, if something is; or NULL */

    /* Told now and then which part is done, 0 to 1; NULL: not wanted. */
    void (*progress)(void *context, double done);
    void *context;
};

struct export_format {
    const char *name, *summary;
    bool is_binary; /* refused on a terminal */

    /* One of the two: into a file, or into a directory that it makes itself. 0 or an SS_E code.
     * Errors of `out` stay in it and are no error here, but end the work soon; the other one has
     * its sentence. */
    int (*write)(const struct export_job *job, struct sink *out);
    int (*write_directory)(const struct export_job *job, const char *path, struct ss_error *error);
};

extern const struct export_format *const export_formats[]; /* ends with NULL */

extern const struct export_format export_csv;
extern const struct export_format export_csv_spans;
extern const struct export_format export_perfetto;
extern const struct export_format export_tensorboard;

/* The format of this name, or NULL. */
const struct export_format *export_find(const char *name);

#endif
