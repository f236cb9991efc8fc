"""Neighbouring steps in one process, one of each pair recorded and one not.

Hooks stay in place and only hand on in the step that is not recorded: what that costs is measured by
bench_hooks.py. What counts is the median of the ratios within pairs, with 95 % interval from order
statistics. Pairs of which neither step is recorded run in between: their ratio is 1 but for the noise.
On a busy machine the ratio of CPU times says more than that of wall times; no call of ours waits."""

import os
import random
import time

PAIRS = int(os.environ.get("BENCH_PAIRS", "1000"))
ONLY = [name for name in os.environ.get("BENCH_ONLY", "").split(",") if name]
TARGET = 1.005
LENGTHS_MS = (1, 3, 10)
SETTLING = 1  # steps after a change that do not count
NEITHER_EVERY = 4  # pairs: so often one follows of which neither step is recorded
CLOCKS = ("wall", "cpu")


def interval(ratios):
    """Median, low, high; asks nothing of the distribution."""
    ratios = sorted(ratios)
    count = len(ratios)
    reach = 0.98 * count ** 0.5
    low, high = int(count / 2 - reach), int(count / 2 + reach + 1)
    return ratios[count // 2], ratios[max(low, 0)], ratios[min(high, count - 1)]


WARM, TRIED = 60, 60  # steps of a size: those that take longer than later ones, those that count


def length_ms(train, rows):
    """Three quarters of the steps take that long or longer."""
    times = []

    def tick():
        times.append(time.perf_counter_ns())
        return len(times) > WARM + TRIED

    train(rows, tick)
    return sorted(b - a for a, b in zip(times[WARM:], times[WARM + 1:]))[TRIED // 4] / 1e6


def find_rows(train, wanted_ms, rows=32):
    """How many rows a batch needs for steps that long. Wider layers would do it too, but their weights come
    from memory that other jobs of the host use as well, and steps differ by 5 % then."""
    while length_ms(train, rows) < wanted_ms and rows < 100_000:
        rows = int(rows * 1.25)
    return rows


def measure_steps(core, label, train, wanted_ms, cpu=time.thread_time_ns):
    """train(rows of a batch, tick) calls tick() at the start of each step, until that says that it is enough.
    Some trainers take longer than the shortest of steps for themselves alone."""
    if ONLY and label not in ONLY:
        return
    pairs = StepPairs(core, PAIRS if wanted_ms < 5 else PAIRS // 4, cpu)  # long steps differ less
    train(find_rows(train, wanted_ms), pairs.tick)
    pairs.print(label, TARGET)


def measure_lengths(core, name, train, cpu=time.thread_time_ns):
    for wanted_ms in LENGTHS_MS:
        measure_steps(core, "%s_%dms" % (name, wanted_ms), train, wanted_ms, cpu)


class StepPairs:
    """A loop calls tick() at the start of each step, until it says that this is enough. `cpu` reads the CPU time
    of those threads that do the work."""

    def __init__(self, core, pairs, cpu=time.thread_time_ns):
        self.core = core
        self._clocks = (time.perf_counter_ns, cpu)
        self.left = pairs
        self.is_done = False
        self.ratios = {"recorded": [], "neither": []}  # of each pair, by clock
        self.wall_ns = []
        self._plan = []  # which steps follow: (kind of pair, which of it, is it recorded)
        self._times = {}
        self._settling = 0
        self._started = None

    def _now(self):
        return [clock() for clock in self._clocks]

    def tick(self):
        if self._started is not None and self._settling == 0:
            times = [end - start for start, end in zip(self._started, self._now())]
            self._times[self._plan.pop(0)[:2]] = times
            self.wall_ns.append(times[0])
        if self._started is None or self._settling == 0:
            self._switch()
        else:
            self._settling -= 1
        self._started = self._now()
        return self.is_done

    def _switch(self):
        if not self._plan:
            self._next_pairs()
        self.core.hooks_pause(not self._plan[0][2] and not self.is_done)
        self._settling = SETTLING

    def _next_pairs(self):
        """In a new random order."""
        for kind, ratios in self.ratios.items():
            if (kind, 0) in self._times:
                ratios.append([a / b for a, b in zip(self._times[kind, 0], self._times[kind, 1])])
        self._times = {}
        pairs = [[("recorded", 0, True), ("recorded", 1, False)]]
        if self.left % NEITHER_EVERY == 0:
            pairs.append([("neither", 0, False), ("neither", 1, False)])
        for pair in pairs:
            random.shuffle(pair)
        random.shuffle(pairs)
        self._plan = sum(pairs, [])
        self.is_done = self.left == 0
        self.left -= 1

    def print(self, name, target):
        length_ms = sorted(self.wall_ns)[len(self.wall_ns) // 2] / 1e6
        print("  %s: %d pairs of steps of %.2f ms" % (name, len(self.ratios["recorded"]), length_ms))
        for i, clock in enumerate(CLOCKS):
            ratio, again = (interval([ratios[i] for ratios in self.ratios[kind]])
                            for kind in ("recorded", "neither"))
            print("    %-4s recorded %.4f [%.4f, %.4f], A/A %.4f [%.4f, %.4f]"
                  % (clock, *ratio, *again))
            verdict = ("unresolved" if not again[1] <= 1 <= again[2]
                       else "ok" if ratio[2] < target
                       else "unresolved" if ratio[1] < target else "miss")
            print("RESULT %s_%s %.4f %.4f %.4f %.3f %s" % (name, clock, *ratio, target, verdict),
                  flush=True)
