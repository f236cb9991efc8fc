/* Layers of a trace: modules by their path, and which of them launched what. */
#ifndef IMPORT_TRACE_LAYERS_H
#define IMPORT_TRACE_LAYERS_H

#include "import/trace.h"

/* Gives each span of trace->layers the path of its module as its name, "Net_0/Block_1/Linear_3",
 * and each device event the innermost one around its launch. The trace is settled. */
void trace_layers_find(struct trace *trace);

#endif
