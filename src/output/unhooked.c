#include "output/unhooked.h"

#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { LINE_BYTES = 1024 };

static const char key[] = "unhooked: ";

static void add_reason(struct buf *out, const char *path, size_t columns)
{
    char line[LINE_BYTES];
    const size_t skipped = sizeof key - 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (fd >= 0)
        close(fd);
    if (size <= (ssize_t)skipped || memcmp(line, key, skipped) != 0)
        return;
    line[size] = '\0';
    const char *reason = line + skipped;
    text_fit(out, reason, strcspn(reason, "\n"), columns);
}

void unhooked_reason(struct buf *out, const struct run_facts *facts, size_t columns)
{
    const char *dir = facts->elsewhere ? facts->elsewhere : facts->path;
    struct buf pattern = {0};
    glob_t found;

    for (const char *at = dir; *at; at++) { /* a folder may be called as it likes */
        if (strchr("*?[\\", *at))
            buf_add_text(&pattern, "\\");
        buf_add(&pattern, at, 1);
    }
    buf_add_text(&pattern, "/unhooked-*");
    if (!pattern.failed && glob(pattern.data, 0, NULL, &found) == 0) {
        add_reason(out, found.gl_pathv[0], columns);
        globfree(&found);
    }
    buf_release(&pattern);
}
