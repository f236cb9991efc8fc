"""What adapters of trainers share: the loop that a trainer runs, with its epochs, and the methods of
classes that are anybody's, such as callbacks."""

import sys
import threading
import weakref

from .. import _core
from .._hooks import Hook, _choose, _point

# Groups of `outermost` that trainers share, of which none runs another: there are 63 groups for all
# (python/core/hook_point.c). What a trainer has PyTorch clip is one call, too.
FIT = "fit"
EVALUATION = "evaluation"
CALLBACK = "callback"
LOG = "log"
CLIP = "clip"
SCHEDULER = "scheduler"


found_callbacks = None  # called with the callbacks of a training, and which of their methods a step calls


def tell_callbacks(callbacks, names):
    """Those of a training that begins, for an experiment."""
    if found_callbacks is not None:
        found_callbacks(callbacks, names)


_models = set()
_MODELS_MOST = 64  # a search makes thousands of them, each of another name


def model_name(model):
    """By which calls that train several models are separated; "": there are too many."""
    name = str(getattr(model, "name", "")).replace(".", "_")  # of a name with dots the first part counts
    if len(_models) < _MODELS_MOST:
        _models.add(name)
    return name if name in _models else ""


# Of these no line is the script's that trains.
_LIBRARIES = frozenset(("stepscope", "keras", "tf_keras", "tensorflow", "torch", "lightning", "contextlib",
                        "pytorch_lightning", "transformers", "accelerate", "functools"))
_TRAININGS_MOST = 1000  # of one name
_LINES_MOST = 32
_counts = {}  # how many trainings of a name


def _place():
    """The lines of the script from which the trainer is called: a helper may train all sorts of models."""
    frame, lines = sys._getframe(1), []
    while frame is not None and len(lines) < _LINES_MOST:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _LIBRARIES:
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def size_of(module):
    """How many parameters a model of PyTorch has."""
    return sum(parameter.numel() for parameter in module.parameters())


def _weakly(thing):
    return (lambda: None) if thing is None else weakref.ref(thing)


class Loop(threading.local):
    """The trainer's loop in this thread. The trainer says where it and its epochs begin and end."""

    _loop = _epoch = None
    # The model, and how it was compiled, weakly; which are like it; what that training is called.
    _last = _weakly(None), _weakly(None), None, ""

    def is_open(self):
        return self._loop is not None

    def in_epoch(self):
        return self._epoch is not None

    def begin(self, name, model=None, of="", size=None, compiled=None):
        """`of` is what the model is called, size() how many parameters it has, `compiled` an object that
        is another one each time the model is compiled for training."""
        self._loop = _core.loop(name, self._training_of(model, of, size, compiled) if of else "")
        self._loop.__enter__()

    def _training_of(self, model, of, size, compiled):
        """Of the model that was trained last, or of one like it by the same line of the script, as in
        each of several folds, it is the same training. Not of one that was compiled again, as to train
        more of its layers, or with another optimizer."""
        try:
            known, last_compiled, kind, called = self._last
            is_known = known() is model
            is_same = is_known and last_compiled() is compiled
            try:
                like = _place(), type(model), size()
            except Exception:  # it has none yet
                like = None
            if not is_same and (is_known or like is None or like != kind):
                _counts[of] = number = _counts.get(of, 0) + 1
                called = of if number == 1 else "%s#%d" % (of, number) if number < _TRAININGS_MOST else ""
            self._last = weakref.ref(model), _weakly(compiled), like, called
            return called
        except Exception:  # a user's model
            return ""

    def end(self, failed):
        loop, self._loop = self._loop, None
        if loop is not None:
            self.end_epoch()
            loop.__exit__(RuntimeError if failed else None)

    def begin_epoch(self, number):
        self.end_epoch()
        if self._loop is not None:
            self._epoch = _core.epoch(number)
            self._epoch.__enter__()

    def end_epoch(self):
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            epoch.__exit__(None)


_seen = set()  # (class, method)


def hook_methods(of, base, row_of, names, technique=""):
    """Hooks the methods of an object's class, where they are not those of `base`, which does nothing
    in them. row_of(name) says what to record; technique "" is the one that fits."""
    for kind in type(of).__mro__:
        if issubclass(base, kind):
            continue
        for name in names:
            if callable(kind.__dict__.get(name)):
                hook_method(kind, name, row_of(name), technique)


def hook_method(kind, name, row, technique=""):
    """Hooks a method that a class has itself, once."""
    if (kind, name) in _seen:
        return
    _seen.add((kind, name))
    method = kind.__dict__[name]
    reason = _core.hook_lay(technique or _choose(method, name, row.keep), method, kind, name,
                            _point(row))
    _core.hook_note("%s:%s.%s" % (kind.__module__, kind.__qualname__, name), reason)


def method_row(name, stage="callback", **fields):
    """A method that is called by the class of its object."""
    return Hook("", stage, name, object="type", **fields)
