/* The extras: what a row can add to a call beside a span with a name. Each is one const struct with
 * an enter and a leave (hook.h); hook_point.c puts those that a row asks for into its point. */
#ifndef PYTHON_HOOK_EXTRAS_H
#define PYTHON_HOOK_EXTRAS_H

#include "hook.h"

/* `before`, `after`: tells the adapter of a call, for what a row cannot say: the begin and end of
 * a loop, objects that have to be hooked once they are there. What the adapter does or raises is
 * not seen by the caller. */
extern const struct hook_extra hook_notify;

/* `numbers`: those that a call gives in a dictionary become counters, by the names that they have
 * there: losses and metrics which a framework has brought to the host anyway. */
extern const struct hook_extra hook_numbers;

/* `part="begin"`: the span stays open, as by __enter__. The call on the same object that ends it,
 * as
 * __exit__, has a row with `part="end"`, which does nothing else (hook_pair_end_span()). */
extern const struct hook_extra hook_pair;

/* `moves`: recorded only if the result is elsewhere than self. */
extern const struct hook_extra hook_moves;

/* `count`: the argument of the span is taken from the call: the length or an attribute of what it
 * got or gave, a number that its caller has, the batches that were got during it. The second one is
 * what batches need when the span begins. */
extern const struct hook_extra hook_count, hook_count_batches;

/* `samples`: how many samples a batch has, by the first dimension of its tensors. Asking takes
 * longer than a span does, so it is done for the first batch of an iterator, or of a recording, and
 * then for each 16th one; the model goes on with the last answer. */
extern const struct hook_extra hook_samples;

/* `waits`: where a framework talks to other ranks in C++ no hook sees the wait. But the thread is
 * off the CPU then: that time of a call becomes a span of stage `comm` inside it, flagged as an
 * estimate, since a busy machine takes the CPU away too. It costs two system calls, so it is off
 * until an adapter knows that there are other ranks, and nothing is added to a call in which `comm`
 * was seen: the second one sees that. */
extern const struct hook_extra hook_waits, hook_comm;

/* `device`: what a device does for the call (device_events.h). */
extern const struct hook_extra hook_device;

/* `layers`: in stretches that are sampled, what is inside a call by layers; what begins such a
 * stretch (layers.h). */
extern const struct hook_extra hook_layers, hook_updates;

/* Of an update, too: windows of operations (window.h). */
extern const struct hook_extra hook_windows;

/* The span that the same self has begun, or whatever has the name of the point. */
void hook_pair_end_span(const struct hook_point *point, const struct hook_call *call);

/* hook_waits(yes): while it is on. */
PyObject *hook_waits_switch(PyObject *module, PyObject *on);

/* After Python code of ours: drops what it raised. But Ctrl-C is the script's, which gets it when
 * it runs next. */
void hook_forget_error(void);

#endif
