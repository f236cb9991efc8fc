/* What the fuzz targets of traces have in common: whatever the bytes, they are read, settled and
 * made into the table of the devices, or refused with a sentence. */
#ifndef TEST_FUZZ_TRACE_H
#define TEST_FUZZ_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "import/trace.h"
#include "import/trace_input.h"
#include "stepscope/error.h"

struct fuzz_trace {
    enum trace_form form;
    const char *path; /* what messages call it */
    int (*read)(struct trace *trace, struct trace_input *input, const char *path,
                struct ss_error *error);
    void (*make)(struct buf *out, const uint8_t *rows, size_t size); /* a trace without damage */
};

/* An even first byte: the rest is a trace as it is; an odd one: it is rows of which one is made,
 * which must not be refused. Returns 0. */
int fuzz_trace(const struct fuzz_trace *how, const uint8_t *data, size_t size);

#endif
