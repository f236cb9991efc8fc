/* At the cap the middle of a run is given up, but the supervisor has seen it all: its summary is kept
 * in the run and stands in front of what is about the rest. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/report_parts.h"

enum { SUMMARY_BYTES = 8192, LINES_MOST = 20 };

static size_t read_summary(const struct run_facts *facts, char out[SUMMARY_BYTES])
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", facts->path, RUN_SUMMARY_FILE);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = fd < 0 ? 0 : read(fd, out, SUMMARY_BYTES);
    if (fd >= 0)
        close(fd);
    return size > 0 ? (size_t)size : 0;
}

bool report_gave_up(const struct report_input *input)
{
    return report_losses(input->run).reused > 0;
}

void report_whole(struct report *report)
{
    char text[SUMMARY_BYTES];
    const char *line = text;
    size_t left =
        report_gave_up(report->input) ? read_summary(report->input->facts, text) : 0;

    if (left == 0)
        return;
    report_title(report, "The whole run, as it was summed up when it ended");
    for (int i = 0; i < LINES_MOST && left > 0; i++) {
        const char *end = memchr(line, '\n', left);
        const size_t size = end ? (size_t)(end - line) : left;
        page_text(&report->page, (struct ss_text){line, size}, report->page.columns);
        page_line(&report->page);
        left -= end ? size + 1 : size;
        line += size + 1;
    }
    report_title(report, "The part of it that is kept");
}
