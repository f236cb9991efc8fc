#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "stepscope/error.h"

/* A standard descriptor that is closed would go to the next file that is opened. Something that
 * can be neither read nor written takes its place; a command that we run finds it closed. */
static void keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) < 0)
            return;
}

void console_init(struct console *console)
{
    keep_standard_descriptors();
    console->command = NULL;
    sink_init_fd(&console->out, STDOUT_FILENO);
}

void console_error(const struct console *console, const char *format, ...)
{
    char message[4096];
    struct buf line = {0};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    buf_printf(&line, "stepscope%s%s: ", console->command ? " " : "",
               console->command ? console->command : "");
    text_safe(&line, message, strlen(message));
    buf_add(&line, "\n", 1);
    struct sink err;
    sink_init_fd(&err, STDERR_FILENO);
    sink_write(&err, line.data, line.size);
    sink_flush(&err);
    buf_release(&line);
}

int console_finish(struct console *console, int status)
{
    struct sink *out = &console->out;

    sink_flush(out);
    if (out->bytes > 0 && !out->error && close(STDOUT_FILENO) < 0 && errno != EINTR)
        sink_fail(out, SS_E_IO,
                  errno); /* some file systems say only now that it was too much */
    if (!out->error || out->os_error == EPIPE)
        return status;
    console_error(console, "cannot write the output: %s.", strerror(out->os_error));
    return EXIT_DATA;
}
