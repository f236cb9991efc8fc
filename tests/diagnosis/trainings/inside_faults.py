"""Faults of known size inside a training: they take the time that they are asked to take, and what
they really took is kept, step by step.

    input       the wait for each batch          callback    a callback after each batch
    user        code in the body of the loop     spread      the same, in many lines
    transfer    a stage that the script names    sync        another one
    setup       an iterator made for each batch  restart     one that is made for each epoch
    eval        evaluation every few steps       checkpoint  a save every few steps
    gc          a collection in each step        retrace     a function that is retraced
    drift       a forward that takes longer and longer, at the end by the size
    modes       a forward that takes longer in two of five steps
    straggler   one of two ranks works longer    comm        MB that ranks add up in each step
    crowd       N threads per core for the mathematics
    pages       a batch has N pages of a file that is not in memory
    leak        a forward keeps memory, in the end N % of what there was
    compile     the first call of a function takes N seconds
    tiny        batches of N samples       few         so few steps
    tail        three of a hundred predictions take so much longer

Sizes are milliseconds a step where nothing else is said; what comes every EVERY steps takes that many
times as long."""

import contextlib
import gc
import mmap
import os
import random
import statistics
import sys
import tempfile
import time

from busy_machine import waited_ns

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "frameworks"))

from stopwatch import Stopwatch  # noqa: E402 (tests/frameworks/stopwatch.py)

EVERY = 20
CUTS = ("eval", "checkpoint", "restart")  # no part of a step
# Steps without them say nothing: they are no part of each, or steps are something else then.
NOT_PER_STEP = {"tiny", "few", "tail", "compile"}


class Faults:
    def __init__(self, sizes, like=()):
        """Without faults it may be `like` one with some, in all else."""
        self.sizes = sizes
        self.like = set(sizes) | set(like)
        self.watch = Stopwatch()
        self.shares = {}  # of what is no time of its own in each step
        self.count = 0
        self.kept = []
        self.waiting = "pages" if "pages" in sizes else "input"
        self._coin = random.Random(5)
        self._ballast = self._make_ballast() if "gc" in sizes else None
        self._waited_ns = waited_ns()

    def __contains__(self, name):
        return name in self.sizes

    def sleep(self, name, times=1):
        if name in self.sizes:
            time.sleep(times * self.sizes[name] / 1e3)

    def next_step(self):
        if "crowd" in self:
            self._note_waiting()
        self.watch.next_step()
        self.count += 1

    def _note_waiting(self):
        """What the step that ends was ready for and had no core, whatever it did."""
        now_ns = waited_ns()
        if self.watch.steps:
            self.watch.steps[-1]["crowd"] = (now_ns - self._waited_ns) / 1e9
        self._waited_ns = now_ns

    def at(self, name):
        """Times the place of a fault, in the step that goes on."""
        return self.watch.stage(name)

    def each(self, batches):
        """The batches of a loader; a step begins with the wait for one."""
        batches = iter(batches)
        while True:
            self.next_step()
            try:
                with self.at(self.waiting):
                    batch = next(batches)
            except StopIteration:
                self.watch.drop_step()
                self.count -= 1
                return
            yield batch

    def is_due(self):
        return self.count % EVERY == 0

    def slow_forward(self, steps):
        """Inside a forward: drift, modes and leak."""
        with self.at("drift") if "drift" in self else contextlib.nullcontext():
            self.sleep("drift", self.count / steps)
        if "modes" in self and self._coin.random() < 0.4:
            with self.at("modes"):
                self.sleep("modes")
        if "leak" in self:
            if not self.kept:
                self._leak_bytes = int(self.sizes["leak"] / 100 * memory_available() / steps)
            self.kept.append(b"x" * self._leak_bytes)

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


def memory_available():
    """Bytes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    return 1024 * int(lines["MemAvailable"].split()[0])


def note_fixed_part(faults, train_with, small, small_count, large, large_count):
    """What a step takes for any number of samples, if all else is in proportion to it: by N steps of
    train_with(size, steps) with batches of two sizes. Those with small ones are kept."""
    def steps_with(size, count):
        train_with(size, count)
        faults.watch.end()
        done, faults.watch.steps = faults.watch.steps, []
        return done

    small_steps, large_steps = steps_with(small, small_count), steps_with(large, large_count)
    small_s, large_s = (statistics.median(step["other"] for step in steps)
                        for steps in (small_steps, large_steps))
    each_s = (large_s - small_s) / (large - small)
    faults.shares["tiny"] = 1 - small * each_s / small_s
    faults.watch.steps = small_steps


class PagedFile:
    """A file that is mapped, and not in memory: the first look at each of its pages is a read."""

    def __init__(self, pages):
        with tempfile.TemporaryFile(dir=os.getcwd()) as file:
            for _ in range(pages):
                file.write(os.urandom(mmap.PAGESIZE))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            self.memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.memory.madvise(mmap.MADV_RANDOM)  # a page at a time

    def look(self, first, count):
        return sum(self.memory[page * mmap.PAGESIZE] for page in range(first, first + count))


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
