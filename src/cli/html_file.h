/* The report of a run as an HTML file, for `report --html` and `run --html`. */
#ifndef CLI_HTML_FILE_H
#define CLI_HTML_FILE_H

#include "cli/console.h"
#include "html/step_course.h"
#include "report/report.h"

struct html_file {
    const char *path; /* "-": standard output */
    bool force;       /* what is there already may be replaced */
};

/* Each returns an exit code, after a message if it is not EXIT_FINE. */

/* Whether it could be written, before there is anything to write: no one should train for hours to
 * find out. Only a file, or a name that is free, will do. */
int html_file_check(const struct console *console, const struct html_file *file);

int html_file_write(const struct console *console, const struct html_file *file,
                    const struct analysis *analysis, const struct step_courses *courses);

/* The same for the run in a directory. */
int html_file_write_run(const struct console *console, const struct html_file *file,
                        const char *run, int64_t deadline_ns);

#endif
