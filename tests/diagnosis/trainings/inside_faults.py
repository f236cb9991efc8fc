"""Faults of known size inside of a training: they take the time that they are asked to take, and what
they really took is kept, step by step.

    input       the wait for each batch          callback    a callback after each batch
    user        code in the body of the loop     gc          a collection of garbage in each step
    setup       an iterator made for each batch  retrace     a function that is traced anew
    eval        evaluation every few steps       checkpoint  a save every few steps
    drift       a forward that takes longer and longer, at the end by so much
    modes       a forward that takes longer in two of five steps
    straggler   one of two ranks works longer

Sizes are milliseconds a step; what comes every EVERY steps takes so many times as long."""

import contextlib
import gc
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "frameworks"))

from stopwatch import Stopwatch  # noqa: E402 (tests/frameworks/stopwatch.py)

EVERY = 20
CUTS = ("eval", "checkpoint")  # no part of a step


class Faults:
    def __init__(self, sizes, like=()):
        """Without faults it may be `like` one with some, in all else."""
        self.sizes = sizes
        self.like = set(sizes) | set(like)
        self.watch = Stopwatch()
        self.count = 0
        self._coin = random.Random(5)
        self._ballast = self._make_ballast() if "gc" in sizes else None

    def __contains__(self, name):
        return name in self.sizes

    def sleep(self, name, times=1):
        if name in self.sizes:
            time.sleep(times * self.sizes[name] / 1e3)

    def next_step(self):
        self.watch.next_step()
        self.count += 1

    def at(self, name):
        """Times the place of a fault, in the step that goes on."""
        return self.watch.stage(name)

    def each(self, batches):
        """The batches of a loader; a step begins with the wait for one."""
        batches = iter(batches)
        while True:
            self.next_step()
            try:
                with self.at("input"):
                    batch = next(batches)
            except StopIteration:
                self.watch.drop_step()
                self.count -= 1
                return
            yield batch

    def is_due(self):
        return self.count % EVERY == 0

    def slow_forward(self, steps):
        """Inside of a forward: drift and modes."""
        with self.at("drift") if "drift" in self else contextlib.nullcontext():
            self.sleep("drift", self.count / steps)
        if "modes" in self and self._coin.random() < 0.4:
            with self.at("modes"):
                self.sleep("modes")

    def _make_ballast(self):
        """Objects that a collection has to look at for as long as it should take."""
        gc.collect()
        gc.freeze()  # what the framework has does not count
        probe = [[i] for i in range(20000)]
        gc.collect()
        start = time.perf_counter()
        gc.collect()
        each = (time.perf_counter() - start) / len(probe)
        return probe + [[i] for i in range(int(self.sizes["gc"] / 1e3 / each))]

    def collect(self):
        if "gc" in self:
            with self.at("gc"):
                gc.collect()


class SlowFile:
    """A file on a slow disk: a save to it takes as long as the fault says."""

    def __init__(self, faults):
        self.faults = faults
        self.late = True

    def write(self, data):
        if self.late:
            self.faults.sleep("checkpoint", EVERY)
        self.late = False
        return len(data)

    def flush(self):
        pass
