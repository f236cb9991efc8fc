/* Reads a trace of TensorFlow's or JAX's profiler (XPlane), protocol buffers. */
#ifndef IMPORT_XPLANE_H
#define IMPORT_XPLANE_H

#include <stdbool.h>

#include "import/trace.h"
#include "import/trace_input.h"

/* Whether these look like it: its first bytes, of which nothing is used up. */
bool xplane_is(struct trace_input *input);

/* Adds its events; `trace` is initialised, and settled by the caller. The input is read twice. 0,
 * or an SS_E code with a sentence that has the offset of what is wrong; `path` is for that
 * sentence. */
int xplane_read(struct trace *trace, struct trace_input *input, const char *path,
                struct ss_error *error);

#endif
