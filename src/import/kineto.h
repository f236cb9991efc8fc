/* Reads a trace of PyTorch's profiler (Kineto), JSON in the form of Chrome's trace events. */
#ifndef IMPORT_KINETO_H
#define IMPORT_KINETO_H

#include "import/trace.h"
#include "import/trace_input.h"

/* Adds its events; `trace` is initialised, and settled by the caller. 0, or an SS_E code with a
 * sentence that has the offset of what is wrong; `path` is for that sentence. */
int kineto_read(struct trace *trace, struct trace_input *input, const char *path,
                struct ss_error *error);

#endif
