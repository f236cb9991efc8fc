/* How long a device takes for the work it gets in a call, by events of CUDA in the stream that
 * the call works on. Off unless STEPSCOPE_DEVICE_EVENTS is set: each call costs two events.
 *
 * Two events enclose the outermost call of a row with `device`. They are looked at, never waited
 * for, when the same thread begins a later call; what has ended then becomes a span "device: STAGE"
 * on the thread's lane, flagged `producer`: the device works in parallel with the loop. Calls come
 * out in the order in which they began. Only one thread of a process, the first one, and one
 * context have events.
 *
 * How exact: a length is the device's own, from the first to the last thing that it did for the
 * call, with the time in which it had nothing to do in between, to 0.5 us. Where it lies in time is
 * known between bounds: it did not begin before the host told it to, did not end before it was last
 * seen at work, and had ended when that was seen. Inside these its distance from the call
 * before, which the device tells too, is kept.
 *
 * While a graph is captured nothing is done, as that would break the capture; nor in forked
 * children, where CUDA does not work. The first error turns all of it off, and the run says so. */
#ifndef PYTHON_DEVICE_EVENTS_H
#define PYTHON_DEVICE_EVENTS_H

#include "hook.h"

/* device_events_start(get_device, get_stream): a device is in use. get_stream(get_device()) is the
 * handle of the stream that this thread works on. Nothing happens if they are not wanted. */
PyObject *device_events_start(PyObject *module, PyObject *arguments);

/* The span of the visit has begun; it is about to end, and had this name. */
void device_events_begin(const struct hook_visit *visit);
void device_events_end(ss_name name);

#endif
