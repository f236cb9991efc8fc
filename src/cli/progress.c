#include "cli/progress.h"

#include <time.h>
#include <unistd.h>

#include "base/ending_signals.h"
#include "base/sink.h"
#include "base/units.h"
#include "output/bar.h"

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
    *progress = (struct progress){
        .what = what, .is_terminal = isatty(STDERR_FILENO), .start_ns = now()};
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
    const struct report_style style = report_style_for(STDERR_FILENO);
    progress->last_ns = now_ns;
    progress->shown = true;
    ending_signals_last_words(no_line);
    buf_printf(&line, "\r%s ", progress->what);
    bar_add(&line, done, BAR_COLUMNS, BAR_PLAIN, &style);
    buf_printf(&line, " %3.0f %%", done * 100);
    if (done > 0.02 && done < 1) {
        const double spent = (double)(now_ns - progress->start_ns);
        buf_printf(&line, ", %s left",
                   units_duration(left, (int64_t)(spent * (1 - done) / done)));
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
