"""What adapters of trainers share: the loop that a trainer runs, with its epochs, and the methods of
classes that are anybody's, such as callbacks."""

import threading

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


_models = set()
_MODELS_MOST = 64  # a search makes thousands of them, each of another name


def model_name(model):
    """By which calls that train several models are told apart; "": there are too many."""
    name = str(getattr(model, "name", "")).replace(".", "_")  # of a name with dots the first part counts
    if len(_models) < _MODELS_MOST:
        _models.add(name)
    return name if name in _models else ""


class Loop(threading.local):
    """The trainer's loop in this thread. The trainer says where it and its epochs begin and end."""

    _loop = _epoch = None

    def is_open(self):
        return self._loop is not None

    def in_epoch(self):
        return self._epoch is not None

    def begin(self, name):
        self._loop = _core.loop(name)
        self._loop.__enter__()

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
