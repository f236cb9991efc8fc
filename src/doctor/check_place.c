/* The file system where runs go: its type, the space that is left, and whether a file can be made
 * there, given room and mapped, as a recorder does it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files.h"
#include "base/risky_calls.h"
#include "doctor/checks.h"
#include "render/units.h"
#include "supervise/network_fs.h"
#include "supervise/proc_file.h"

/* "36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda rw": the fifth word is the
 * mount point, the one after " - " the type. */
enum { MOUNT_POINT = 4 };

static const char *end_of_word(const char *at, const char *end)
{
    while (at < end && *at != ' ')
        at++;
    return at;
}

static bool is_octal(char digit)
{
    return digit >= '0' && digit <= '7';
}

/* The kernel writes blanks, line ends and backslashes as \ooo. Takes one character. */
static char unescape(const char **at, const char *end)
{
    const char *from = *at;

    if (end - from >= 4 && from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
        is_octal(from[3])) {
        *at += 4;
        return (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
    }
    *at += 1;
    return *from;
}

/* How much of the path the mount point covers; 0: it does not hold it. */
static size_t covered(const char *point, const char *end, const char *path)
{
    size_t length = 0;

    if (point == end || *point != '/')
        return 0;
    if (end - point == 1)
        return 1;
    while (point < end) {
        const char wanted = unescape(&point, end);
        if (path[length] == '\0' || path[length] != wanted)
            return 0;
        length++;
    }
    return path[length] == '/' || path[length] == '\0' ? length : 0;
}

static const char *mount_point(const char *line, const char *end)
{
    for (int i = 0; i < MOUNT_POINT && line < end; i++) {
        line = end_of_word(line, end);
        line += line < end;
    }
    return line;
}

static const char *type_of(const char *line, const char *end)
{
    for (; end - line > 3; line++)
        if (memcmp(line, " - ", 3) == 0)
            return line + 3;
    return end;
}

bool mount_text_type(const char *mounts, const char *path, char *type, size_t size)
{
    size_t best = 0;

    type[0] = '\0';
    while (*mounts) {
        const char *end = strchr(mounts, '\n');
        end = end ? end : mounts + strlen(mounts);
        const char *point = mount_point(mounts, end);
        const char *name = type_of(point, end);
        const size_t length = (size_t)(end_of_word(name, end) - name);
        const size_t fits = covered(point, end_of_word(point, end), path);
        if (fits > 0 && fits >= best && length > 0 && length < size) {
            best = fits;
            memcpy(type, name, length);
            type[length] = '\0';
        }
        mounts = *end ? end + 1 : end;
    }
    return best > 0;
}

enum { ROOM_BYTES = 1 << 20, MOUNTS_SIZE = 1 << 16 };

#define LITTLE_BYTES ((uint64_t)1 << 30) /* what one process may write */

/* The directory itself, or the nearest one above it that is there: it would be made in it. */
static bool find_existing(const char *dir, char real[PATH_MAX])
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s", dir) >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    while (!realpath(path, real)) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || path[0] == '\0' || strcmp(path, ".") == 0)
            return false;
        if (slash == path)
            path[1] = '\0';
        else if (slash)
            *slash = '\0';
        else
            memcpy(path, ".", 2);
    }
    return true;
}

/* Each returns 0 or errno. */
static int make_probe(struct doctor *doctor, const char *parent)
{
    if ((size_t)snprintf(doctor->probe, sizeof doctor->probe, "%s/.stepscope-doctor-XXXXXX",
                         parent) < sizeof doctor->probe &&
        mkdtemp(doctor->probe))
        return 0;
    doctor->probe[0] = '\0';
    return errno ? errno : ENAMETOOLONG;
}

static int give_room(int file)
{
    static const char zeros[4096];

    const bool kills = risky_call_kills(RISKY_FALLOCATE);
    if (!kills && fallocate(file, 0, 0, ROOM_BYTES) == 0)
        return 0;
    if (!kills && errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM)
        return errno;
    for (int at = 0; at < ROOM_BYTES; at += (int)sizeof zeros)
        if (pwrite(file, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros)
            return errno ? errno : ENOSPC;
    return 0;
}

static int write_mapped(int file)
{
    char *memory = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char back = 0;

    if (memory == MAP_FAILED)
        return errno;
    memory[ROOM_BYTES - 1] = 'x';
    const bool is_there = pread(file, &back, 1, ROOM_BYTES - 1) == 1 && back == 'x';
    munmap(memory, ROOM_BYTES);
    return is_there ? 0 : EIO;
}

static int try_file(const char *dir)
{
    char path[PATH_MAX + 8];

    snprintf(path, sizeof path, "%s/room", dir);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int failed = give_room(file);
    if (!failed)
        failed = write_mapped(file);
    close(file);
    return failed;
}

static void say_type(struct doctor *doctor, const char *real)
{
    char type[64];
    char *mounts = malloc(MOUNTS_SIZE);

    if (!mounts || !proc_read("/proc/self/mountinfo", mounts, MOUNTS_SIZE) ||
        !mount_text_type(mounts, real, type, sizeof type)) {
        doctor_say_unknown(doctor, "files", "no mount found for the run directory");
    } else if (network_fs_has(real)) {
        doctor_say(doctor, "files", DOCTOR_WARN, "%s, a network or FUSE file system", type);
        doctor_advise(
            doctor, "runs are recorded in TMPDIR and copied at the end; a local --dir is simpler");
    } else if (strcmp(type, "tmpfs") == 0) {
        doctor_say(doctor, "files", DOCTOR_OK, "tmpfs: runs use memory");
    } else {
        doctor_say(doctor, "files", DOCTOR_OK, "%s", type);
    }
    free(mounts);
}

static void say_space(struct doctor *doctor, const char *real)
{
    struct statvfs status;
    char text[UNITS_SIZE];

    if (statvfs(real, &status) != 0) {
        doctor_say_unknown(doctor, "space", "the file system does not report it");
        return;
    }
    const uint64_t left = (uint64_t)status.f_bavail * status.f_frsize;
    doctor_say(doctor, "space", left < LITTLE_BYTES ? DOCTOR_WARN : DOCTOR_OK, "%s left for runs",
               units_bytes(text, left));
    doctor_value(doctor, (double)left, "bytes");
    if (left < LITTLE_BYTES)
        doctor_advise(
            doctor,
            "a process may write 1 GB: free some, lower STEPSCOPE_CAP, or choose another place with --dir");
}

static void say_unusable(struct doctor *doctor, int why)
{
    doctor_say(doctor, "writing", DOCTOR_BAD, "%s: %s", doctor->dir, strerror(why));
    doctor_advise(
        doctor,
        "nothing can be recorded here: choose a writable directory with --dir or STEPSCOPE_DIR");
}

/* Recorders do not write to another machine: their own directory is a local one then. */
static void move_probe(struct doctor *doctor, const char *real)
{
    const char *local = secure_getenv("TMPDIR");

    if (!network_fs_has(real))
        return;
    check_place_end(doctor);
    (void)make_probe(doctor, local && local[0] == '/' ? local : "/tmp");
}

void check_place(struct doctor *doctor)
{
    char real[PATH_MAX];

    if (!find_existing(doctor->dir, real)) {
        say_unusable(doctor, errno);
        return;
    }
    say_type(doctor, real);
    say_space(doctor, real);
    int failed = make_probe(doctor, real);
    if (!failed)
        failed = try_file(doctor->probe);
    if (failed) {
        say_unusable(doctor, failed);
        check_place_end(doctor);
        return;
    }
    doctor_say(doctor, "writing", DOCTOR_OK, "%s can be written and mapped", doctor->dir);
    move_probe(doctor, real);
}

void check_place_end(struct doctor *doctor)
{
    const int failed = doctor->probe[0] ? file_tree_remove(doctor->probe) : 0;

    if (failed) {
        doctor_say(doctor, "traces", DOCTOR_WARN, "%s cannot be removed: %s", doctor->probe,
                   strerror(failed));
        doctor_advise(doctor, "remove it: it was made to try the place");
    }
    doctor->probe[0] = '\0';
}
