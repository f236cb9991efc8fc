#include "base/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* One for the process, since what allocates does not know where its results will go. */
static atomic_bool is_memory_short;

void sink_refuse_all(void)
{
    atomic_store(&is_memory_short, true);
}

bool sink_refuses_all(void)
{
    return atomic_load_explicit(&is_memory_short, memory_order_relaxed);
}

/* Whether it may be written to. */
static bool is_usable(struct sink *sink)
{
    if (sink_refuses_all())
        sink_fail(sink, SS_E_NOMEM, ENOMEM);
    return sink->error == 0;
}

void sink_init_fd(struct sink *sink, int fd)
{
    sink->fd = fd;
    sink->target = NULL;
    sink->error = 0;
    sink->os_error = 0;
    sink->bytes = 0;
    sink->waiting = 0;
}

void sink_init_buf(struct sink *sink, struct buf *target)
{
    sink_init_fd(sink, -1);
    sink->target = target;
}

void sink_fail(struct sink *sink, int error, int os_error)
{
    if (sink->error)
        return;
    sink->error = error;
    sink->os_error = os_error;
}

static void put_out(struct sink *sink, const char *data, size_t size)
{
    if (sink->target) {
        buf_add(sink->target, data, size);
        if (sink->target->failed)
            sink_fail(sink, SS_E_NOMEM, ENOMEM);
        return;
    }
    while (size > 0) {
        ssize_t written = write(sink->fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            sink_fail(sink, error_code_of_errno(errno), errno);
            return;
        }
        data += written;
        size -= (size_t)written;
    }
}

int sink_flush(struct sink *sink)
{
    if (is_usable(sink))
        put_out(sink, sink->buffer, sink->waiting);
    sink->waiting = 0;
    return sink->error;
}

void sink_write(struct sink *sink, const void *data, size_t size)
{
    if (!is_usable(sink) || size == 0)
        return;
    sink->bytes += size;
    if (size > sizeof sink->buffer - sink->waiting)
        sink_flush(sink);
    if (size > sizeof sink->buffer) {
        if (!sink->error)
            put_out(sink, data, size);
        return;
    }
    memcpy(sink->buffer + sink->waiting, data, size);
    sink->waiting += size;
}

void sink_text(struct sink *sink, const char *text)
{
    sink_write(sink, text, strlen(text));
}

void sink_printf(struct sink *sink, const char *format, ...)
{
    char line[512];
    struct buf longer = {0};
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size < 0) {
        sink_fail(sink, SS_E_INVALID, errno);
        return;
    }
    if ((size_t)size < sizeof line) {
        sink_write(sink, line, (size_t)size);
        return;
    }
    va_start(arguments, format);
    char *place = buf_reserve(&longer, (size_t)size);
    if (place) {
        vsnprintf(place, (size_t)size + 1, format, arguments);
        sink_write(sink, place, (size_t)size);
    } else {
        sink_fail(sink, SS_E_NOMEM, ENOMEM);
    }
    va_end(arguments);
    buf_release(&longer);
}
