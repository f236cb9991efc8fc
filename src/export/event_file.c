#include "export/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/files.h"
#include "stepscope/error.h"

#define OUR_SUFFIX ".stepscope"

enum { NS_PER_S = 1000000000, MOST_NAMES = 1000 };

int event_file_init(struct event_file *file, const char *dir, const char *host, bool is_hidden)
{
    *file = (struct event_file){.host = host, .most_mode = 0666, .is_hidden = is_hidden, .fd = -1};
    file->dir = strdup(dir);
    return file->dir ? 0 : SS_E_NOMEM;
}

static void close_file(struct event_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    free(file->path);
    file->path = NULL;
    file->size = 0;
}

void event_file_release(struct event_file *file)
{
    close_file(file);
    buf_release(&file->waiting);
    free(file->dir);
    *file = (struct event_file){.fd = -1};
}

/* The name that TensorBoard looks for; files of one directory are read in the order of their
 * names. */
static int final_path(const struct event_file *file, unsigned number, char **path)
{
    return asprintf(path, "%s/events.out.tfevents.%010" PRId64 ".%s.%ld.%u" OUR_SUFFIX, file->dir,
                    file->first_ns / NS_PER_S, file->host, (long)getpid(), number);
}

static int hidden_path(const struct event_file *file, unsigned number, char **path)
{
    return asprintf(path, "%s/stepscope.%ld.%u.part", file->dir, (long)getpid(), number);
}

bool event_file_is_ours(const char *name)
{
    const size_t size = strlen(name), end = strlen(OUR_SUFFIX);

    return strstr(name, "tfevents") && size > end && strcmp(name + size - end, OUR_SUFFIX) == 0;
}

/* Under a name that nothing has yet. 0 or an errno. */
static int make_file(struct event_file *file)
{
    int failed = make_dir_all(file->dir, NULL);

    for (unsigned i = 0; !failed && file->fd < 0; i++) {
        const unsigned number = file->made + i;
        char *path = NULL;
        if ((file->is_hidden ? hidden_path : final_path)(file, number, &path) < 0)
            return ENOMEM;
        file->fd =
            open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file->most_mode);
        if (file->fd >= 0) {
            file->path = path;
            file->made = number + 1;
            return 0;
        }
        failed = errno == EEXIST && i < MOST_NAMES ? 0 : errno;
        free(path);
    }
    return failed;
}

static void put_little(struct buf *out, uint64_t value, unsigned bytes)
{
    char little[8];

    for (unsigned i = 0; i < bytes; i++)
        little[i] = (char)(value >> 8 * i & 0xff);
    buf_add(out, little, bytes);
}

/* Checksums of checksums are weak: TFRecord files store them rotated and shifted. */
static uint32_t masked(uint32_t sum)
{
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

static void frame(struct buf *out, const struct buf *bytes)
{
    const size_t start = out->size;

    put_little(out, bytes->size, 8);
    if (!out->failed)
        put_little(out, masked(crc32c(out->data + start, 8)), 4);
    buf_add(out, bytes->data, bytes->size);
    put_little(out, masked(crc32c(bytes->data, bytes->size)), 4);
}

void event_file_add(struct event_file *file, const struct event *event)
{
    struct buf bytes = {0};

    if (file->first_ns == 0)
        file->first_ns = event->wall_ns;
    event_encode(event, &bytes);
    if (bytes.failed || event->failed)
        file->waiting.failed = true;
    else
        frame(&file->waiting, &bytes);
    buf_release(&bytes);
}

static bool was_removed(const struct event_file *file)
{
    struct stat status;

    return fstat(file->fd, &status) != 0 || status.st_nlink == 0;
}

/* All of it or nothing. 0 or an errno. */
static int write_whole(struct event_file *file, const struct buf *bytes)
{
    size_t done = 0;
    int failed = bytes->failed ? ENOMEM : 0;

    while (!failed && done < bytes->size) {
        const ssize_t more =
            pwrite(file->fd, bytes->data + done, bytes->size - done, file->size + (off_t)done);
        if (more >= 0)
            done += (size_t)more;
        else if (errno != EINTR)
            failed = errno;
    }
    if (!failed)
        file->size += (off_t)done;
    else if (done > 0 && ftruncate(file->fd, file->size) != 0)
        close_file(file); /* it ends in half an event: the next one starts a file */
    return failed;
}

/* The first bytes of the file, before those that wait, in the same write. */
static void begin_file(struct event_file *file)
{
    struct buf first = {0}, all = {0};

    event_encode_version(file->first_ns, &first);
    if (first.failed)
        file->waiting.failed = true;
    else
        frame(&all, &first);
    buf_add(&all, file->waiting.data, file->waiting.size);
    all.failed = all.failed || file->waiting.failed;
    buf_release(&file->waiting);
    file->waiting = all;
    buf_release(&first);
}

/* Nothing is left of a file into which nothing could be written. */
static void give_up(struct event_file *file, int os_error)
{
    if (file->given_up++ == 0)
        file->os_error = os_error;
    if (file->path && file->size == 0) {
        unlink(file->path);
        close_file(file);
        file->made--;
    }
}

void event_file_flush(struct event_file *file)
{
    int failed = 0;

    if (file->waiting.size == 0 && !file->waiting.failed)
        return;
    if (file->fd >= 0 && was_removed(file))
        close_file(file);
    if (file->fd < 0)
        failed = make_file(file);
    if (!failed && file->size == 0)
        begin_file(file);
    if (!failed)
        failed = write_whole(file, &file->waiting);
    if (failed)
        give_up(file, failed);
    buf_reset(&file->waiting);
}

int event_file_publish(struct event_file *file)
{
    char *path;

    if (!file->path)
        return 0;
    if (final_path(file, 0, &path) < 0)
        return ENOMEM;
    if (rename(file->path, path) != 0) {
        const int failed = errno;
        free(path);
        return failed;
    }
    file->is_hidden = false;
    free(file->path);
    file->path = path;
    return 0;
}

void event_file_discard(struct event_file *file)
{
    if (file->path && file->is_hidden)
        unlink(file->path);
}
