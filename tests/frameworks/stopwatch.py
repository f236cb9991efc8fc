"""For scripts that time themselves: seconds of each step by stage, or of each call by name, to compare a
report with."""

import contextlib
from time import perf_counter, sleep

calls = {}  # seconds of each call, by the name that the report should have for it


@contextlib.contextmanager
def timed(name, *delays_ms):
    """A call that is made longer by so much; by each of several delays in turn."""
    start = perf_counter()
    times = calls.setdefault(name, [])
    if delays_ms:
        sleep(delays_ms[len(times) % len(delays_ms)] / 1e3)
    yield
    times.append(perf_counter() - start)


class Timer:
    """Adds the time of a `with` to what times() gives. As little as can be lies between the clock and
    what is timed: caches are cold after a wait."""

    def __init__(self, name, times):
        self.name = name
        self.times = times

    def __enter__(self):
        self.start = perf_counter()

    def __exit__(self, *exception):
        end = perf_counter()
        times = self.times()
        times[self.name] = times.get(self.name, 0) + end - self.start


class Stopwatch:
    """steps: a dictionary of seconds by stage for each step; sums: what is not part of steps."""

    def __init__(self):
        self.steps = []
        self.sums = {}
        self._timers = {}

    def next_step(self):
        """A step begins here, and the one before ends: what no stage of it had is `other`."""
        now = perf_counter()
        self._end_step(now)
        self.steps.append({"start": now})

    def end(self):
        self._end_step(perf_counter())

    def _end_step(self, now):
        if self.steps and "start" in self.steps[-1]:
            step = self.steps[-1]
            step["other"] = now - step.pop("start") - sum(step.values())

    def drop_step(self):
        """The one that has begun is none: there was no batch."""
        self.steps.pop()

    def stage(self, name):
        if name not in self._timers:
            self._timers[name] = Timer(name, lambda: self.steps[-1])
        return self._timers[name]

    def sum(self, name):
        return Timer(name, lambda: self.sums)
