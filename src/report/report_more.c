/* The command that shows the report of a run, as one can paste it into a shell. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "report/report_parts.h"

static const char runs[] = "stepscope-runs/";

/* Whether 'stepscope report' finds this run without its name. */
static bool is_the_newest(const struct run_facts *facts)
{
    const char *dir = getenv("STEPSCOPE_DIR");
    const char *name = run_facts_name(facts);
    char target[NAME_MAX + 1];

    if ((dir && *dir) || strncmp(facts->path, runs, sizeof runs - 1) != 0 ||
        name != facts->path + sizeof runs - 1)
        return false;
    const ssize_t size = readlink("stepscope-runs/latest", target, sizeof target);
    return size > 0 && (size_t)size == strlen(name) && memcmp(target, name, (size_t)size) == 0;
}

static bool is_plain(const char *path)
{
    static const char others[] = "_./+,:@%=-";

    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            !strchr(others, c))
            return false;
    }
    return true;
}

/* As a word of a shell. */
static void add_word(struct buf *out, const char *path)
{
    if (path[0] == '-')
        buf_add_text(out, "./");
    if (is_plain(path)) {
        buf_add_text(out, path);
        return;
    }
    buf_add_text(out, "'");
    for (; *path; path++)
        if (*path == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add(out, path, 1);
    buf_add_text(out, "'");
}

void report_more(struct report *report, int label_columns)
{
    static const char label[] = "more";
    const struct run_facts *facts = report->analysis->facts;
    struct buf command = {0};
    struct buf *value = &report->page.value;

    buf_add_text(&command, "stepscope report");
    if (!is_the_newest(facts)) {
        buf_add_text(&command, " ");
        add_word(&command, facts->path);
    }
    const size_t width = text_width(buf_text(&command), command.size);
    buf_printf(value, "%-*s", label_columns, label);
    if (width + (size_t)label_columns > report->page.columns) {
        buf_reset(value);
        buf_printf(value, "%s\n", label);
    }
    text_safe(value, buf_text(&command), command.size);
    value->failed |= command.failed;
    page_line(&report->page);
    buf_release(&command);
}
