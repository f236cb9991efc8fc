"""Keras 3: fit with its epochs, train calls and callbacks; evaluate, predict, saves.

The functions that fit calls for each batch are made by the model, and callbacks are classes of the
user's. So some rows only tell this module of a call, and it wraps what has just been made.
"""

import sys
import threading

from .. import _core
from .._hooks import Hook, _choose, _point
from .tensorflow import CALL, applies, sees_data

_TRAINERS = {
    "tensorflow": "keras.src.backend.tensorflow.trainer:TensorFlowTrainer.",
    "torch": "keras.src.backend.torch.trainer:TorchTrainer.",
    "jax": "keras.src.backend.jax.trainer:JAXTrainer.",
}
_LISTS = "keras.src.callbacks.callback_list:CallbackList."
_MODEL = "keras.src.models.model:Model."
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


class _Fit(threading.local):
    """The fit that runs in this thread."""

    loop = None  # as a context manager
    epoch = None
    callbacks = None  # its CallbackList; another fit inside one of them has another one
    batches = None  # the EpochIterator of the training data
    made = 0  # iterators that it has made in this epoch


_fit = _Fit()
_OUT_OF_BATCHES = _core.span("GetNext", "data")  # as adapters/tensorflow.py calls it


def _begin_fit(arguments):
    _fit.batches = None
    _fit.loop = _core.loop("fit")
    _fit.loop.__enter__()


def _end_fit(arguments, result, failed):
    loop, _fit.loop = _fit.loop, None
    _close_epoch()
    _fit.batches = _fit.callbacks = None
    loop.__exit__(*((RuntimeError,) if failed else (None,)))


def _made_batches(arguments, result, failed):
    """The first EpochIterator that is made inside fit is that of the training data."""
    if _fit.loop is not None and _fit.batches is None and not failed:
        _fit.batches = arguments[0]


def _tell_plan(arguments):
    """on_train_begin: fit has told the callbacks what it is going to do."""
    if _fit.loop is None or _fit.callbacks is not None:
        return
    _fit.callbacks = arguments[0]
    params = arguments[0].params or {}
    epochs, steps = params.get("epochs") or 0, params.get("steps") or 0
    try:
        batch = _fit.batches.data_adapter.batch_size
    except Exception:
        batch = None
    _core.plan(steps=epochs * steps, epochs=epochs, steps_per_epoch=steps, batch=batch or 0)


def _begin_epoch(arguments):
    if _fit.callbacks is arguments[0]:
        _fit.made = 0
        _fit.epoch = _core.epoch(arguments[1])
        _fit.epoch.__enter__()


def _end_epoch(arguments):
    if _fit.callbacks is arguments[0]:
        _close_epoch()


def _close_epoch():
    epoch, _fit.epoch = _fit.epoch, None
    if epoch is not None:
        epoch.__exit__(None)


def _wants_iterator(arguments):
    """Keras makes an iterator when an epoch begins, and one more when its batches have run out: with
    that the last step is over, and what follows is set-up."""
    if arguments[0] is _fit.batches and _fit.epoch is not None:
        _fit.made += 1
        if _fit.made > 1 and sees_data():
            _OUT_OF_BATCHES.__enter__()
            _OUT_OF_BATCHES.__exit__(StopIteration)
        elif _fit.made > 1:  # no word about data at all is better than a wrong one
            _close_epoch()


def _count_logs(arguments, result, failed):
    """What Keras has brought to the host anyway."""
    if _fit.loop is not None and result:
        for name, value in result.items():
            if type(value) is float:
                _core.counter(name, value)


_wrappers = {}


def _wrap(function, key, **fields):
    """The function with a hook around it; as it is if it has one."""
    if function is None or isinstance(function, _core.Hooked):
        return function
    if key not in _wrappers:
        _wrappers[key] = _core.hook_wrapper(_point(Hook("", **fields)))
    return _core.hook_wrap(_wrappers[key], function)


def _made_train(arguments, result, failed):
    model = arguments[0]
    steps = getattr(model, "steps_per_execution", 1)
    count = {"count": "batches(%d)" % steps} if steps > 1 else {}
    model.train_function = _wrap(
        model.train_function, ("train", steps), stage="compute", name="train_function",
        role="train_call", flags=("train",), outermost=CALL, **count)


def _made_test(arguments, result, failed):
    model = arguments[0]
    model.test_function = _wrap(
        model.test_function, "test", stage="compute", name="test_function", role="eval_call",
        flags=("eval",), outermost=CALL)


def _made_predict(arguments, result, failed):
    model = arguments[0]
    model.predict_function = _wrap(
        model.predict_function, "predict", stage="infer", name="predict_function",
        outermost=CALL)


_seen = set()  # classes of callbacks


def _has_callbacks(arguments, result, failed):
    for callback in arguments[0].callbacks:
        for kind in type(callback).__mro__:
            if kind not in _seen and kind is not object:
                _seen.add(kind)
                _hook_class(kind)
        _hook_instance(callback)


def _row(name, **fields):
    # A call of the same hook inside, as by super(), is part of it.
    return Hook("", stage="callback", name=name, scope=_SCOPES[name], outermost="keras " + name,
                **fields)


def _hook_class(kind):
    """The methods that a class of callbacks has of its own; the empty ones of Keras are left alone."""
    for name in _SCOPES:
        method = kind.__dict__.get(name)
        if callable(method) and not getattr(method, "_is_default", False):
            _core.hook_lay(_choose(method, name, False), method, kind, name,
                           _point(_row(name, object="type")))


def _hook_instance(callback):
    """Functions that a callback was given, as LambdaCallback is."""
    own = getattr(callback, "__dict__", {})
    of = type(callback).__name__
    for name in _SCOPES:
        if callable(own.get(name)) and not isinstance(own[name], _core.Hooked):
            row = _row(name, of=of)
            own[name] = _wrap(own[name], (of, name), **{
                field: getattr(row, field) for field in ("stage", "name", "scope", "outermost", "of")})


def _rows_of_trainer(trainer):
    return (
        Hook(trainer + "fit", "", "fit", outermost="keras fit", before=_begin_fit, after=_end_fit),
        Hook(trainer + "evaluate", "eval", "evaluate", outermost="keras evaluate"),
        Hook(trainer + "predict", "infer", "predict", outermost="keras predict"),
        Hook(trainer + "make_train_function", "", "make", after=_made_train),
        Hook(trainer + "make_test_function", "", "make", after=_made_test),
        Hook(trainer + "make_predict_function", "", "make", after=_made_predict),
    )


def _rows_of_data(backend):
    """With TensorFlow the batches are got inside the train function, else by next()."""
    epochs = "keras.src.trainers.epoch_iterator:EpochIterator."
    if backend != "tensorflow":
        return (
            Hook(epochs + "__init__", "setup", "make dataset", of="keras", after=_made_batches),
            Hook(epochs + "__next__", "data", "next", of="keras", outermost="keras next"),
        )
    epochs = "keras.src.backend.tensorflow.trainer:TFEpochIterator."
    return (
        Hook(epochs + "__init__", "setup", "make dataset", of="keras", after=_made_batches),
        Hook(epochs + "_get_iterator", "", "make iterator", before=_wants_iterator),
    )


def _rows_of_optimizer(backend):
    """For loops without fit. With JAX an update is a part of a compiled function."""
    optimizer = "keras.src.optimizers.base_optimizer:BaseOptimizer."
    if backend == "jax":
        return ()
    return (
        Hook(optimizer + "apply", "optimizer", "apply", role="update", object="instance",
             outermost=CALL),
        Hook(optimizer + "_backend_apply_gradients", "", "applies", before=applies),
    )


def _rows(backend):
    return _rows_of_trainer(_TRAINERS[backend]) + _rows_of_data(backend) + (
        _rows_of_optimizer(backend)) + (
        Hook(_LISTS + "set_model", "", "callbacks", after=_has_callbacks),
        Hook(_LISTS + "on_train_begin", "", "begin", before=_tell_plan),
        Hook(_LISTS + "on_epoch_begin", "", "epoch", before=_begin_epoch),
        Hook(_LISTS + "on_epoch_end", "", "epoch", before=_end_epoch),
        Hook("keras.src.utils.python_utils:pythonify_logs", "sync", "logs", of="keras",
             outermost="keras logs", after=_count_logs),
        Hook(_MODEL + "save", "checkpoint", "save", of="Model", outermost="checkpoint"),
        Hook(_MODEL + "save_weights", "checkpoint", "save_weights", of="Model",
             outermost="checkpoint"),
        Hook(_MODEL + "load_weights", "checkpoint", "load_weights", of="Model",
             outermost="checkpoint"),
    )


def _backend():
    config = sys.modules.get("keras.src.backend.config")
    return config.backend() if config else "tensorflow"


HOOKS = _rows(_backend()) if _backend() in _TRAINERS else ()
