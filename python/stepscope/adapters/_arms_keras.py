"""What `stepscope try` can change in a Keras fit. A step begins ahead of the callbacks of its batch, so
that those of its begin and of its end are in the same arm.

With TensorFlow a batch is got inside the compiled function, from an iterator that it is given: so
another iterator, over batches that were got before, stands in for it.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

from .._arms import Arm

_KEPT = 4  # batches that stand in for others


class _Input:
    def __init__(self, experiment, tensorflow):
        self.experiment, self.tensorflow = experiment, tensorflow
        self.asked = self.training = None  # epoch iterators: the last one; that of the fit
        self.source = None  # what gives its batches
        self.cached = None  # the same, from memory
        self.serves = False
        self.taker = self.taken = None

    def choose(self, epoch, iterator):
        """What a step gets its batch from."""
        self.asked = epoch
        if epoch is not self.training:
            return iterator
        self.source = iterator
        if not self.serves:
            return iterator
        # Keras has batches made ahead. They go on being made and taken, one for each step: or those of the
        # first steps afterwards would be free.
        if self.taken is None or self.taken.done():
            self.taken = self.taker.submit(next, iterator, None)
        return self.cached

    def begin_step(self):
        self.training = self.asked
        self.experiment.step()

    def stop(self):
        self.serves = False
        taken, self.taken = self.taken, None
        if taken is not None:
            taken.exception()  # has it been taken? The end of the data is for the step to see

    def start(self):
        self.serves = True

    def arms(self, value):
        data = self.tensorflow.data
        source = self.source
        if source is None or not hasattr(source, "element_spec") or not hasattr(source, "_iterator_resource"):
            return self.experiment.cannot("input")
        kept = None
        for batch in (next(source, None) for _ in range(_KEPT)):
            if batch is not None:
                one = data.Dataset.from_tensors(batch)
                kept = one if kept is None else kept.concatenate(one)
        if kept is None:
            return self.experiment.cannot("input")
        # Of the same form as those that it stands in for, or the function would be traced again.
        form = data.experimental.to_variant(kept.repeat())
        self.cached = iter(data.experimental.from_variant(form, source.element_spec))
        self.taker = ThreadPoolExecutor(1)
        return [Arm("input never waits", self.start, self.stop)]


def _wrap_epochs(kind, source):
    original = kind.__next__

    def __next__(self):
        begin, end, iterator = original(self)
        return begin, end, source.choose(self, iterator)

    kind.__next__ = __next__


def _wrap_lists(kind, begin_step):
    original = kind.on_train_batch_begin

    def on_train_batch_begin(self, *arguments, **named):
        begin_step()
        return original(self, *arguments, **named)

    kind.on_train_batch_begin = on_train_batch_begin


def install(experiment):
    lists = sys.modules.get("keras.src.callbacks.callback_list")
    trainer = sys.modules.get("keras.src.backend.tensorflow.trainer")
    if lists is None:
        return
    if hasattr(trainer, "TFEpochIterator"):
        source = _Input(experiment, sys.modules["tensorflow"])
        _wrap_epochs(trainer.TFEpochIterator, source)
        _wrap_lists(lists.CallbackList, source.begin_step)
        experiment.makers["input"] = source.arms
    else:
        _wrap_lists(lists.CallbackList, experiment.step)
