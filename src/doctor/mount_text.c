#include "doctor/mount_text.h"

#include <string.h>

/* "36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda rw": the fifth word is the
 * mount point, the one after " - " the type. */
enum { MOUNT_POINT = 4 };

static const char *end_of_word(const char *at, const char *end)
{
    while (at < end && *at != ' ')
        at++;
    return at;
}

static bool is_octal(char digit)
{
    return digit >= '0' && digit <= '7';
}

/* The kernel writes blanks, line ends and backslashes as \ooo. Takes one character. */
static char unescape(const char **at, const char *end)
{
    const char *from = *at;

    if (end - from >= 4 && from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
        is_octal(from[3])) {
        *at += 4;
        return (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
    }
    *at += 1;
    return *from;
}

/* How much of the path the mount point covers; 0: it does not hold it. */
static size_t covered(const char *point, const char *end, const char *path)
{
    size_t length = 0;

    if (point == end || *point != '/')
        return 0;
    if (end - point == 1)
        return 1;
    while (point < end) {
        const char wanted = unescape(&point, end);
        if (path[length] == '\0' || path[length] != wanted)
            return 0;
        length++;
    }
    return path[length] == '/' || path[length] == '\0' ? length : 0;
}

static const char *mount_point(const char *line, const char *end)
{
    for (int i = 0; i < MOUNT_POINT && line < end; i++) {
        line = end_of_word(line, end);
        line += line < end;
    }
    return line;
}

static const char *type_of(const char *line, const char *end)
{
    for (; end - line > 3; line++)
        if (memcmp(line, " - ", 3) == 0)
            return line + 3;
    return end;
}

bool mount_text_type(const char *mounts, const char *path, char *type, size_t size)
{
    size_t best = 0;

    type[0] = '\0';
    while (*mounts) {
        const char *end = strchr(mounts, '\n');
        end = end ? end : mounts + strlen(mounts);
        const char *point = mount_point(mounts, end);
        const char *name = type_of(point, end);
        const size_t length = (size_t)(end_of_word(name, end) - name);
        const size_t fits = covered(point, end_of_word(point, end), path);
        if (fits > 0 && fits >= best && length > 0 && length < size) {
            best = fits;
            memcpy(type, name, length);
            type[length] = '\0';
        }
        mounts = *end ? end + 1 : end;
    }
    return best > 0;
}
