#include "supervise/job_place.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/run_text.h"
#include "load/run_facts.h"
#include "read/manifest.h"
#include "supervise/proc_file.h"

enum {
    ATTEMPTS_MOST = 1000,
    MANIFEST_MOST = 65536,
    LOOKED_AT_MOST = 16, /* of the launches: there may be thousands, and each of them looks */
    OVER_AFTER_S = 60    /* a launch of this job ended before that: another training begins */
};

/* Without an id of the launcher's, ranks on one host have the same parent. */
static void name_by_parent(struct launcher_ids *ids)
{
    struct utsname host;

    if (uname(&host) == 0)
        snprintf(ids->job, sizeof ids->job, "%.40s-%ld-%" PRIu64, host.nodename, (long)getppid(),
                 proc_start_of(getppid()));
}

/* Which job this is. What is started alone is none, whatever its environment says. */
static void find_job(struct launcher_ids *ids, const char *job)
{
    launcher_read(ids);
    if (job) {
        snprintf(ids->job, sizeof ids->job, "%s", job);
        ids->launcher = "";
        return;
    }
    if (ids->rank < 0 || ids->world < 2)
        ids->job[0] = '\0';
    else if (!ids->job[0])
        name_by_parent(ids);
}

static void add_job_name(struct buf *out, const struct launcher_ids *ids)
{
    struct buf name = {0};

    if (ids->launcher && ids->launcher[0])
        buf_printf(&name, "%s-", ids->launcher);
    buf_add_text(&name, ids->job);
    run_name_add(out, buf_text(&name));
    out->failed |= name.failed;
    buf_release(&name);
}

static void describe(struct buf *out, const struct launcher_ids *ids, char *const *command)
{
    char text[64];
    struct tm parts;
    const time_t now = time(NULL);

    fact_line(out, "format", "1");
    fact_line(out, "version", SS_VERSION);
    fact_line(out, "job", ids->job);
    fact_line(out, "launcher", ids->launcher ? ids->launcher : "");
    fact_line_number(out, "world", ids->world);
    run_place_say_command(out, command);
    if (gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        fact_line(out, "created", text);
}

/* Whether a launch that has ended long ago is in it: its outcome was written, and says so. */
static bool has_ended_launch(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    bool found = false;
    int looked_at = 0;

    while (folder && !found && looked_at++ < LOOKED_AT_MOST && (entry = readdir(folder))) {
        struct buf path = {0};
        struct run_facts facts = {0};
        struct stat status;
        buf_printf(&path, "%s/%s/" RUN_OUTCOME_FILE, dir, entry->d_name);
        if (entry->d_name[0] != '.' && !path.failed && stat(path.data, &status) == 0 &&
            status.st_mtime + OVER_AFTER_S < time(NULL)) {
            path.data[path.size - strlen("/" RUN_OUTCOME_FILE)] = '\0';
            found = run_facts_load(&facts, path.data) == 0 && facts.ended_ns > 0;
            run_facts_release(&facts);
        }
        buf_release(&path);
    }
    if (folder)
        closedir(folder);
    return found;
}

static bool says(const struct manifest *facts, const char *key, const char *value)
{
    const struct ss_text found = manifest_find(facts, key);

    return found.size == strlen(value) && memcmp(found.data, value, found.size) == 0;
}

/* Whether the directory is of this job, and of this start of it. */
static bool is_ours(const char *dir, const struct launcher_ids *ids)
{
    struct buf path = {0}, text = {0};
    struct manifest facts = {0};
    struct text_store store = {0};
    char world[16];

    snprintf(world, sizeof world, "%d", ids->world);
    buf_printf(&path, "%s/manifest", dir);
    bool ours =
        !path.failed && small_file_read(path.data, MANIFEST_MOST, &text) == 0 &&
        manifest_add_lines(&facts, &store, (struct ss_text){buf_text(&text), text.size}) == 0;
    /* One that another launch is just making has none yet. */
    if (ours && text.size > 0)
        ours = says(&facts, "job", ids->job) && says(&facts, "world", world) &&
               !(ids->rank >= 0 && has_ended_launch(dir));
    manifest_release(&facts);
    text_store_release(&store);
    buf_release(&text);
    buf_release(&path);
    return ours;
}

/* The directory of this launch in that of the job. Of a rank there is one, so that a second one
 * belongs to another start. 0, EEXIST or another errno. */
static int claim(const char *dir, const struct launcher_ids *ids, char **run)
{
    struct buf path = {0};
    struct utsname host;
    int failed;

    buf_printf(&path, "%s/", dir);
    if (ids->rank >= 0)
        buf_printf(&path, "rank-%d", ids->rank);
    else
        run_name_add(&path, uname(&host) == 0 ? host.nodename : "host");
    if (path.failed)
        failed = ENOMEM;
    else if (ids->rank >= 0)
        failed = mkdir(path.data, 0700) == 0 ? 0 : errno;
    else
        failed = make_dir_new(&path, 0700);
    if (failed) {
        buf_release(&path);
        return failed;
    }
    *run = path.data;
    return 0;
}

/* Makes the job's directory, or finds it made. 0 or errno; EEXIST: it is of another training. */
static int enter(const char *dir, const struct launcher_ids *ids, char *const *command)
{
    struct buf text = {0};
    bool is_new = false;
    int failed = make_dir_all(dir, &is_new);

    if (failed || !is_new)
        return failed ? failed : is_ours(dir, ids) ? 0 : EEXIST;
    (void)chmod(dir, 0700);
    buf_add_text(&text, "*\n");
    (void)small_file_write(dir, ".gitignore", &text);
    buf_reset(&text);
    describe(&text, ids, command);
    failed = small_file_write(dir, "manifest", &text);
    buf_release(&text);
    return failed;
}

static const char *parent_of(const struct run_place_wish *wish)
{
    const char *parent = wish->parent ? wish->parent : secure_getenv("STEPSCOPE_DIR");

    return parent && *parent ? parent : "stepscope-runs";
}

static int settle(struct job_place *place, const struct run_place_wish *wish, struct buf *path)
{
    int failed = EEXIST;

    for (int attempt = 1; attempt <= ATTEMPTS_MOST && failed == EEXIST; attempt++) {
        buf_reset(path);
        buf_printf(path, "%s/", parent_of(wish));
        add_job_name(path, &place->ids);
        if (attempt > 1)
            buf_printf(path, "-%d", attempt);
        failed = path->failed ? ENOMEM : enter(path->data, &place->ids, wish->command);
        if (!failed)
            failed = claim(path->data, &place->ids, &place->run);
    }
    return failed;
}

int job_place_make(struct job_place *place, const struct run_place_wish *wish, const char *job,
                   struct ss_error *error)
{
    struct buf path = {0};

    *place = (struct job_place){0};
    find_job(&place->ids, job);
    if (!place->ids.job[0])
        return 0;
    if (getrandom(&place->launch, sizeof place->launch, GRND_NONBLOCK) !=
        (ssize_t)sizeof place->launch)
        place->launch = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid();
    const int failed = settle(place, wish, &path);
    if (failed) {
        error_set(error, error_code_of_errno(failed), "cannot make %s: %s", buf_text(&path),
                  strerror(failed));
        buf_release(&path);
        return error->code;
    }
    place->shown = path.data;
    return 0;
}

void job_place_release(struct job_place *place)
{
    free(place->shown);
    free(place->run);
    *place = (struct job_place){0};
}

void job_place_remove(const struct job_place *place)
{
    struct buf path = {0};
    DIR *folder = place->shown ? opendir(place->shown) : NULL;
    const struct dirent *entry;
    bool is_alone = folder != NULL;

    while (folder && (entry = readdir(folder)))
        is_alone &= entry->d_name[0] == '.' || strcmp(entry->d_name, "manifest") == 0;
    if (folder)
        closedir(folder);
    buf_printf(&path, "%s/manifest", place->shown ? place->shown : "");
    if (is_alone && !path.failed) {
        unlink(path.data);
        rmdir(place->shown);
    }
    buf_release(&path);
}
