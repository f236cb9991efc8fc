"""What the adapters of Keras 3 and of tf_keras share: a fit with its epochs, its plan, its
callbacks and the numbers that it logs.

Callbacks are classes of the user's: they are hooked when a list of them is given its model.
"""

import weakref
from types import FunctionType

from .. import _core
from .._hooks import Hook, _point
from ._pipeline import of_adapter, tell
from ._trainer import Loop, model_name, tell_callbacks

_SCOPES = {
    "on_batch_begin": "batch_begin", "on_train_batch_begin": "batch_begin",
    "on_batch_end": "batch_end", "on_train_batch_end": "batch_end",
    "on_epoch_begin": "epoch_begin", "on_epoch_end": "epoch_end",
    "on_train_begin": "train_begin", "on_train_end": "train_end",
    "on_test_begin": "", "on_test_end": "",
    "on_test_batch_begin": "", "on_test_batch_end": "",
    "on_predict_begin": "", "on_predict_end": "",
    "on_predict_batch_begin": "", "on_predict_batch_end": "",
}


_OF_STEP = ("on_batch_begin", "on_train_batch_begin", "on_batch_end", "on_train_batch_end")

_FIT = "keras fit"


class Fit(Loop):
    """The fit that runs in this thread."""

    callbacks = None  # its CallbackList; another fit inside one of them has another one
    batches = None  # what gives the training data
    made = 0  # iterators that it has made in this epoch
    got = 0  # batches that were seen before this epoch


fit = Fit()


def _begin_fit(arguments):
    fit.batches = fit.callbacks = None
    model = arguments[0] if arguments else None
    fit.begin("fit", model, model_name(model), lambda: model.count_params(),
              getattr(model, "_compile_config", None))


def _end_fit(arguments, result, failed):
    fit.batches = fit.callbacks = None
    fit.end(failed)


def made_batches(arguments, result, failed):
    """The first source of batches that is made inside fit is that of the training data."""
    if fit.is_open() and fit.batches is None and not failed:
        fit.batches = arguments[0]
        tell(lambda: of_adapter(_adapter()))


def _adapter():
    return getattr(fit.batches, "data_adapter", None) or getattr(fit.batches, "_adapter", None)


def _batch_size():
    size = getattr(_adapter(), "batch_size", None)
    return (size() if callable(size) else size) or 0


def _tell_plan(arguments):
    """on_train_begin: fit has told the callbacks what it is going to do."""
    if not fit.is_open() or fit.callbacks is not None:
        return
    fit.callbacks = arguments[0]
    tell_callbacks(fit.callbacks.callbacks, _OF_STEP)
    params = getattr(arguments[0], "params", None) or {}
    epochs, steps = params.get("epochs") or 0, params.get("steps") or 0
    try:
        batch = _batch_size()
    except Exception:
        batch = 0
    _core.plan(steps=epochs * steps, epochs=epochs, steps_per_epoch=steps, batch=batch)


def _begin_epoch(arguments):
    if fit.callbacks is arguments[0]:
        fit.made = 0
        fit.got = _core.hook_batches()
        fit.begin_epoch(arguments[1])


def _end_epoch(arguments):
    if fit.callbacks is arguments[0]:
        fit.end_epoch()


_wrappers = {}


def wrap(function, key, **fields):
    """The function with a hook around it; as it is if it has one."""
    if function is None or isinstance(function, _core.Hooked):
        return function
    if key not in _wrappers:
        _wrappers[key] = _core.hook_wrapper(_point(Hook("", **fields)))
    return _core.hook_wrap(_wrappers[key], function)


_seen = weakref.WeakSet()  # classes of callbacks


def _has_callbacks(arguments, result, failed):
    for callback in arguments[0].callbacks:
        for kind in type(callback).__mro__:
            if kind not in _seen and not _is_empty(kind):
                _seen.add(kind)
                _hook_class(kind)
        _hook_instance(callback)


def _is_empty(kind):
    """Whether it is the class of Keras that all derive from, or the one before that."""
    package = kind.__module__.partition(".")[0]
    return kind is object or kind.__name__ == "Callback" and package in ("keras", "tf_keras")


def _fields(name):
    # A call of the same hook inside, as by super(), is part of it, and so are those of another fit that an end
    # begins. A begin is in no end of the same fit.
    group = "keras " + name.rpartition("_")[0]
    return {"stage": "callback", "name": name, "scope": _SCOPES[name], "outermost": group}


def _hook_class(kind):
    """The methods that a class of callbacks has of its own. Only the class keeps what stands
    for them: it may be one that is made in a function, again and again."""
    for name in _SCOPES:
        method = kind.__dict__.get(name)
        if type(method) is FunctionType:
            setattr(kind, name, wrap(method, ("class", name), object="type", **_fields(name)))


def _hook_instance(callback):
    """Functions that a callback was given, as LambdaCallback is."""
    own = getattr(callback, "__dict__", {})
    of = type(callback).__name__
    for name in _SCOPES:
        if callable(own.get(name)):
            own[name] = wrap(own[name], (of, name), of=of, **_fields(name))


def rows(trainer, lists, model, logs):
    """The rows that are the same for both, of classes by these paths; `logs` are the places of one
    function."""
    saves = [Hook(model + name, "checkpoint", name, of="Model", outermost="checkpoint")
             for name in ("save", "save_weights", "load_weights")]
    return (
        Hook(trainer + "fit", "", "fit", outermost=_FIT, before=_begin_fit, after=_end_fit),
        Hook(trainer + "train_on_batch", "", "by hand", outermost=_FIT),  # it has numbers too
        Hook(trainer + "evaluate", "eval", "evaluate", outermost="keras evaluate"),
        Hook(trainer + "predict", "infer", "predict", outermost="keras predict"),
        Hook(lists + "set_model", "", "callbacks", after=_has_callbacks),
        Hook(lists + "on_train_begin", "", "begin", before=_tell_plan),
        Hook(lists + "on_epoch_begin", "", "epoch", before=_begin_epoch),
        Hook(lists + "on_epoch_end", "", "epoch", before=_end_epoch),
        # What Keras has brought to the host anyway. Of an evaluation it has the same names.
        *(Hook(place, "sync", "logs", "callable", of="keras", outermost="keras evaluate",
               numbers=_FIT) for place in logs),
        *saves,
    )
