#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output/report.h"

enum { FEWEST_COLUMNS = 40, MOST_COLUMNS = 160 };

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0];
}

static unsigned columns_of(int fd)
{
    const char *wanted = getenv("COLUMNS");
    struct winsize size = {0};
    long columns = wanted ? strtol(wanted, NULL, 10) : 0;

    if (columns <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns <= 0)
        columns = REPORT_COLUMNS;
    columns = columns < FEWEST_COLUMNS ? FEWEST_COLUMNS : columns;
    return (unsigned)(columns > MOST_COLUMNS ? MOST_COLUMNS : columns);
}

/* The console of the kernel has no eighths of a block in its fonts. */
static bool has_blocks(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = getenv("TERM");

    if (term && strcmp(term, "linux") == 0)
        return false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static bool has_colour(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !is_set("NO_COLOR") && term && term[0] &&
           strcmp(term, "dumb") != 0;
}

struct report_style report_style_for(int fd)
{
    return (struct report_style){
        .columns = columns_of(fd), .blocks = has_blocks(), .colour = has_colour(fd)};
}
