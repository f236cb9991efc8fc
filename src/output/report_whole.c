/* At the cap the middle of a run is given up, but the supervisor has seen it all: its summary is kept
 * in the run and stands in front of what is about the rest. */
#include <string.h>

#include "base/small_file.h"
#include "output/report_parts.h"

enum { SUMMARY_BYTES = 8192, LINES_MOST = 20 };

static void read_summary(const struct run_facts *facts, struct buf *out)
{
    struct buf path = {0};

    buf_printf(&path, "%s/%s", facts->path, RUN_SUMMARY_FILE);
    if (!path.failed)
        small_file_read(path.data, SUMMARY_BYTES, out);
    buf_release(&path);
}

bool report_gave_up(const struct report_input *input)
{
    return report_losses(input->run).reused > 0;
}

void report_whole(struct report *report)
{
    struct buf text = {0};

    if (report_gave_up(report->input))
        read_summary(report->input->facts, &text);
    const char *line = text.data;
    size_t left = text.size;
    if (left > 0)
        report_title(report, "The whole run, as it was summed up when it ended");
    for (int i = 0; i < LINES_MOST && left > 0; i++) {
        const char *end = memchr(line, '\n', left);
        const size_t size = end ? (size_t)(end - line) : left;
        page_text(&report->page, (struct ss_text){line, size}, report->page.columns);
        page_line(&report->page);
        left -= end ? size + 1 : size;
        line += size + 1;
    }
    if (text.size > 0)
        report_title(report, "The part of it that is kept");
    buf_release(&text);
}
