#include "cli/html_file.h"

#include <sys/stat.h>

#include "base/out_file.h"
#include "cli/run_argument.h"
#include "html/html_page.h"
#include "read/run.h"

static int complain(const struct console *console, const struct ss_error *error)
{
    console_error(console, "%s", error->message);
    return error->code == SS_E_BUSY ? EXIT_USAGE : EXIT_DATA;
}

/* A FIFO would wait for a reader; a link that leads nowhere would be replaced, or fail at the
 * end. */
static bool is_no_file(const char *path)
{
    struct stat status;

    if (stat(path, &status) == 0)
        return !S_ISREG(status.st_mode);
    return lstat(path, &status) == 0;
}

int html_file_check(const struct console *console, const struct html_file *file)
{
    struct ss_error error = {0};
    struct out_file out;

    if (is_no_file(file->path)) {
        console_error(console, "'%s' is not a regular file. Give the name of a new file.",
                      file->path);
        return EXIT_USAGE;
    }
    if (out_file_open(&out, file->path, file->force, &error) != 0)
        return complain(console, &error);
    out_file_discard(&out);
    return EXIT_FINE;
}

int html_file_write(const struct console *console, const struct html_file *file,
                    const struct analysis *analysis, const struct step_courses *courses)
{
    struct stat run;
    struct ss_error error = {0};
    struct out_file out;

    if (out_file_open(&out, file->path, file->force, &error) != 0)
        return complain(console, &error);
    if (stat(analysis->facts->path, &run) == 0)
        out_file_restrict(&out, run.st_mode);
    html_page_write(&out.sink, analysis, courses);
    if (out_file_finish(&out, &error) != 0)
        return complain(console, &error);
    return EXIT_FINE;
}

static int write_opened(const struct console *console, const struct html_file *file,
                        struct ss_run *run, const struct run_facts *facts, int64_t deadline_ns)
{
    struct step_courses courses = {0};
    struct snapshot *snapshot;
    struct feed feed;
    int status = EXIT_DATA;

    const int failed =
        snapshot_run_observed(&feed, run, facts, step_courses_add, &courses, &snapshot);
    if (failed) {
        console_error(console, "cannot read run '%s': %s.", facts->path, ss_error_text(failed));
    } else {
        struct analysis analysis;
        analysis_make(&analysis, snapshot, run, facts, &feed.hooks);
        analysis.deadline_ns = deadline_ns;
        status = html_file_write(console, file, &analysis, &courses);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    step_courses_release(&courses);
    return status;
}

int html_file_write_run(const struct console *console, const struct html_file *file,
                        const char *path, int64_t deadline_ns)
{
    struct run_facts facts;
    int status = EXIT_DATA;

    const int failed = run_facts_load(&facts, path);
    if (failed)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    struct ss_run *run = failed ? NULL : run_argument_open_recorded(console, &facts);
    if (run)
        status = write_opened(console, file, run, &facts, deadline_ns);
    ss_run_close(run);
    run_facts_release(&facts);
    return status;
}
