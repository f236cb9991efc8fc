#include "supervise/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fact_line.h"
#include "base/make_dir.h"
#include "base/redact.h"
#include "base/small_file.h"
#include "output/run_facts.h"
#include "supervise/remote.h"
#include "supervise/run_name.h"

enum {
    ROOM_BYTES = 1 << 20, /* with less, a recording would end as soon as it begins */
    COMMAND_BYTES = 8192
};

static const char default_parent[] = "stepscope-runs";

static int fail(struct ss_error *error, const char *what, const char *path, int os_error)
{
    return error_set(error, error_code_of_errno(os_error), "%s %s: %s", what, path,
                     strerror(os_error));
}

static void add_command(struct buf *out, char *const *command)
{
    struct buf raw = {0};
    char redacted[COMMAND_BYTES] = "";

    for (; *command; command++)
        buf_add(&raw, *command, strlen(*command) + 1);
    if (!raw.failed)
        redact_command(raw.data, raw.size, redacted, sizeof redacted);
    fact_line(out, "command", redacted);
    buf_release(&raw);
}

static void describe(struct buf *out, char *const *command)
{
    char text[PATH_MAX];
    struct utsname host;
    struct tm parts;
    time_t now = time(NULL);

    fact_line(out, "format", "1");
    fact_line(out, "version", SS_VERSION);
    add_command(out, command);
    if (getcwd(text, sizeof text))
        fact_line(out, "cwd", text);
    fact_line(out, "host", uname(&host) == 0 ? host.nodename : "");
    if (gmtime_r(&now, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        fact_line(out, "created", text);
}

/* Keeps git from taking the directory for a part of the project. 0 or errno. */
static int ignore_all(const char *dir)
{
    struct buf text = {0};

    buf_add_text(&text, "*\n");
    int failed = small_file_write(dir, ".gitignore", &text);
    buf_release(&text);
    return failed;
}

/* 0 or errno. Asks for the limit first: going over it would send SIGXFSZ. */
static int prove_room(const char *dir)
{
    struct rlimit limit;
    struct buf path = {0};

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ROOM_BYTES)
        return EFBIG;
    buf_printf(&path, "%s/room", dir);
    int fd =
        path.failed ? -1 : open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failed = path.failed ? ENOMEM : fd < 0 ? errno : 0;
    if (fd >= 0) {
        if (fallocate(fd, 0, 0, ROOM_BYTES) != 0 && errno != EOPNOTSUPP &&
            errno != ENOSYS)
            failed = errno;
        close(fd);
        unlink(path.data);
    }
    buf_release(&path);
    return failed;
}

static int fill(const char *dir, char *const *command)
{
    struct buf text = {0};

    describe(&text, command);
    int failed = small_file_write(dir, "manifest", &text);
    buf_release(&text);
    if (!failed)
        failed = ignore_all(dir);
    return failed ? failed : prove_room(dir);
}

/* A directory on a disk of this machine, NULL if there is none. */
static char *make_local(void)
{
    const char *const folders[] = {secure_getenv("TMPDIR"), "/tmp", "/var/tmp"};

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct buf path = {0};
        if (!folders[i] || folders[i][0] != '/' || remote_has(folders[i]))
            continue;
        buf_printf(&path, "%s/stepscope-XXXXXX", folders[i]);
        if (!path.failed && mkdtemp(path.data))
            return path.data;
        buf_release(&path);
    }
    return NULL;
}

static void remove_dir(const char *dir)
{
    static const char *const files[] = {"manifest", RUN_OUTCOME_FILE, ".gitignore"};
    struct buf path = {0};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s", dir, files[i]);
        if (!path.failed)
            unlink(path.data);
    }
    buf_release(&path);
    rmdir(dir);
}

void place_remove(const struct place *place)
{
    char *parent = strdup(place->shown);

    if (place->local)
        remove_dir(place->local);
    remove_dir(place->shown);
    if (parent && place->parent_is_new) {
        *strrchr(parent, '/') = '\0';
        remove_dir(parent);
    }
    free(parent);
}

static int settle(struct place *place, const struct place_wish *wish,
                  struct ss_error *error)
{
    place->home = realpath(place->shown, NULL);
    if (!place->home)
        return fail(error, "cannot use", place->shown, errno);
    if (remote_has(place->home))
        place->local = make_local();
    int failed = fill(place->home, wish->command);
    if (failed)
        return fail(error, "cannot write into", place->shown, failed);
    failed = place->local ? fill(place->local, wish->command) : 0;
    return failed ? fail(error, "cannot write into", place->local, failed) : 0;
}

int place_make(struct place *place, const struct place_wish *wish, struct ss_error *error)
{
    const char *parent = wish->parent ? wish->parent : secure_getenv("STEPSCOPE_DIR");
    struct buf path = {0};

    *place = (struct place){0};
    parent = parent && *parent ? parent : default_parent;
    int failed = make_dir_all(parent, &place->parent_is_new);
    if (failed)
        return fail(error, "cannot make", parent, failed);
    buf_add_text(&path, parent);
    while (path.size > 0 && path.data[path.size - 1] == '/')
        path.size--;
    buf_add(&path, "/", 1);
    run_name(&path, time(NULL), wish->name, wish->command);
    failed = make_dir_new(&path, 0700);
    if (failed) {
        fail(error, "cannot make", buf_text(&path), failed);
        buf_release(&path);
        return error->code;
    }
    place->shown = path.data;
    if (place->parent_is_new)
        (void)ignore_all(parent);
    failed = settle(place, wish, error);
    if (failed)
        place_remove(place);
    return failed;
}

void place_release(struct place *place)
{
    free(place->shown);
    free(place->home);
    free(place->local);
    *place = (struct place){0};
}

const char *place_dir(const struct place *place)
{
    return place->local ? place->local : place->home;
}

void place_publish(const struct place *place)
{
    const char *slash = strrchr(place->home, '/');
    int folder = (int)(slash - place->home);
    struct buf latest = {0}, fresh = {0};

    buf_printf(&latest, "%.*s/latest", folder, place->home);
    buf_printf(&fresh, "%s/latest", place->home); /* nobody else uses that name */
    if (!latest.failed && !fresh.failed && symlink(slash + 1, fresh.data) == 0 &&
        rename(fresh.data, latest.data) != 0)
        unlink(fresh.data);
    buf_release(&latest);
    buf_release(&fresh);
}
