#include "import/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef SS_ZLIB
#include <zlib.h>
#endif

#include "base/error.h"

enum { WINDOW_BYTES = 256 * 1024 };

static bool is_gzip(int fd)
{
    uint8_t magic[2];

    return pread(fd, magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f &&
           magic[1] == 0x8b;
}

#ifdef SS_ZLIB
static int open_gzip(struct trace_input *input, const char *path, struct ss_error *error)
{
    const int own = fcntl(input->fd, F_DUPFD_CLOEXEC, 0); /* gzclose() closes it */

    input->gzip = own >= 0 ? gzdopen(own, "rb") : NULL;
    if (input->gzip) {
        gzbuffer(input->gzip, WINDOW_BYTES / 4);
        return 0;
    }
    if (own >= 0)
        close(own);
    return error_set(error, SS_E_NOMEM, "cannot read '%s': %s.", path, ss_error_text(SS_E_NOMEM));
}

/* A file that was cut short, or damaged, shows only here. */
static long read_gzip(struct trace_input *input)
{
    const int got = gzread(input->gzip, input->window, WINDOW_BYTES);
    int code = Z_OK;
    const char *text = gzerror(input->gzip, &code);

    if (got >= WINDOW_BYTES || (got >= 0 && code == Z_OK))
        return got;
    if (got > 0)
        return got; /* the next call has the error */
    input->error = code == Z_ERRNO ? SS_E_IO : SS_E_DAMAGED;
    snprintf(input->why, sizeof input->why, "gzip: %s",
             code == Z_BUF_ERROR ? "the file is truncated" : text);
    return -1;
}

static uint64_t file_position(const struct trace_input *input)
{
    return input->gzip ? (uint64_t)gzoffset(input->gzip) : input->offset;
}

static bool rewind_gzip(struct trace_input *input)
{
    return gzrewind(input->gzip) == 0;
}

static void close_gzip(struct trace_input *input)
{
    if (input->gzip)
        gzclose(input->gzip);
}
#else
static int open_gzip(struct trace_input *input, const char *path, struct ss_error *error)
{
    (void)input;
    return error_set(error, SS_E_INVALID,
                     "'%s' is compressed, and this stepscope was built without zlib: unpack it "
                     "with gunzip first.",
                     path);
}

static long read_gzip(struct trace_input *input)
{
    (void)input;
    return -1;
}

static uint64_t file_position(const struct trace_input *input)
{
    return input->offset;
}

static bool rewind_gzip(struct trace_input *input)
{
    (void)input;
    return false;
}

static void close_gzip(struct trace_input *input)
{
    (void)input;
}
#endif

int trace_input_open(struct trace_input *input, const char *path, struct ss_error *error)
{
    struct stat file;

    *input = (struct trace_input){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (input->fd < 0 || fstat(input->fd, &file) != 0)
        return error_set(error, error_code_of_errno(errno), "cannot read '%s': %s.", path,
                         strerror(errno));
    if (S_ISDIR(file.st_mode))
        return error_set(error, SS_E_INVALID, "cannot read '%s': it is a directory.", path);
    input->window = malloc(WINDOW_BYTES);
    if (!input->window)
        return error_set(error, SS_E_NOMEM, "cannot read '%s': %s.", path,
                         ss_error_text(SS_E_NOMEM));
    input->file_bytes = S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
    input->at = input->end = input->window;
    return is_gzip(input->fd) ? open_gzip(input, path, error) : 0;
}

void trace_input_memory(struct trace_input *input, const void *data, size_t size)
{
    *input =
        (struct trace_input){.at = data, .data = data, .fd = -1, .ended = true, .offset = size};
    input->end = input->at + size;
}

void trace_input_release(struct trace_input *input)
{
    close_gzip(input);
    if (input->fd >= 0)
        close(input->fd);
    free(input->window);
    *input = (struct trace_input){.fd = -1};
}

static long read_plain(struct trace_input *input)
{
    long got;

    do
        got = (long)read(input->fd, input->window, WINDOW_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        input->error = error_code_of_errno(errno);
        snprintf(input->why, sizeof input->why, "%s", strerror(errno));
    }
    return got;
}

bool trace_input_rewind(struct trace_input *input)
{
    if (input->error != 0)
        return false;
    input->pass++;
    if (input->data) {
        input->at = input->data;
        return true;
    }
    if (input->gzip ? !rewind_gzip(input) : lseek(input->fd, 0, SEEK_SET) != 0) {
        input->error = SS_E_INVALID;
        snprintf(input->why, sizeof input->why,
                 "it must be read twice, which a pipe does not allow: save it to a file first");
        return false;
    }
    input->at = input->end = input->window;
    input->offset = 0;
    input->ended = false;
    return true;
}

static void show_progress(const struct trace_input *input)
{
    const double done = (double)file_position(input) / (double)input->file_bytes;

    input->progress(input->context,
                    input->passes > 0 ? (input->pass + done) / input->passes : done);
}

bool trace_input_fill(struct trace_input *input)
{
    if (input->ended || input->error != 0)
        return false;
    const long got = input->gzip ? read_gzip(input) : read_plain(input);
    if (got <= 0) {
        input->ended = true;
        return false;
    }
    input->at = input->window;
    input->end = input->window + got;
    input->offset += (uint64_t)got;
    if (input->progress && input->file_bytes > 0)
        show_progress(input);
    return true;
}

/* Goes on far behind the window, without reading what is between; false: it cannot. */
static bool jump(struct trace_input *input, uint64_t count)
{
    const uint64_t to = trace_input_offset(input) + count;

    if (input->gzip || input->fd < 0 || to > input->file_bytes || to > INT64_MAX ||
        lseek(input->fd, (off_t)to, SEEK_SET) < 0)
        return false;
    input->at = input->end = input->window;
    input->offset = to;
    return true;
}

bool trace_input_skip(struct trace_input *input, uint64_t count)
{
    if (count > (uint64_t)(input->end - input->at) + WINDOW_BYTES && jump(input, count))
        return true;
    while (count > 0) {
        if (input->at == input->end && !trace_input_fill(input))
            return false;
        const uint64_t here = (uint64_t)(input->end - input->at);
        const uint64_t now = count < here ? count : here;
        input->at += now;
        count -= now;
    }
    return true;
}

bool trace_input_read(struct trace_input *input, void *out, size_t size)
{
    uint8_t *to = out;

    while (size > 0) {
        if (input->at == input->end && !trace_input_fill(input))
            return false;
        const size_t here = (size_t)(input->end - input->at);
        const size_t now = size < here ? size : here;
        memcpy(to, input->at, now);
        input->at += now;
        to += now;
        size -= now;
    }
    return true;
}
