#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "supervise/supervise_parts.h"

static const int64_t room_pause_ns = 20000000;

enum { MESSAGE_SIZE = 1024, PIECE_BYTES = 512 /* a pipe that has room for any has it for these */ };

static void say(const struct supervision *wish, const char *format, va_list arguments)
    ATTR_PRINTF(2, 0);

static void say(const struct supervision *wish, const char *format, va_list arguments)
{
    char message[MESSAGE_SIZE];

    vsnprintf(message, sizeof message, format, arguments);
    wish->say(wish->context, message);
}

void message_say(const struct supervision *wish, const char *format, ...)
{
    va_list arguments;

    if (wish->quiet)
        return;
    va_start(arguments, format);
    say(wish, format, arguments);
    va_end(arguments);
}

bool message_has_room(void)
{
    struct pollfd wanted = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&wanted, 1, 0) == 1;
}

static bool wait_for_room(struct job *job)
{
    while (!message_has_room()) {
        if (!job->ended || job->hurry)
            return false;
        job_wait(job, room_pause_ns);
    }
    return true;
}

void message_tell(const struct supervision *wish, struct job *job, const char *format, ...)
{
    va_list arguments;

    if (wish->quiet || !wait_for_room(job))
        return;
    va_start(arguments, format);
    say(wish, format, arguments);
    va_end(arguments);
}

void message_show(struct job *job, struct buf *text)
{
    size_t at = 0;

    while (!text->failed && at < text->size && wait_for_room(job)) {
        const size_t left = text->size - at;
        const ssize_t done =
            write(STDERR_FILENO, text->data + at, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            break;
        at += done > 0 ? (size_t)done : 0;
    }
    buf_release(text);
}

void message_begin_line(struct buf *text)
{
    if (isatty(STDERR_FILENO))
        buf_add_text(text, "\r\033[K");
}
