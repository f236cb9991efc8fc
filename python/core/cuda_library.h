/* The few functions of CUDA's driver that tell when a device does what it was told to. Names and
 * numbers are those of its public documentation. None of them waits for a device, and none that does
 * may be added: what is recorded must not change what is measured. */
#ifndef PYTHON_CUDA_LIBRARY_H
#define PYTHON_CUDA_LIBRARY_H

#include <stdbool.h>

enum cuda_result { CUDA_SUCCESS = 0, CUDA_NOT_INITIALIZED = 3, CUDA_NOT_READY = 600 };
enum cuda_capture_mode { CUDA_CAPTURE_RELAXED = 2 };

typedef void *cuda_handle; /* a context, a stream or an event */

#define CUDA_FUNCTIONS(X)                                                                \
    X(get_context, "cuCtxGetCurrent", (cuda_handle * context))                           \
    X(create_event, "cuEventCreate", (cuda_handle * event, unsigned flags))              \
    X(record_event, "cuEventRecord", (cuda_handle event, cuda_handle stream))            \
    X(query_event, "cuEventQuery", (cuda_handle event))                                  \
    X(measure, "cuEventElapsedTime", (float *ms, cuda_handle first, cuda_handle last))   \
    X(is_capturing, "cuStreamIsCapturing", (cuda_handle stream, int *status))            \
    X(swap_capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))

#define CUDA_MEMBER(field, name, parameters) int(*field) parameters;
struct cuda_library {
    CUDA_FUNCTIONS(CUDA_MEMBER)
};
#undef CUDA_MEMBER

/* Fills the table if the process has loaded the driver; it is never loaded by us. NULL, or why it
 * cannot be used. STEPSCOPE_CUDA_LIBRARY names another file than the driver's. */
const char *cuda_library_find(struct cuda_library *library);

#endif
