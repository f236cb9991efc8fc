#include "cli/run_change.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/run_text.h"
#include "cli/job_argument.h"
#include "load/run_list.h"

enum { FILE_MOST = 65536, NAMES_TRIED = 1000 };

/* A command that was just started has no process file yet, but it lives. */
static bool command_lives(const struct run_facts *facts)
{
    return facts->pid > 0 && facts->ended_ns == 0 && kill((pid_t)facts->pid, 0) == 0;
}

static bool run_is_live(const char *path)
{
    struct run_facts facts;
    const bool is_unknown = run_facts_load(&facts, path) != 0;
    struct ss_run *run =
        is_unknown ? NULL : ss_run_open(facts.elsewhere ? facts.elsewhere : path, NULL);
    const bool is_live = is_unknown || (run ? ss_run_is_live(run) : command_lives(&facts));

    ss_run_close(run);
    run_facts_release(&facts);
    return is_live;
}

/* Of a job, any of the runs in it. */
bool run_change_is_live(const char *path)
{
    struct run_list inner = {0};
    bool is_live = run_is_live(path);

    if (!is_live && job_argument_is_job(path))
        is_live = run_list_load(&inner, path) != 0;
    for (size_t i = 0; i < inner.count && !is_live; i++) {
        struct buf run = {0};
        buf_printf(&run, "%s/%s", path, inner.entry[i].directory);
        is_live = run.failed || run_is_live(buf_text(&run));
        buf_release(&run);
    }
    run_list_release(&inner);
    return is_live;
}

/* "runs/x/" is "runs/x"; what is before the last part, "" if there is nothing. */
static void split(const char *path, struct buf *folder, struct buf *name)
{
    size_t size = strlen(path), start;

    while (size > 1 && path[size - 1] == '/')
        size--;
    for (start = size; start > 0 && path[start - 1] != '/'; start--)
        ;
    buf_add(folder, path, start);
    buf_add(name, path + start, size - start);
}

static bool exists(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

/* The path with the new name, under which nothing is yet. */
static void choose_path(const char *path, const char *name, struct buf *renamed)
{
    struct buf folder = {0}, directory = {0};

    split(path, &folder, &directory);
    const char *old = buf_text(&directory);
    buf_add(renamed, buf_text(&folder), folder.size);
    buf_add(renamed, old, (size_t)(run_name_of_directory(old) - old));
    run_name_add(renamed, name);
    const size_t size = renamed->size;
    for (int i = 2; i <= NAMES_TRIED && !renamed->failed && exists(buf_text(renamed)); i++) {
        renamed->size = size;
        buf_printf(renamed, "-%d", i);
    }
    renamed->failed |= folder.failed || directory.failed;
    buf_release(&folder);
    buf_release(&directory);
}

/* Writes the name into the manifest, if there is one. 0 or an errno. */
static int write_name(const char *run, const char *name)
{
    struct buf path = {0}, text = {0}, changed = {0}, plain = {0};
    int failed = 0;

    buf_printf(&path, "%s/manifest", run);
    failed = path.failed ? ENOMEM : small_file_read(path.data, FILE_MOST, &text);
    for (const char *line = buf_text(&text); *line;) {
        const size_t size = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        if (strncmp(line, "name: ", strlen("name: ")) != 0)
            buf_add(&changed, line, size);
        line += size;
    }
    run_name_add(&plain, name);
    fact_line(&changed, "name", buf_text(&plain));
    changed.failed |= plain.failed;
    if (!failed && text.size > 0)
        failed = small_file_write(run, "manifest", &changed);
    buf_release(&path);
    buf_release(&text);
    buf_release(&changed);
    buf_release(&plain);
    return failed;
}

int run_change_name(const char *path, const char *name, struct buf *renamed, struct ss_error *error)
{
    choose_path(path, name, renamed);
    if (renamed->failed)
        return error_set(error, SS_E_NOMEM, "out of memory");
    int failed = rename(path, renamed->data) == 0 ? 0 : errno;
    failed = failed ? failed : write_name(renamed->data, name);
    if (failed)
        return error_set(error, error_code_of_errno(failed), "cannot rename '%s': %s", path,
                         strerror(failed));
    return 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Under another name first, so that there is never none. */
static void link_to(const char *link, const char *target)
{
    struct buf other = {0};

    buf_printf(&other, "%s.new", link);
    if (!other.failed && symlink(target, other.data) == 0 && rename(other.data, link) != 0)
        unlink(other.data);
    buf_release(&other);
}

void run_change_mend_latest(const char *path, const char *renamed)
{
    struct buf folder = {0}, directory = {0}, link = {0};
    char target[NAME_MAX + 1];
    struct run_list list;

    split(path, &folder, &directory);
    buf_printf(&link, "%s" RUN_LATEST, buf_text(&folder));
    const ssize_t size = link.failed ? -1 : readlink(link.data, target, sizeof target);
    const bool is_ours = size > 0 && (size_t)size == directory.size &&
                         memcmp(target, buf_text(&directory), directory.size) == 0;
    if (is_ours && renamed) {
        link_to(link.data, last_part(renamed));
    } else if (is_ours && !exists(path) &&
               run_list_load(&list, folder.size > 0 ? folder.data : ".") == 0) {
        const size_t latest = run_list_latest(&list);
        if (latest == SIZE_MAX)
            unlink(link.data);
        else
            link_to(link.data, list.entry[latest].directory);
        run_list_release(&list);
    }
    buf_release(&folder);
    buf_release(&directory);
    buf_release(&link);
}
