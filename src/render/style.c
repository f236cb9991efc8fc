#include "render/style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
        columns = STYLE_COLUMNS;
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

    return isatty(fd) && !is_set("NO_COLOR") && term && term[0] && strcmp(term, "dumb") != 0;
}

struct style style_for(int fd)
{
    return (struct style){
        .columns = columns_of(fd), .blocks = has_blocks(), .colour = has_colour(fd)};
}

const char *style_bold(const struct style *style)
{
    return style->colour ? "\033[1m" : "";
}

const char *style_faint(const struct style *style)
{
    return style->colour ? "\033[2m" : "";
}

const char *style_plain(const struct style *style)
{
    return style->colour ? "\033[0m" : "";
}

/* Of the terminal's 256 colours, those nearest to the palette. */
static const unsigned char colours[SS_STAGE_COUNT] = {
    [SS_STAGE_OTHER] = 246,      [SS_STAGE_DATA] = 214,    [SS_STAGE_TRANSFER] = 227,
    [SS_STAGE_FORWARD] = 74,     [SS_STAGE_BACKWARD] = 25, [SS_STAGE_OPTIMIZER] = 36,
    [SS_STAGE_COMPUTE] = 74,     [SS_STAGE_COMM] = 175,    [SS_STAGE_SYNC] = 227,
    [SS_STAGE_CALLBACK] = 166,   [SS_STAGE_EVAL] = 36,     [SS_STAGE_INFER] = 25,
    [SS_STAGE_CHECKPOINT] = 175, [SS_STAGE_COMPILE] = 175, [SS_STAGE_SETUP] = 166,
    [SS_STAGE_GC] = 25,          [SS_STAGE_PRODUCE] = 214, [SS_STAGE_USER] = 246,
};

/* Whole blocks, and one of 1 to 7 eighths; what is more than nothing shows. */
static size_t add_blocks(struct buf *out, double cells)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    long parts = lround(cells * 8);

    parts = parts == 0 && cells > 0 ? 1 : parts;
    for (long i = 0; i < parts / 8; i++)
        buf_add_text(out, "█");
    buf_add_text(out, eighths[parts % 8]);
    return (size_t)((parts + 7) / 8);
}

static size_t add_ascii(struct buf *out, double cells)
{
    size_t count = (size_t)lround(cells);

    buf_add_repeated(out, '#', count);
    if (count == 0 && cells > 0)
        buf_add(out, ".", ++count);
    return count;
}

void bar_add(struct buf *out, double share, size_t columns, int colour, const struct style *style)
{
    const double bounded = share > 0 ? (share < 1 ? share : 1) : 0;
    const double cells = bounded * (double)columns;
    const bool coloured = style->colour && colour >= 0 && cells > 0;

    if (coloured)
        buf_printf(out, "\033[38;5;%dm", colours[colour]);
    size_t used = style->blocks ? add_blocks(out, cells) : add_ascii(out, cells);
    if (coloured)
        buf_add_text(out, "\033[0m");
    buf_add_repeated(out, ' ', columns - used);
}
