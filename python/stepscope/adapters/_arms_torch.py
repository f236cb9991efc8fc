"""What `stepscope try` can change in a loop of PyTorch, or of a trainer on top of it: what gives batches,
and threads.

A step begins where the training asks for its first batch after an update, or at the update where it
asks for none.
"""

import copy
import sys
from collections import deque

from .._arms import Arm

_RING = 8  # real batches that stand in for others
_LONG_AGO = 64  # updates without a batch of a loader: the loop does not use it


class _NotReady(Exception):
    pass


def _is_named_tuple(batch):
    return isinstance(batch, tuple) and hasattr(batch, "_fields")


class _Batches:
    """Real batches of a loader, the last ones, each as often as one likes."""

    def __init__(self, tensor):
        self.ring = deque(maxlen=_RING)
        self.tensor = tensor
        self.clones = False  # the script writes into its batches

    def _copy(self, batch, leaf):
        kind = type(batch)
        if isinstance(batch, self.tensor):
            return leaf(batch)
        if kind is dict:
            return {key: self._copy(value, leaf) for key, value in batch.items()}
        if kind in (list, tuple):
            return kind([self._copy(value, leaf) for value in batch])
        if _is_named_tuple(batch):
            return kind(*[self._copy(value, leaf) for value in batch])
        if hasattr(batch, "keys"):  # such as one that a tokenizer gives
            other = copy.copy(batch)
            for key in list(batch.keys()):
                other[key] = self._copy(batch[key], leaf)
            return other
        return batch

    def keep(self, batch):
        leaves = []

        def leaf(tensor):
            tensor = tensor.clone() if self.clones else tensor
            leaves.append((tensor, tensor._version))
            return tensor

        self.ring.append((self._copy(batch, leaf), leaves))

    def give(self):
        """A batch in containers of its own; None: there is none."""
        while self.ring:
            batch, leaves = self.ring[0]
            if all(tensor._version == version for tensor, version in leaves):
                self.ring.rotate(-1)
                return self._copy(batch, self.tensor.clone if self.clones else lambda tensor: tensor)
            self.ring.popleft()
            self.clones = True
        return None


class _Input:
    """What DataLoaders give, in place of their `_next_data`."""

    def __init__(self, experiment, torch):
        self.experiment, self.torch = experiment, torch
        self.datasets = {}  # by id: (dataset, its batches), of those that are trained with
        self.last = None  # the dataset that gave the last batch
        self.is_updated = True
        self.updates = 0  # since a batch
        self.serves = False

    def updated(self, *unused):
        if self.last is not None and id(self.last) not in self.datasets:
            self.datasets[id(self.last)] = self.last, _Batches(self.torch.Tensor)
        self.last = None
        self.is_updated = True
        self.updates += 1
        if self.updates > _LONG_AGO or not self.datasets:
            self.experiment.step()

    def next_data(self, iterator, original):
        dataset = iterator._dataset
        known = self.datasets.get(id(dataset))
        if not self.torch.is_grad_enabled():  # an evaluation
            return original(iterator)
        self.last = dataset
        if known is None:
            return original(iterator)
        if self.is_updated:
            self.is_updated, self.updates = False, 0
            if iterator._num_workers > 0:
                self.experiment.has_workers = True
            self.experiment.step()
        return self._serve(iterator, original, known[1])

    def _serve(self, iterator, original, batches):
        length = _length(iterator)
        if length is not None and iterator._num_yielded >= length:
            raise StopIteration  # some were served that the loader still has
        if not self.serves:
            batch = original(iterator)
            if self.experiment.settling and iterator._num_yielded + 1 != length:
                batches.keep(batch)
            return batch
        if iterator._num_workers > 0:
            return self._serve_if_not_ready(iterator, original, batches)
        batch = batches.give()
        return original(iterator) if batch is None else batch

    def _serve_if_not_ready(self, iterator, original, batches):
        """A batch that workers have made is taken, so that their queue is as full as it would be."""

        def take():
            is_there, data = iterator._try_get_data(timeout=0)
            if not is_there:
                raise _NotReady
            return data

        iterator._get_data = take
        try:
            return original(iterator)
        except _NotReady:
            batch = batches.give()
        finally:
            del iterator._get_data
        return original(iterator) if batch is None else batch

    def switch(self, serves):
        self.serves = serves

    def arms(self, value):
        if not any(batches.ring for _, batches in self.datasets.values()):
            return self.experiment.cannot("input")
        label = "input never waits" if self.experiment.has_workers else "no input work at all"
        return [Arm(label, lambda: self.switch(True), lambda: self.switch(False))]


def _length(iterator):
    """How many batches an epoch has; None: not known."""
    try:
        return len(iterator._index_sampler)
    except (TypeError, NotImplementedError):
        return None


def _wrap(kind, source):
    original = kind._next_data

    def _next_data(self):
        return source.next_data(self, original)

    kind._next_data = _next_data


def _threads(torch, experiment):
    def arms(value):
        before, wanted = torch.get_num_threads(), int(value)
        if wanted == before:
            experiment.say("threads: it has %d already" % before)
            return ()
        label = "%d %s instead of %d" % (wanted, "thread" if wanted == 1 else "threads", before)
        return [Arm(label, lambda: torch.set_num_threads(wanted),
                    lambda: torch.set_num_threads(before))]
    return arms


def install(experiment):
    from torch.optim.optimizer import register_optimizer_step_post_hook

    torch, loader = sys.modules["torch"], sys.modules["torch.utils.data.dataloader"]
    source = _Input(experiment, torch)
    _wrap(loader._SingleProcessDataLoaderIter, source)
    _wrap(loader._MultiProcessingDataLoaderIter, source)
    register_optimizer_step_post_hook(source.updated)
    experiment.makers["input"] = source.arms
    experiment.makers["threads"] = _threads(torch, experiment)
