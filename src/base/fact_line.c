#include "base/fact_line.h"

#include <inttypes.h>

void fact_line(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s: ", key);
    for (; *value; value++) {
        if (*value == '\n')
            buf_add_text(out, "\\n");
        else if (*value == '\r')
            buf_add_text(out, "\\r");
        else if (*value == '\\')
            buf_add_text(out, "\\\\");
        else
            buf_add(out, value, 1);
    }
    buf_add(out, "\n", 1);
}

void fact_line_number(struct buf *out, const char *key, int64_t value)
{
    buf_printf(out, "%s: %" PRId64 "\n", key, value);
}
