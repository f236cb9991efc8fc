#include "base/run_text.h"

#include <inttypes.h>
#include <stdbool.h>

enum { STAMP_SIZE = 16 /* "20261115-183512-" */ };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' ||
           c == '_' || c == '-';
}

void run_name_add(struct buf *out, const char *name)
{
    for (size_t i = 0; i < RUN_NAME_MOST && name[i]; i++)
        buf_add(out, is_plain(name[i]) ? &name[i] : "-", 1);
}

const char *run_name_of_directory(const char *directory)
{
    for (size_t i = 0; i < STAMP_SIZE; i++) {
        const bool is_dash = i == 8 || i == STAMP_SIZE - 1;
        if (is_dash ? directory[i] != '-' : !is_digit(directory[i]))
            return directory;
    }
    return directory[STAMP_SIZE] ? directory + STAMP_SIZE : directory;
}

void fact_line(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s: ", key);
    for (; *value; value++)
        if (*value == '\n')
            buf_add_text(out, "\\n");
        else if (*value == '\r')
            buf_add_text(out, "\\r");
        else if (*value == '\\')
            buf_add_text(out, "\\\\");
        else
            buf_add(out, value, 1);
    buf_add(out, "\n", 1);
}

void fact_line_number(struct buf *out, const char *key, int64_t value)
{
    buf_printf(out, "%s: %" PRId64 "\n", key, value);
}
