#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/ending_signals.h"
#include "base/sink.h"
#include "base/text.h"
#include "render/style.h"
#include "render/units.h"
#include "stepscope/error.h"

static const char no_memory[] = "stepscope: out of memory.\n";

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

/* Without a sink: it must be said when those write nothing any more, too. */
static void say(const char *text, size_t size)
{
    ssize_t written = 1;

    while (size > 0 && written > 0) {
        written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno == EINTR)
            written = 1; /* again */
        else if (written > 0) {
            text += written;
            size -= (size_t)written;
        }
    }
}

void console_error(const struct console *console, const char *format, ...)
{
    char message[4096];
    struct buf line = {0};
    va_list arguments;

    va_start(arguments, format);
    /* clang-tidy 14 loses sight of va_start() in this file. */
    vsnprintf(message, sizeof message, format, arguments); /* NOLINT(clang-analyzer-valist.*) */
    va_end(arguments);
    buf_printf(&line, "stepscope%s%s: ", console->command ? " " : "",
               console->command ? console->command : "");
    text_safe(&line, message, strlen(message));
    buf_add(&line, "\n", 1);
    if (line.failed)
        say(no_memory, sizeof no_memory - 1);
    else
        say(line.data, line.size);
    buf_release(&line);
}

int console_finish(struct console *console, int status)
{
    struct sink *out = &console->out;

    sink_flush(out);
    if (out->bytes > 0 && !out->error && close(STDOUT_FILENO) < 0 && errno != EINTR)
        sink_fail(out, SS_E_IO, errno); /* some file systems say only now that it was too much */
    if (!out->error || out->os_error == EPIPE)
        return status;
    console_error(console, "cannot write the output: %s.", strerror(out->os_error));
    return EXIT_DATA;
}

enum { BAR_COLUMNS = 30 };
static const char no_line[] = "\r\033[K";
static const int64_t first_ns = 500000000, pause_ns = 100000000;

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void put(struct buf *line)
{
    struct sink err;

    sink_init_fd(&err, STDERR_FILENO);
    sink_write(&err, line->data, line->size);
    sink_flush(&err);
}

void progress_begin(struct progress *progress, const char *what)
{
    *progress =
        (struct progress){.what = what, .is_terminal = isatty(STDERR_FILENO), .start_ns = now()};
    progress->last_ns = progress->start_ns + first_ns - pause_ns;
}

void progress_show(void *context, double done)
{
    struct progress *progress = context;
    const int64_t now_ns = progress->is_terminal ? now() : INT64_MIN;
    struct buf line = {0};
    char left[UNITS_SIZE];

    if (now_ns < progress->last_ns + pause_ns)
        return;
    const struct style style = style_for(STDERR_FILENO);
    progress->last_ns = now_ns;
    progress->shown = true;
    ending_signals_last_words(no_line);
    buf_printf(&line, "\r%s ", progress->what);
    bar_add(&line, done, BAR_COLUMNS, BAR_PLAIN, &style);
    buf_printf(&line, " %3.0f %%", done * 100);
    if (done > 0.02 && done < 1) {
        const double spent = (double)(now_ns - progress->start_ns);
        buf_printf(&line, ", %s left", units_duration(left, (int64_t)(spent * (1 - done) / done)));
    }
    buf_add_text(&line, "\033[K");
    put(&line);
    buf_release(&line);
}

void progress_end(struct progress *progress)
{
    struct buf line = {0};

    if (progress->shown) {
        ending_signals_last_words(NULL);
        buf_add_text(&line, no_line);
        put(&line);
    }
    buf_release(&line);
}

/* The linker puts these in front of the real ones (--wrap in meson.build), and picks their names.
 */
/* NOLINTBEGIN(cert-dcl51-cpp) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_asprintf(char **text, const char *format, ...) ATTR_PRINTF(2, 3);
/* NOLINTEND(cert-dcl51-cpp) */

static bool is_guarded;

void memory_guard(void)
{
    is_guarded = true;
}

static void *look_at(void *memory)
{
    if (!memory && is_guarded)
        sink_refuse_all();
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return look_at(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return look_at(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    return look_at(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text)
{
    return look_at(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t most)
{
    return look_at(__real_strndup(text, most));
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const int size = vasprintf(text, format, arguments);
    va_end(arguments);
    if (size < 0)
        look_at(NULL);
    return size;
}
