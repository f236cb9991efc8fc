#include "cli/job_argument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "job/part_files.h"
#include "load/run_list.h"
#include "read/manifest.h"

enum { MANIFEST_MOST = 65536 };

/* What the manifest calls the job; the caller frees it. NULL: it is none of a job. */
static char *read_id(const char *path)
{
    struct buf name = {0}, text = {0};
    struct manifest facts = {0};
    struct text_store store = {0};
    char *id = NULL;

    buf_printf(&name, "%s/manifest", path);
    if (!name.failed && small_file_read(name.data, MANIFEST_MOST, &text) == 0 &&
        manifest_add_lines(&facts, &store, (struct ss_text){buf_text(&text), text.size}) == 0) {
        const struct ss_text found = manifest_find(&facts, "job");
        id = found.size > 0 ? strndup(found.data, found.size) : NULL;
    }
    manifest_release(&facts);
    text_store_release(&store);
    buf_release(&text);
    buf_release(&name);
    return id;
}

static bool is_part_file(const char *path)
{
    const size_t size = strlen(path), suffix = strlen(PART_SUFFIX);
    struct stat status;

    return size > suffix && strcmp(path + size - suffix, PART_SUFFIX) == 0 &&
           stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool job_argument_is_job(const char *path)
{
    char *id = read_id(path);
    const bool is_job =
        id || is_part_file(path) || (!run_list_is_run(path) && part_files_has(path));

    free(id);
    return is_job;
}

bool job_argument_load(const struct console *console, const char *path, struct job_view *view)
{
    struct ss_error error = {0};
    char *id = read_id(path);

    int failed = job_view_load(view, path, &error);
    if (!failed) {
        failed = job_view_finish(view, id);
        if (failed)
            console_error(console, "%s.", ss_error_text(failed));
    } else {
        console_error(console, "%s.", error.message);
    }
    free(id);
    if (failed)
        return false;
    for (size_t i = 0; i < view->skipped_count; i++)
        console_error(console, "skipped '%s': %s.", view->skipped[i].path, view->skipped[i].why);
    if (view->launch_count == 0)
        console_error(
            console,
            "'%s' has no part of a job that can be read. Its launches write one every 30 seconds.",
            path);
    return view->launch_count > 0;
}

/* Names in a part are untrusted: no path. */
static bool is_name(const char *text)
{
    return text[0] != '\0' && text[0] != '.' && !strchr(text, '/');
}

char *job_argument_run(const struct job_view *view, const char *path, int rank)
{
    const struct job_rank *row = rank >= 0 ? job_view_rank(view, rank) : NULL;

    for (size_t i = 0; i < view->launch_count; i++) {
        const struct job_launch *launch = &view->launches[i];
        char *run;
        if ((rank >= 0 && (!row || row->launch != i)) || launch->ranks == 0 ||
            !is_name(launch->directory) || asprintf(&run, "%s/%s", path, launch->directory) < 0)
            continue;
        if (run_list_is_run(run))
            return run;
        free(run);
    }
    return NULL;
}
