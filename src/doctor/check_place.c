/* The file system where runs go: its type, the space that is left, and whether a file can be made
 * there, given room and mapped, as a recorder does it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"
#include "doctor/checks.h"
#include "doctor/mount_text.h"
#include "supervise/proc_file.h"
#include "supervise/remote.h"

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
    if ((size_t)snprintf(doctor->probe, sizeof doctor->probe,
                         "%s/.stepscope-doctor-XXXXXX", parent) < sizeof doctor->probe &&
        mkdtemp(doctor->probe))
        return 0;
    doctor->probe[0] = '\0';
    return errno ? errno : ENAMETOOLONG;
}

static int give_room(int file)
{
    static const char zeros[4096];

    if (fallocate(file, 0, 0, ROOM_BYTES) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
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
        doctor_say_unknown(doctor, "files", "no mount holds the run directory");
    } else if (remote_has(real)) {
        doctor_say(doctor, "files", DOCTOR_WARN, "%s, on the network or behind a program",
                   type);
        doctor_advise(doctor,
                      "runs are recorded in TMPDIR and copied at the end; --dir with a "
                      "local disk is simpler");
    } else if (strcmp(type, "tmpfs") == 0) {
        doctor_say(doctor, "files", DOCTOR_OK, "tmpfs: runs take memory");
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
        doctor_say_unknown(doctor, "space", "the file system does not tell");
        return;
    }
    const uint64_t left = (uint64_t)status.f_bavail * status.f_frsize;
    doctor_say(doctor, "space", left < LITTLE_BYTES ? DOCTOR_WARN : DOCTOR_OK,
               "%s left for runs", units_bytes(text, left));
    doctor_value(doctor, (double)left, "bytes");
    if (left < LITTLE_BYTES)
        doctor_advise(doctor,
                      "a process may write 1 GB: free some, lower STEPSCOPE_CAP, or "
                      "choose another place with --dir");
}

static void say_unusable(struct doctor *doctor, int why)
{
    doctor_say(doctor, "writing", DOCTOR_BAD, "%s: %s", doctor->dir, strerror(why));
    doctor_advise(doctor,
                  "choose a place that can be written with --dir or STEPSCOPE_DIR: "
                  "nothing can be recorded here");
}

/* Recorders do not write to another machine: their own directory is a local one then. */
static void move_probe(struct doctor *doctor, const char *real)
{
    const char *local = secure_getenv("TMPDIR");

    if (!remote_has(real))
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
    DIR *probe = doctor->probe[0] ? opendir(doctor->probe) : NULL;

    if (!probe)
        return;
    for (struct dirent *entry = readdir(probe); entry; entry = readdir(probe))
        (void)unlinkat(dirfd(probe), entry->d_name, 0); /* "." and ".." stay */
    closedir(probe);
    (void)rmdir(doctor->probe);
    doctor->probe[0] = '\0';
}
