#include "output/unhooked.h"

#include <glob.h>
#include <string.h>

#include "base/small_file.h"
#include "base/text.h"

enum { LINE_BYTES = 1024 };

static const char key[] = "unhooked: ";

static void add_reason(struct buf *out, const char *path, size_t columns)
{
    const size_t skipped = sizeof key - 1;
    struct buf line = {0};

    small_file_read(path, LINE_BYTES, &line);
    if (line.size > skipped && memcmp(line.data, key, skipped) == 0) {
        const char *reason = buf_text(&line) + skipped;
        text_fit(out, reason, strcspn(reason, "\n"), columns);
    }
    buf_release(&line);
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
