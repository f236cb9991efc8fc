#include "layers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/own_counters.h"
#include "guard.h"
#include "hook_extras.h"
#include "hook_technique.h"
#include "record/session.h"

enum {
    CALL_NS = 60,             /* what cannot be measured: of a call, */
    MARK_NS = 4000,           /* and of a mark by autograd */
    MARKING_MOST_NS = 100000, /* of one call */
    NAMING_MOST_NS = 5000000,
    TRIAL_MARKS = 8, /* each may wait for the GIL */
    SPOILED_MOST = 2 /* stretches in a row */
};

/* Read in each call of a module. */
_Thread_local bool layers_inside __attribute__((tls_model(SS_TLS_MODEL)));

/* Of autograd's nodes in this stretch: those that have an owner, by number. */
static struct {
    uint64_t *slot; /* number + 1; 0: none */
    size_t slots, count;
} nodes;

/* What to sample with, for the one thread that is looked at. */
static struct {
    bool has_owner, is_off;
    bool is_open;    /* there is a stretch */
    bool is_trial;   /* which no report shows */
    bool no_marks;   /* they wait too long */
    bool is_watched; /* passes of this step are timed */
    unsigned marks, spoiled;
    uint32_t number;
    ss_ticks begun, cost;
    PyTypeObject *tensor;
    PyObject *is_time, *may_mark;
    PyObject *grad_fn, *version, *is_view, *sequence, *hook;
    ss_name stretch, own, spent;
} sampling;

/* Where this thread is. */
static _Thread_local struct {
    bool is_owner, can_mark;
    struct layer *layer;                           /* the innermost that is open */
    const struct hook_visit *outermost, *backward; /* rows' calls; NULL: none */
    const struct hook_visit *pass;                 /* that is timed */
    struct hook_visit root, part;                  /* spans of layers in those */
} here __attribute__((tls_model(SS_TLS_MODEL)));

/* Stretches. */

static bool is_sampling(void)
{
    return sampling.is_open && here.is_owner;
}

/* What is begun will be ended. */
static void settle(void)
{
    if (sampling.is_open || sampling.is_watched || here.outermost || here.backward || here.pass)
        hook_state.measuring |= HOOK_MEASURES_LAYERS;
    else
        hook_state.measuring &= ~(unsigned)HOOK_MEASURES_LAYERS;
}

static int64_t cost_ns(void)
{
    enum { SECOND_NS = 1000000000 };
    const ss_ticks second = ss_ticks_of_ns(SECOND_NS);
    return second ? (int64_t)((double)sampling.cost / (double)second * SECOND_NS) : 0;
}

static void end_stretch(void)
{
    sampling.is_open = false;
    hook_put_condition(HOOK_CONDITION_OWN, 0);
    settle();
}

/* A stretch that cannot end as it should has no end: a reader drops what was in it. */
static void abandon_stretch(void)
{
    if (!sampling.is_open)
        return;
    end_stretch();
    layers_pace_abandon(cost_ns());
}

/* Without marks nothing of a stretch waits. */
static void stop_marks(void)
{
    if (sampling.no_marks)
        return;
    sampling.no_marks = true;
    hook_status_mark("layers without backward",
                     "marks in the backward pass waited for another thread of Python");
}

static void close_stretch(ss_ticks now)
{
    end_stretch();
    const bool has_waited = layers_pace_close(cost_ns());
    ss_counter(sampling.spent, (double)layers_pace_spent_ns());
    sampling.spoiled = has_waited ? sampling.spoiled + 1 : 0;
    if (has_waited && (sampling.is_trial || sampling.spoiled == SPOILED_MOST))
        stop_marks();
    if (!has_waited && !sampling.is_trial)
        ss_append(sampling.stretch, sampling.begun, now, SS_FLAG_SAMPLED, sampling.number);
}

/* What takes much longer than others do accumulates gradients, or no update comes any more. */
static bool is_too_long(void)
{
    enum { STEPS_MOST = 4, MORE_NS = 100000000 };
    return sampling.is_open &&
           ss_now() - sampling.begun > ss_ticks_of_ns(layers_pace_step_ns() * STEPS_MOST + MORE_NS);
}

static void give_up(const char *reason)
{
    abandon_stretch();
    sampling.is_off = true;
    hook_status_mark("layers not sampled", reason);
}

/* A tracer or profiler sees each call of Python, and would see ours. */
static bool is_watched(void)
{
    const PyThreadState *thread = PyThreadState_Get();
    return thread->c_tracefunc || thread->c_profilefunc;
}

/* Whether the adapter has nothing against it. */
static bool is_time(void)
{
    if (is_watched())
        return false;
    PyObject *reason = PyObject_CallNoArgs(sampling.is_time);
    const char *text = reason && PyUnicode_Check(reason) ? PyUnicode_AsUTF8(reason) : NULL;
    const bool is_fine = reason == Py_None;
    if (!is_fine)
        give_up(text ? text : "the framework cannot be asked whether it may be");
    Py_XDECREF(reason);
    hook_forget_error();
    return is_fine;
}

static void open_stretch(ss_ticks now)
{
    layers_pace_later();
    if (hook_state.condition || !is_time())
        return;
    if (layers_pace_disturbs())
        hook_put_condition(HOOK_CONDITION_OWN, SS_FLAG_PERTURBED);
    sampling.number++;
    sampling.is_open = true;
    sampling.is_trial = layers_pace_is_trial();
    sampling.marks = 0;
    sampling.begun = now;
    sampling.cost = 0;
    if (nodes.slot)
        memset(nodes.slot, 0, nodes.slots * sizeof *nodes.slot);
    nodes.count = 0;
    ss_append(sampling.stretch, now, now, SS_FLAG_SAMPLED, sampling.number);
}

/* Whose update it is, the thread whose layers are looked at. */
static bool is_owner(void)
{
    if (!sampling.has_owner)
        sampling.has_owner = here.is_owner = true;
    return here.is_owner;
}

/* An update is about to begin. */
static bool update_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)call;
    (void)visit;
    if (sampling.is_off || !sampling.is_time || !is_owner())
        return true;
    if (here.outermost || here.backward) { /* one of several in a step, of which none ends it */
        abandon_stretch();
        return true;
    }
    const enum layers_due due = layers_pace_update();
    sampling.is_watched = due == LAYERS_DUE_WATCH;
    here.pass = NULL;
    if (sampling.is_open)
        close_stretch(ss_now());
    else if (due == LAYERS_DUE_SAMPLE)
        open_stretch(ss_now());
    settle();
    return true;
}

/* What this took itself from then on: a span of its own, if it is worth one. What is more than
 * `most` is time in which another thread had the core. */
static void record_cost(ss_ticks start, int64_t most_ns)
{
    enum { LEAST_NS = 1000 };
    const ss_ticks now = ss_now(), took = now - start, most = ss_ticks_of_ns(most_ns);
    sampling.cost += took < most ? took : most;
    if (took >= ss_ticks_of_ns(LEAST_NS))
        ss_append(sampling.own, start, now, SS_FLAG_SAMPLED, sampling.number);
}

/* Marks on nodes. */

static bool grow_nodes(void)
{
    const size_t slots = nodes.slots ? nodes.slots * 2 : 512;
    uint64_t *grown = calloc(slots, sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < nodes.slots; i++) {
        size_t at = nodes.slot[i] & (slots - 1);
        while (nodes.slot[i] && grown[at])
            at = (at + 1) & (slots - 1);
        if (nodes.slot[i])
            grown[at] = nodes.slot[i];
    }
    free(nodes.slot);
    nodes.slot = grown;
    nodes.slots = slots;
    return true;
}

/* False: it has an owner. */
static bool take_node(uint64_t number)
{
    if (nodes.count * 2 >= nodes.slots && !grow_nodes())
        return false;
    size_t at = ++number & (nodes.slots - 1);
    while (nodes.slot[at] && nodes.slot[at] != number)
        at = (at + 1) & (nodes.slots - 1);
    if (nodes.slot[at])
        return false;
    nodes.slot[at] = number;
    nodes.count++;
    return true;
}

/* From here on the backward pass works for another layer; 0: for none. */
static void turn_to(ss_name name)
{
    const struct pen *pen = hook_pen();
    if (!pen || !hook_is_open(here.backward, pen))
        return;
    if (hook_is_open(&here.part, pen)) {
        if (here.part.depth != hook_depth(pen))
            return; /* inside something else that it calls */
        hook_end(&here.part, SS_FLAG_SAMPLED, sampling.number);
    }
    here.part.open = NULL;
    if (name && hook_depth(pen) == here.backward->depth)
        hook_begin(name, SS_FLAG_SAMPLED, &here.part);
    sampling.cost += ss_ticks_of_ns(MARK_NS);
}

/* Autograd calls it before a node, with the gradients; what it gives would replace them. */
static PyObject *pass_mark(PyObject *self, PyObject *gradients)
{
    const uint64_t what = PyLong_AsUnsignedLongLong(self); /* of this stretch? */
    (void)gradients;
    if (here.backward && is_sampling() && what >> 32 == sampling.number)
        turn_to((ss_name)what);
    Py_RETURN_NONE;
}

static void put_mark(PyObject *node, ss_name name)
{
    static PyMethodDef method = {"stepscope_layer", pass_mark, METH_O, NULL};
    PyObject *what = PyLong_FromUnsignedLongLong((uint64_t)sampling.number << 32 | name);
    PyObject *mark = what ? PyCFunction_New(&method, what) : NULL;
    PyObject *handle = mark ? PyObject_CallMethodOneArg(node, sampling.hook, mark) : NULL;
    Py_XDECREF(handle);
    Py_XDECREF(mark);
    Py_XDECREF(what);
}

/* To ask a view for its node after its base was changed makes a new one, earlier than without us,
 * which might change in which order gradients are added up. */
static bool is_stale_view(PyObject *tensor)
{
    PyObject *version = PyObject_GetAttr(tensor, sampling.version);
    const bool is_changed = !version || PyLong_AsLong(version) != 0;
    PyObject *is_view = is_changed ? PyObject_CallMethodNoArgs(tensor, sampling.is_view) : NULL;
    const bool is_stale = is_changed && is_view != Py_False;
    Py_XDECREF(version);
    Py_XDECREF(is_view);
    return is_stale;
}

static void mark_tensor(PyObject *tensor, struct layer *layer)
{
    PyObject *node = is_stale_view(tensor) ? NULL : PyObject_GetAttr(tensor, sampling.grad_fn);
    PyObject *number =
        node && node != Py_None ? PyObject_CallMethodNoArgs(node, sampling.sequence) : NULL;
    const uint64_t known = number ? PyLong_AsUnsignedLongLong(number) : UINT64_MAX;
    const bool is_new = known != UINT64_MAX && take_node(known);
    if (is_new && (!sampling.is_trial || sampling.marks++ < TRIAL_MARKS))
        put_mark(node, layer ? layer_backward(layer) : 0);
    Py_XDECREF(number);
    Py_XDECREF(node);
    hook_forget_error();
}

/* All tensors of an argument or a result. */
static void mark_all(PyObject *object, struct layer *layer, int deeper)
{
    enum { ITEMS_MOST = 256 };
    if (Py_IS_TYPE(object, sampling.tensor)) {
        mark_tensor(object, layer);
    } else if (deeper > 0 && (PyTuple_Check(object) || PyList_Check(object))) {
        for (Py_ssize_t i = 0; i < Py_SIZE(object) && i < ITEMS_MOST; i++)
            mark_all(PySequence_Fast_GET_ITEM(object, i), layer, deeper - 1);
    } else if (deeper > 0 && PyDict_Check(object)) {
        PyObject *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(object, &at, NULL, &value))
            mark_all(value, layer, deeper - 1);
    }
}

static void mark_result(PyObject *result, struct layer *layer)
{
    enum { DEEP = 3 };
    const int error = errno;
    const ss_ticks start = ss_now();
    if (!result || !here.can_mark)
        return;
    mark_all(result, layer, DEEP);
    record_cost(start, MARKING_MOST_NS);
    errno = error;
}

static void mark_arguments(PyObject *const *args, Py_ssize_t count, struct layer *layer)
{
    const int error = errno;
    const ss_ticks start = ss_now();
    if (!here.can_mark)
        return;
    for (Py_ssize_t i = 1; i < count; i++)
        mark_all(args[i], layer, 1);
    record_cost(start, MARKING_MOST_NS);
    errno = error;
}

/* Calls of modules. */

static struct layer *find_layer(PyObject *object)
{
    bool made;
    const ss_ticks start = ss_now();
    struct layer *layer = layer_names_find(object, here.layer, &made);
    if (made)
        record_cost(start, NAMING_MOST_NS);
    return layer;
}

PyObject *layers_call(const struct hook_point *point, vectorcallfunc original, PyObject *callable,
                      PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    struct layer *around = here.layer;
    struct layer *layer = is_sampling() && point->layers == HOOK_LAYERS_MODULES && count > 0
                              ? find_layer(args[0])
                              : NULL;
    struct hook_visit visit;
    if (!layer || layer_is_wrapped(layer, around))
        return original(callable, args, nargsf, kwnames);
    mark_arguments(args, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), around);
    here.layer = layer;
    sampling.cost += ss_ticks_of_ns(CALL_NS);
    hook_begin(layer_forward(layer), SS_FLAG_SAMPLED, &visit);
    PyObject *result = original(callable, args, nargsf, kwnames);
    hook_end(&visit, SS_FLAG_SAMPLED | (result ? 0 : SS_FLAG_FAILED), sampling.number);
    here.layer = around;
    mark_result(result, layer);
    return result;
}

static bool may_mark(void)
{
    const bool is_wanted = sampling.tensor && !sampling.no_marks;
    PyObject *answer = is_wanted ? PyObject_CallNoArgs(sampling.may_mark) : NULL;
    const bool is_true = answer == Py_True;
    Py_XDECREF(answer);
    hook_forget_error();
    return is_true;
}

static void outermost_enter(struct hook_visit *visit, const struct hook_call *call)
{
    PyObject *self = hook_argument(call, 0);
    struct layer *layer =
        visit->open->head.flags & SS_FLAG_EVAL || !self || here.outermost || is_watched()
            ? NULL
            : find_layer(self);
    if (!layer)
        return;
    if (is_too_long()) {
        abandon_stretch();
        return;
    }
    here.outermost = visit;
    here.layer = layer;
    here.can_mark = may_mark();
    hook_begin(layer_forward(layer), SS_FLAG_SAMPLED, &here.root);
    layers_inside = true;
}

static void outermost_leave(PyObject *result)
{
    struct layer *layer = here.layer;
    layers_inside = false;
    hook_end(&here.root, SS_FLAG_SAMPLED | (result ? 0 : SS_FLAG_FAILED), sampling.number);
    here.outermost = NULL;
    here.layer = NULL;
    mark_result(result, layer);
}

/* Rows. */

static void begin_pass(const struct hook_visit *visit)
{
    if (here.pass || !here.is_owner || !(sampling.is_watched || sampling.is_open))
        return;
    here.pass = visit;
    layers_pass_begin();
}

static bool layers_enter(struct hook_visit *visit, const struct hook_call *call)
{
    const unsigned kind = visit->point->layers;
    const int error = errno;
    if (!visit->open)
        return true;
    begin_pass(visit);
    if (is_sampling() && kind == HOOK_LAYERS_MODULES) {
        outermost_enter(visit, call);
    } else if (is_sampling() && !here.backward) {
        here.backward = visit;
        here.part.open = NULL;
    }
    errno = error;
    return true;
}

/* What was begun is ended, though the stretch may be over. */
static void layers_leave(const struct hook_visit *visit, const struct hook_call *call,
                         PyObject *result, struct hook_ending *end)
{
    (void)call;
    (void)end;
    if (visit == here.outermost) {
        outermost_leave(result);
    } else if (visit == here.backward) {
        turn_to(0);
        here.backward = NULL;
    }
    if (visit == here.pass) {
        layers_pass_end();
        here.pass = NULL;
        settle();
    }
}

static int layers_read(PyObject *row, struct hook_point *point)
{
    (void)row;
    return point->layers == HOOK_LAYERS_MODULES || point->layers == HOOK_LAYERS_BACKWARD;
}

static int update_read(PyObject *row, struct hook_point *point)
{
    (void)row;
    return point->layers == HOOK_LAYERS_UPDATE;
}

const struct hook_extra hook_layers = {
    .read = layers_read, .enter = layers_enter, .leave = layers_leave, .is_switched = true};
const struct hook_extra hook_updates = {
    .read = update_read, .enter = update_enter, .is_outer = true};

/* What adapters call. */

static void after_fork_in_child(void)
{
    sampling.has_owner = here.is_owner = layers_inside = false;
    here.outermost = here.backward = here.pass = NULL;
    here.layer = NULL;
    sampling.is_watched = false;
    end_stretch();
    layers_pace_restart();
}

static void intern_texts(void)
{
    sampling.grad_fn = PyUnicode_InternFromString("grad_fn");
    sampling.version = PyUnicode_InternFromString("_version");
    sampling.is_view = PyUnicode_InternFromString("_is_view");
    sampling.sequence = PyUnicode_InternFromString("_sequence_nr");
    sampling.hook = PyUnicode_InternFromString("register_prehook");
    sampling.stretch = ss_intern("sampled", SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    sampling.spent =
        ss_intern(OWN_COUNTER_LAYERS, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    sampling.own = ss_intern("sampling", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

/* STEPSCOPE_LAYERS: 0 for never, a number for the distance in updates; else within the budget.
 */
static bool is_wanted(uint64_t *every)
{
    const char *wanted = secure_getenv("STEPSCOPE_LAYERS");
    *every = wanted ? strtoul(wanted, NULL, 10) : 0;
    return !wanted || !*wanted || *every > 0 || strcmp(wanted, "auto") == 0;
}

PyObject *layers_start(PyObject *module, PyObject *arguments)
{
    PyObject *tensor, *find, *time, *mark;
    uint64_t every = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &tensor, &find, &time, &mark))
        return NULL;
    if (!sampling.is_off && (!HAS_GIL || !is_wanted(&every)))
        give_up(HAS_GIL ? "STEPSCOPE_LAYERS says so" : "this Python is built without the GIL");
    if (sampling.is_off)
        Py_RETURN_NONE;
    if (!sampling.is_time) {
        intern_texts();
        pthread_atfork(NULL, NULL, after_fork_in_child);
    }
    layers_pace_start(every);
    layer_names_init(find);
    Py_XSETREF(sampling.is_time, Py_NewRef(time));
    Py_XSETREF(sampling.may_mark, Py_NewRef(mark));
    if (PyType_Check(tensor))
        Py_XSETREF(sampling.tensor, (PyTypeObject *)Py_NewRef(tensor));
    Py_RETURN_NONE;
}

PyObject *layers_stop(PyObject *module, PyObject *reason)
{
    const char *text = PyUnicode_AsUTF8(reason);
    (void)module;
    if (!text)
        return NULL;
    if (!sampling.is_off) /* which leaves no stretch open */
        give_up(text);
    Py_RETURN_NONE;
}

PyObject *layers_know(PyObject *module, PyObject *object)
{
    (void)module;
    if (sampling.is_time && !sampling.is_off)
        layer_names_add(object);
    Py_RETURN_NONE;
}
