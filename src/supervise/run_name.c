#include "supervise/run_name.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_MOST = 64 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Options of Python that take the next word: -W, -X, also at the end of a bunch such as -uX. */
static bool takes_a_word(const char *option)
{
    const char *letter = strpbrk(option, "WX");

    return option[1] != '-' && letter && letter[1] == '\0';
}

/* "python3.11 -uX dev train.py" is train.py, "python -m pkg.train" is pkg.train. */
static const char *name_of_command(char *const *command)
{
    const char *own = base_name(command[0]);

    if (strncmp(own, "python", strlen("python")) != 0)
        return own;
    for (char *const *word = command + 1; *word && strcmp(*word, "-c") != 0; word++) {
        if ((*word)[0] != '-')
            return base_name(*word);
        if (takes_a_word(*word) && !*++word)
            break;
    }
    return own;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
}

void run_name(struct buf *out, time_t now, const char *name, char *const *command)
{
    char stamp[32];
    struct tm parts;

    if (!localtime_r(&now, &parts) ||
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S-", &parts) == 0)
        stamp[0] = '\0';
    buf_add_text(out, stamp);
    name = name ? name : name_of_command(command);
    for (size_t i = 0; i < NAME_MOST && name[i]; i++)
        buf_add(out, is_plain(name[i]) ? &name[i] : "-", 1);
}
