#include "supervise/python_path.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/files.h"

/* Below the folder of our executable. */
static const char *const places[] = {
    "python/stepscope/_boot",
    "../lib/stepscope/python/stepscope/_boot",
    "../lib*/python3*/site-packages/stepscope/_boot", /* lib64 on some systems */
    "../lib/python3*/dist-packages/stepscope/_boot",
    "../local/lib/python3*/dist-packages/stepscope/_boot",
    "../stepscope/_boot", /* pip install --target */
};

void python_path_find(struct buf *out)
{
    path_find_beside_us(places, sizeof places / sizeof places[0], out);
}

void python_path_set(void)
{
    const char *old = getenv("PYTHONPATH");
    struct buf path = {0};

    python_path_find(&path);
    if (path.size > 0 && !strchr(path.data, ':')) {
        const bool is_first = old && strncmp(old, path.data, path.size) == 0 &&
                              (old[path.size] == ':' || old[path.size] == '\0');
        if (old && *old)
            buf_printf(&path, ":%s", old);
        if (!path.failed && !is_first)
            (void)setenv("PYTHONPATH", path.data, 1);
    }
    buf_release(&path);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_python(const char *path)
{
    const char *rest = base_name(path);

    if (strncmp(rest, "python", 6) != 0)
        return false;
    for (rest += 6; *rest == '.' || isdigit((unsigned char)*rest); rest++)
        ;
    rest += *rest == 't'; /* built without the GIL */
    return *rest == '\0';
}

/* Options of the interpreter come before the script; -c and -m end them, -W and -X take a word. */
static const char *hidden_by_option(char *const *words)
{
    for (; *words && (*words)[0] == '-' && (*words)[1] != '\0'; words++) {
        for (const char *letter = *words + 1; *letter; letter++) {
            if (*letter == 'I')
                return "Python was started with -I, which disables hooks";
            if (*letter == 'E')
                return "Python was started with -E, which disables hooks";
            if (*letter == 'S')
                return "Python was started with -S, which disables hooks";
            if (*letter == '-' || *letter == 'c' || *letter == 'm')
                return NULL;
            if (*letter == 'W' || *letter == 'X') {
                words += letter[1] == '\0' && words[1];
                break;
            }
        }
    }
    return NULL;
}

static bool clears_environment(char *const *words)
{
    for (; *words && (*words)[0] == '-'; words++)
        if (strcmp(*words, "-") == 0 || strcmp(*words, "-i") == 0 ||
            strcmp(*words, "--ignore-environment") == 0)
            return true;
    return false;
}

/* It would be two folders in PYTHONPATH. */
static bool has_colon(void)
{
    struct buf path = {0};

    python_path_find(&path);
    const bool found = path.size > 0 && strchr(path.data, ':');
    buf_release(&path);
    return found;
}

const char *python_path_hidden_by(char *const *command)
{
    if (is_python(command[0]) && has_colon())
        return "the folder of stepscope has a colon in its path, which Python cannot search";
    if (is_python(command[0]))
        return hidden_by_option(command + 1);
    if (strcmp(base_name(command[0]), "sudo") == 0)
        return "sudo disables hooks: put it in front of stepscope instead";
    if (strcmp(base_name(command[0]), "env") == 0 && clears_environment(command + 1))
        return "env -i disables hooks: put it in front of stepscope instead";
    return NULL;
}
