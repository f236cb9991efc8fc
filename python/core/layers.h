/* Layers by sampling: which of them the time of a forward and a backward pass goes to.
 *
 * In one of N stretches from an update to the next one, calls of modules inside an outermost one
 * are spans too, named by their path and flagged `sampled`. So is what a backward pass does for
 * each of them: marks on nodes of autograd's graph say from where on it works for which layer. A
 * node has one owner: the innermost module that gave it away, or, for what a module is given, the
 * one around it. Otherwise nothing is done but to count updates and to read one number.
 *
 * N is such that all of it costs less than a thousandth of the time, and at random, so that nothing
 * regular is met again and again. What it takes in a stretch is recorded, and subtracted. If that
 * is more than 0.5 % of a step, the step counts as disturbed.
 *
 * Only one thread of a process, the first one that makes an update, is looked at. Marks are not set
 * where a mode watches each call on a tensor, while something is traced, or for tensors of other
 * classes. */
#ifndef PYTHON_LAYERS_H
#define PYTHON_LAYERS_H

#include "hook.h"

/* Which layer of a model an object is: its path from the outermost module on, as
 * "Net.encoder.layers.3.fc1".
 *
 * The paths below an outermost module are found once, by a function of the adapter, when a call of
 * it is sampled first. What is made later is looked for again a few times, and is then known by its
 * class, below the layer that called it. A module that is a part of another one which was called
 * before keeps its path when it is the outermost itself, as where a checkpoint computes it again.
 *
 * Objects are known by weak references. With the GIL held (layer_names.c). */
struct layer {
    PyObject *object; /* only compared, and only while `weak` is alive; NULL: any of its class */
    PyObject *weak;
    const struct layer *around; /* without an object: what calls it */
    char *path, *kind;          /* `kind`: its class */
    ss_name forward, backward;  /* 0: none has been needed */
    bool is_compiled;           /* what has no path in it was made by the compiler */
};

/* find(module) gives what it is called, and a list of pairs (module, path) of all that is in it,
 * itself with the path "". */
void layer_names_init(PyObject *find);

/* The layer that is called inside another one, NULL: the outermost; `made` says whether paths
 * had to be found for that, which takes a while. NULL: there are too many. No exception is left. */
struct layer *layer_names_find(PyObject *object, struct layer *around, bool *made);

/* Finds the paths of what is in a module that may itself never be called. */
void layer_names_add(PyObject *module);

/* It is what another one stands for, as DistributedDataParallel does: both have one path. */
bool layer_is_wrapped(const struct layer *layer, const struct layer *around);

/* The name of its spans. */
ss_name layer_forward(struct layer *layer);
ss_name layer_backward(struct layer *layer);

/* When layers are sampled (layers_pace.c): in one of N stretches, with N such that all of it stays
 * below a thousandth of the time.
 *
 * What a stretch costs is known from pairs. The forward and backward passes of the steps just
 * before it, in which nothing is sampled, are timed as well as its own. What its own take longer on
 * a core is the cost; so is what they wait longer, if their thread gave up its core more often: a
 * mark waits where another thread holds the GIL, which nothing inside the mark can see. What our
 * own calls are known to have taken is the least.
 *
 * Of the one thread that is looked at, with the GIL held. */
enum layers_due {
    LAYERS_DUE_NOTHING,
    LAYERS_DUE_WATCH, /* the passes of the step that begins now are timed */
    LAYERS_DUE_SAMPLE
};

/* `every`: this many updates or so, whatever it costs; 0: within the budget. */
void layers_pace_start(uint64_t every);

/* In a forked child. */
void layers_pace_restart(void);

/* At each update. */
enum layers_due layers_pace_update(void);

/* Around each pass of a step that is watched or sampled. */
void layers_pass_begin(void);
void layers_pass_end(void);

/* A stretch has ended, in which our own calls took so much. The next one is planned. True: it has
 * waited for so long that it does not show how time divides. */
bool layers_pace_close(int64_t own_ns);

/* A stretch has no end; what it took counts all the same. */
void layers_pace_abandon(int64_t own_ns);

/* None can begin now. */
void layers_pace_later(void);

/* The next stretch is the first one, which only shows what it takes. */
bool layers_pace_is_trial(void);

/* What all stretches took so far. */
int64_t layers_pace_spent_ns(void);

/* Whether the next stretch takes too long for its step to be like others. */
bool layers_pace_disturbs(void);

/* A usual step by the clock. */
int64_t layers_pace_step_ns(void);

/* Whether a call that is sampled is open on this thread: then what it calls is looked at. */
extern _Thread_local bool layers_inside __attribute__((tls_model(SS_TLS_MODEL)));

/* A call of a module inside the outermost one, by its vectorcall. */
PyObject *layers_call(const struct hook_point *point, vectorcallfunc original, PyObject *callable,
                      PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* layers_start(type of tensors, find, is_time, may_mark): what an adapter knows. find(module) is
 * as for layer_names_init(); is_time() gives None, or why never; may_mark() says whether nodes can
 * have marks. Without a type there is no backward pass of layers. */
PyObject *layers_start(PyObject *module, PyObject *arguments);

/* layers_stop(reason): never from here on. */
PyObject *layers_stop(PyObject *module, PyObject *reason);

/* layers_know(module): layers get their paths from it, though it may never be called itself. */
PyObject *layers_know(PyObject *module, PyObject *object);

#endif
