#include "supervise/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files.h"
#include "base/redact.h"
#include "base/risky_calls.h"
#include "base/run_text.h"
#include "load/run_facts.h"
#include "load/run_list.h"
#include "stepscope/reader.h"
#include "supervise/network_fs.h"

enum {
    ROOM_BYTES = 1 << 20, /* with less, a recording would end as soon as it begins */
    COMMAND_BYTES = 8192
};

static const char default_parent[] = "stepscope-runs";

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Options of Python that take the next word: -W, -X, also at the end of a bunch such as -uX. */
static bool takes_a_word(const char *option)
{
    const char *letter = strpbrk(option, "WX");

    return option[1] != '-' && letter && letter[1] == '\0';
}

/* "python3.11 -uX dev train.py" is train.py, "python -m pkg.train" is pkg.train. */
static const char *name_of_command(char *const *command)
{
    const char *own = base_name(command[0]);

    if (strncmp(own, "python", strlen("python")) != 0)
        return own;
    for (char *const *word = command + 1; *word && strcmp(*word, "-c") != 0; word++) {
        if ((*word)[0] != '-')
            return base_name(*word);
        if (takes_a_word(*word) && !*++word)
            break;
    }
    return own;
}

/* What the run is called: `name` or, if that is NULL, the base name of the command; if it is a
 * Python, that of its script or module. Whatever is not a letter, digit, '.', '_' or '-' of ASCII
 * becomes '-'. */
static void add_name(struct buf *out, const struct run_place_wish *wish)
{
    const char *name = wish->name ? wish->name : name_of_command(wish->command);

    run_name_add(out, name);
}

/* Appends "20261115-183512-train.py": the local time and the name. */
static void add_directory(struct buf *out, time_t now, const struct run_place_wish *wish)
{
    char stamp[32];
    struct tm parts;

    if (!localtime_r(&now, &parts) || strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S-", &parts) == 0)
        stamp[0] = '\0';
    buf_add_text(out, stamp);
    add_name(out, wish);
}

static int fail(struct ss_error *error, const char *what, const char *path, int os_error)
{
    return error_set(error, error_code_of_errno(os_error), "%s %s: %s", what, path,
                     strerror(os_error));
}

void run_place_say_command(struct buf *out, char *const *command)
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

static void describe(struct buf *out, const struct run_place_wish *wish)
{
    char text[PATH_MAX], safe[PATH_MAX];
    struct buf name = {0};
    struct utsname host;
    struct tm parts;
    time_t now = time(NULL);

    fact_line(out, "format", "1");
    fact_line(out, "version", SS_VERSION);
    add_name(&name, wish);
    fact_line(out, "name", buf_text(&name));
    buf_release(&name);
    run_place_say_command(out, wish->command);
    if (getcwd(text, sizeof text))
        fact_line(out, "cwd", redact_text(text, safe, sizeof safe) ? safe : text);
    fact_line(out, "host", uname(&host) == 0 ? host.nodename : "");
    if (gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        fact_line(out, "created", text);
}

/* Keeps git from taking the directory for a part of the project. 0 or errno. */
static int ignore_all(int dir)
{
    struct buf text = {0};

    buf_add_text(&text, "*\n");
    int failed = small_file_write_at(dir, ".gitignore", &text);
    buf_release(&text);
    return failed;
}

/* 0 or errno. Asks for the limit first: going over it would send SIGXFSZ. */
static int prove_room(int dir)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ROOM_BYTES)
        return EFBIG;
    int fd = openat(dir, "room", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int failed = fd < 0 ? errno : 0;
    if (fd >= 0) {
        if (!risky_call_kills(RISKY_FALLOCATE) && fallocate(fd, 0, 0, ROOM_BYTES) != 0 &&
            errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM)
            failed = errno;
        close(fd);
        unlinkat(dir, "room", 0);
    }
    return failed;
}

static int fill(int dir, const struct run_place_wish *wish)
{
    struct buf text = {0};

    describe(&text, wish);
    int failed = small_file_write_at(dir, "manifest", &text);
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
        if (!folders[i] || folders[i][0] != '/' || network_fs_has(folders[i]))
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

void run_place_remove(const struct run_place *place)
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

/* A directory that we have just made; not what has been put in its place since. 0 or errno. */
static int open_own(const char *path, int *fd)
{
    struct stat status;

    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &status) != 0)
        return errno;
    return status.st_uid == geteuid() ? 0 : EPERM;
}

/* Whose directory it is, and who else may change what is in it. */
static bool is_exposed(int parent)
{
    struct stat status;

    if (parent < 0 || fstat(parent, &status) != 0)
        return false;
    const bool is_anyones = (status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX);
    return is_anyones || (status.st_uid != geteuid() && status.st_uid != 0);
}

static int open_home(struct run_place *place)
{
    const int failed = open_own(place->shown, &place->home_fd);

    if (failed)
        return failed;
    place->home = realpath(place->shown, NULL);
    if (!place->home)
        return errno;
    place->parent_fd = openat(place->home_fd, place->is_in_job ? "../.." : "..",
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    place->is_exposed = is_exposed(place->parent_fd);
    return 0;
}

static int settle(struct run_place *place, const struct run_place_wish *wish,
                  struct ss_error *error)
{
    int failed = open_home(place);
    if (failed)
        return fail(error, "cannot use", place->shown, failed);
    if (place->parent_is_new)
        (void)ignore_all(place->parent_fd);
    if (network_fs_has(place->home))
        place->local = make_local();
    failed = fill(place->home_fd, wish);
    if (failed)
        return fail(error, "cannot write into", place->shown, failed);
    if (place->local) {
        failed = open_own(place->local, &place->local_fd);
        failed = failed ? failed : fill(place->local_fd, wish);
    }
    return failed ? fail(error, "cannot write into", place->local, failed) : 0;
}

void run_place_say_where(const char *home, const char *local)
{
    struct buf text = {0};

    if (local)
        fact_line(&text, "elsewhere", local);
    (void)small_file_write(home, RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}

static int make_in_job(struct run_place *place, const struct run_place_wish *wish,
                       struct ss_error *error)
{
    place->is_in_job = true;
    place->shown = strdup(wish->run);
    const int failed =
        place->shown ? settle(place, wish, error) : fail(error, "cannot use", wish->run, ENOMEM);
    if (failed && place->shown)
        run_place_remove(place);
    return failed;
}

int run_place_make(struct run_place *place, const struct run_place_wish *wish,
                   struct ss_error *error)
{
    const char *parent = wish->parent ? wish->parent : secure_getenv("STEPSCOPE_DIR");
    struct buf path = {0};

    *place = (struct run_place){.home_fd = -1, .local_fd = -1, .parent_fd = -1};
    if (wish->run)
        return make_in_job(place, wish, error);
    parent = parent && *parent ? parent : default_parent;
    int failed = make_dir_all(parent, &place->parent_is_new);
    if (failed)
        return fail(error, "cannot make", parent, failed);
    buf_add_text(&path, parent);
    while (path.size > 0 && path.data[path.size - 1] == '/')
        path.size--;
    buf_add(&path, "/", 1);
    add_directory(&path, time(NULL), wish);
    failed = make_dir_new(&path, 0700);
    if (failed) {
        fail(error, "cannot make", buf_text(&path), failed);
        buf_release(&path);
        return error->code;
    }
    place->shown = path.data;
    failed = settle(place, wish, error);
    if (failed)
        run_place_remove(place);
    return failed;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void run_place_release(struct run_place *place)
{
    free(place->shown);
    free(place->home);
    free(place->local);
    free(place->before);
    close_if_open(place->home_fd);
    close_if_open(place->local_fd);
    close_if_open(place->parent_fd);
    *place = (struct run_place){.home_fd = -1, .local_fd = -1, .parent_fd = -1};
}

const char *run_place_dir(const struct run_place *place)
{
    return place->local ? place->local : place->home;
}

int run_place_fd(const struct run_place *place)
{
    return place->local ? place->local_fd : place->home_fd;
}

static void link_latest(const struct run_place *place, const char *name)
{
    if (!name[0])
        return;
    if (place->parent_fd >= 0 && symlinkat(name, place->home_fd, RUN_LATEST) == 0 &&
        renameat(place->home_fd, RUN_LATEST, place->parent_fd, RUN_LATEST) != 0)
        unlinkat(place->home_fd, RUN_LATEST, 0);
}

/* What `latest` calls the run, or the job that it is in: without the folder. */
static struct ss_text name_of(const struct run_place *place)
{
    const char *end = place->is_in_job ? strrchr(place->home, '/') : strchr(place->home, '\0');
    const char *start = end;

    while (start > place->home && start[-1] != '/')
        start--;
    return (struct ss_text){start, (size_t)(end - start)};
}

/* The run that `latest` names; NULL: none, or something that is no run beside this one. */
static char *read_latest(const struct run_place *place)
{
    char target[NAME_MAX + 1];
    const ssize_t size = readlinkat(place->parent_fd, RUN_LATEST, target, sizeof target);

    return size > 0 && size <= NAME_MAX && !memchr(target, '/', (size_t)size)
               ? strndup(target, (size_t)size)
               : NULL;
}

void run_place_publish(struct run_place *place)
{
    place->before = place->parent_fd >= 0 ? read_latest(place) : NULL;
    const struct ss_text name = name_of(place);
    char *const copy = strndup(name.data, name.size);
    link_latest(place, copy ? copy : "");
    free(copy);
}

void run_place_withdraw(const struct run_place *place)
{
    char *const latest = place->before ? read_latest(place) : NULL;

    if (latest && strncmp(latest, name_of(place).data, name_of(place).size) == 0 &&
        strlen(latest) == name_of(place).size)
        link_latest(place, place->before);
    free(latest);
}

bool run_before_is_good(const struct run_place *place)
{
    const char *const name = name_of(place).data;
    struct run_result result;
    struct buf path = {0};

    if (!place->before)
        return false;
    buf_add(&path, place->home, (size_t)(name - place->home));
    buf_add_text(&path, place->before);
    const bool is_good = !path.failed && run_list_is_run(path.data) &&
                         !(run_result_load(&result, path.data) && run_result_is_empty(&result));
    buf_release(&path);
    return is_good;
}
