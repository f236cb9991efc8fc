"""Below `stepscope try`: the training runs by turns as it is and with changes, each for a few steps.

An adapter says where a step begins (Experiment.step) and what can be changed. The command
that waits outside says which changes are tried, and when it is enough, in a page of memory that both
have (struct control_page of src/experiment/in_process.c). The training is thrown away, so nothing here need restore more
than the next steps notice.
"""

import mmap
import os
import random
import struct
import sys
import threading
import time

from . import _core

_OBSERVE, _BEGIN, _STOP = range(3)
_COMMAND, _PROCESS, _STATE, _DROPPED, _WORDS, _PAGE = 0, 4, 8, 12, 64, 4096  # offsets in the page
_NOT_YET, _RUNS, _NOTHING = range(3)  # states

_WARM_STEPS = 20  # before a change
_SETTLE = 3  # steps after each switch that do not count: caches are cold
_SLOW_NS = 50_000_000  # steps so long do not notice that
_BLOCK_NS = 5_000_000
_BLOCK = 10  # steps: a callback that works every tenth time is in each block
_SLOW_BLOCK_NS = 500_000_000
_SLOW_BLOCK = 3
_MUCH_SLOWER = 5  # an arm whose steps take so much longer has short blocks
_ARMS_MOST = 16

# What a training needs to go on as it would: these are never muted.
_NEEDED = frozenset((
    "ModelCheckpoint", "BackupAndRestore", "EarlyStopping", "ReduceLROnPlateau", "History",
    "LearningRateScheduler", "SwapEMAWeights", "Checkpoint", "StochasticWeightAveraging",
    "WeightAveraging", "GradientAccumulationScheduler", "DefaultFlowCallback", "EarlyStoppingCallback",
    "Timer", "BatchSizeFinder", "LearningRateFinder"))


class Arm:
    """A change: what switches it on and off."""

    def __init__(self, label, on, off):
        self.label, self.on, self.off = label, on, off


def _nothing():
    pass


def _quiet(*arguments, **named):
    """Stands for a method of a callback."""


class Muted:
    """The methods of a callback that a step calls, while they do nothing."""

    def __init__(self, callback, names):
        self.callback, self.names, self.own = callback, names, {}

    def on(self):
        self.own = {name: value for name, value in vars(self.callback).items() if name in self.names}
        for name in self.names:
            setattr(self.callback, name, _quiet)

    def off(self):
        for name in self.names:
            delattr(self.callback, name)
        for name, value in self.own.items():
            setattr(self.callback, name, value)


class Experiment:
    """The one of this process."""

    def __init__(self, page):
        self.page = page
        self.makers = {"callbacks": self._mute_callbacks}  # word: makes arms, given what follows "="
        self.callbacks = []  # (callback, names)
        self.thread = None
        self.has_workers = False  # then others than this process work for a step
        self.settling = True  # whether steps do not count just now
        self._left = 1
        self._next = self._observe
        self._times = []
        self._random = random.Random()
        self._arms = ()
        self._order = []
        self._round = 0
        self._present = None
        self._settle = self._block = self._usual_ns = self._since = 0

    def step(self):
        """A step of the training begins, in its thread."""
        if self.page[_COMMAND] == _STOP:
            self._end()
        self._left -= 1
        if self._left <= 0 and threading.get_ident() == (self.thread or threading.get_ident()):
            try:
                self._next()
            except Exception as error:  # ours: the script goes on as it is
                self.say("%s: %s" % (type(error).__name__, error))
                self._left = sys.maxsize

    def say(self, text):
        """A note, beside the result."""
        try:
            with open(os.environ["STEPSCOPE_TRY"] + ".notes", "a", encoding="utf-8") as file:
                file.write(" ".join(text.split()) + "\n")
        except OSError:
            pass

    def found_callbacks(self, callbacks, names):
        known = [callback for callback, _ in self.callbacks]
        for callback in callbacks:
            if not any(callback is one for one in known):
                self.callbacks.append((callback, names))

    def _end(self):
        """All that a user's `except` and `finally` would do is left undone."""
        _core.stop()
        os._exit(0)

    def _observe(self):
        self.thread = threading.get_ident()
        self._left = 1
        self._times.append(time.perf_counter_ns())
        if len(self._times) > _WARM_STEPS and self.page[_COMMAND] == _BEGIN:
            self._begin()
        del self._times[:-_WARM_STEPS - 1]

    def _begin(self):
        own = struct.pack("I", os.getpid())
        if self.page[_PROCESS:_PROCESS + 4] not in (own, bytes(4)):
            self._left = sys.maxsize  # another process has begun
            return
        self.page[_PROCESS:_PROCESS + 4] = own
        arms = self._make_arms()[:_ARMS_MOST]
        if not arms:
            self.page[_STATE] = _NOTHING
            self._left = sys.maxsize
            return
        steps = sorted(b - a for a, b in zip(self._times, self._times[1:]))
        self._usual_ns = usual_ns = max(steps[len(steps) // 2], 1)
        if usual_ns < _SLOW_NS:
            self._settle, self._block = _SETTLE, max(_BLOCK, -(-_BLOCK_NS // usual_ns))
        else:
            self._settle, self._block = 1, max(_SLOW_BLOCK, _SLOW_BLOCK_NS // usual_ns)
        self._arms = [Arm("as it is", _nothing, _nothing), *arms]
        self.page[_STATE] = _RUNS
        self._switch()

    def _make_arms(self):
        words = self.page[_WORDS:_PAGE].partition(b"\0")[0].decode()
        arms = []
        for word in words.split(","):
            what, _, value = word.partition("=")
            try:
                arms += self.makers.get(what, lambda value: self.cannot(what))(value)
            except Exception as error:
                self.say("%s: %s: %s" % (what, type(error).__name__, error))
        return arms

    def cannot(self, what):
        """Says why there are no arms."""
        self.say({
            "input": "input: the batches do not come from anything that can stand in for its data, "
                     "such as a DataLoader of PyTorch or a Keras fit",
            "threads": "threads: only PyTorch can change them while it runs; "
                       "--what threads=N alone tries them in separate runs",
        }.get(what, "%s: not possible in this training" % what))
        return ()

    def _mute_callbacks(self, value):
        arms, labels = [], set()
        for callback, names in self.callbacks:
            kinds = type(callback).__mro__
            own = [name for name in names if _has_own(callback, name)]
            kind = type(callback).__name__
            if own and any(one.__name__ in _NEEDED for one in kinds):
                self.say("callbacks: %s decides how the training goes on, so it is not muted" % kind)
            elif own:
                muted = Muted(callback, own)
                label = "without %s" % kind
                number = 1
                while label in labels:
                    number += 1
                    label = "without %s#%d" % (kind, number)
                labels.add(label)
                arms.append(Arm(label, muted.on, muted.off))
        if not arms:
            self.say("callbacks: there is none that could be muted in each step")
        return arms

    def _switch(self):
        """The next block begins with some steps that do not count."""
        if not self._order:
            self._order = self._new_round()
        arm = self._order.pop()
        if arm is not self._present:
            if self._present is not None:
                self._present.off()
            arm.on()
        self._present = arm
        self.settling = True
        self._left, self._next, self._since = self._settle, self._count, time.perf_counter_ns()
        _core.arm(arm.label, self._round, True, not self.has_workers)

    def _new_round(self):
        """Each once and the training as it is twice, the last one first; in the order of the table at
        first, then by chance."""
        arms = [arm for i, arm in enumerate(self._arms) if i == 0 or not self._is_dropped(i)]
        if self._present is None:
            return [arms[0], *reversed(arms)]
        self._round += 1
        arms.append(arms[0])
        self._random.shuffle(arms)
        return arms

    def _is_dropped(self, number):
        return struct.unpack_from("I", self.page, _DROPPED)[0] >> number & 1

    def _count(self):
        self.settling = False
        self._next = self._switch
        took_ns = (time.perf_counter_ns() - self._since) / self._settle
        is_slow = took_ns > _SLOW_NS and took_ns > _MUCH_SLOWER * self._usual_ns
        self._left = _SLOW_BLOCK if is_slow else self._block
        _core.arm(self._present.label, self._round, False, not self.has_workers)


def _has_own(callback, name):
    """Whether it does something there: its method is not that of the class that all derive from."""
    if name in vars(callback):
        return True
    for kind in type(callback).__mro__:
        if name in vars(kind):
            return kind.__name__ not in ("Callback", "TrainerCallback")
    return False


_ADAPTERS = {"torch": "_arms_torch", "keras": "_arms_keras"}
_experiment = None


def _start():
    global _experiment
    from .adapters import _trainer

    with open(os.environ["STEPSCOPE_TRY"], "r+b") as file:
        _experiment = Experiment(mmap.mmap(file.fileno(), _PAGE))
    _trainer.found_callbacks = _experiment.found_callbacks


def watch(framework):
    """Called when a framework has been imported and hooked."""
    from importlib import import_module

    if _experiment is None:
        _start()
    if framework in _ADAPTERS:
        import_module(__package__ + ".adapters." + _ADAPTERS[framework]).install(_experiment)
