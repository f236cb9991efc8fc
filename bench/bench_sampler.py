#!/usr/bin/env python3
"""What the sampler costs, for each interpreter that the package was built for.

    bench/bench_sampler.py BUILD      (BENCH_SECONDS: of each row; BENCH_ROUNDS: pairs of stretches)

CPU time of its thread at 20 and 50 samples per second beside a loop of pure Python, some frames deep, in
one go without restarts. At the same time a thread that does nothing but wake up as often: what is
above that one is our own. Then what the loop loses: short stretches with the sampler and without follow
each other in random order, and the median of the ratios of neighbours counts, with the range that it is in
with 95 % certainty; A/A: neither has it.
"""

import ctypes
import os
import random
import statistics
import sys
import tempfile
import time

SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))
PAIRS = min(int(os.environ.get("BENCH_ROUNDS", "100")), 1000)
STRETCH_S = 0.1
DEPTH = 10
TARGET_PERCENT = 0.15
TARGET_RATIO = 1.003


def work():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def busy(seconds, depth=DEPTH):
    """CPU time of one call of work(), in ns, measured under a stack of this many frames."""
    if depth:
        return busy(seconds, depth - 1)
    calls = 0
    cpu, end = time.thread_time_ns(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        work()
        calls += 1
    return (time.thread_time_ns() - cpu) / calls


def measure_share(core, wake, version, hz):
    before = core.sampler_stats()
    wake.bare_wake_start(hz)
    core.sampler_start(hz=hz)
    start = time.perf_counter()
    busy(SECONDS)
    elapsed_ns = (time.perf_counter() - start) * 1e9
    core.sampler_stop()
    bare_ns, wakes = wake.bare_wake_stop(), wake.bare_wake_count()
    after = core.sampler_stats()
    taken = after["taken"] - before["taken"]
    share, bare = 100 * after["cpu_ns"] / elapsed_ns, 100 * bare_ns / elapsed_ns
    print("  %d Hz: %.3f %% of a core, %.1f us per sample (%d taken, %d discarded); "
          "a bare wake-up %.3f %%, %.1f us; ours above it %.3f %%"
          % (hz, share, after["cpu_ns"] / 1e3 / max(taken, 1), taken,
             after["discarded"] - before["discarded"], bare, bare_ns / 1e3 / max(wakes, 1),
             share - bare))
    print("RESULT sampler_%s_%dhz_percent %.3f - - %.2f %s"
          % (version, hz, share, TARGET_PERCENT, "ok" if share <= TARGET_PERCENT else "miss"))
    print("RESULT sampler_%s_%dhz_above_wake_percent %.3f - - - -" % (version, hz, share - bare))


def stretch(core, hz):
    if hz:
        core.sampler_start(hz=hz)
    cost = busy(STRETCH_S)
    core.sampler_stop()
    return cost


def median_range(values):
    """Of sorted values: the ranks between which their median is, in 95 of 100 cases."""
    half, reach = len(values) / 2, 0.98 * len(values) ** 0.5
    return values[max(0, int(half - reach))], values[min(len(values) - 1, int(half + reach))]


def measure_loss(core, version):
    ratios = {0: [], 50: []}
    for _ in range(PAIRS):
        for hz in random.sample(list(ratios), len(ratios)):
            pair = {turn: stretch(core, hz if turn else 0) for turn in random.sample([1, 0], 2)}
            ratios[hz].append(pair[1] / pair[0])
    for hz, values in ratios.items():
        values.sort()
        low, high = median_range(values)
        middle = statistics.median(values)
        verdict = ("-" if not hz else "unresolved" if low <= TARGET_RATIO <= high
                   else "ok" if middle <= TARGET_RATIO else "miss")
        print("RESULT sampler_%s_loop_%s %.4f %.4f %.4f %s %s"
              % (version, "50hz" if hz else "aa", middle, low, high, TARGET_RATIO if hz else 1, verdict))


def measure():
    """Runs in each interpreter."""
    from stepscope import _core

    version = "%d.%d" % sys.version_info[:2]
    wake = ctypes.CDLL(os.path.join(os.environ["BENCH_BUILD"], "bare_wake.so"))
    wake.bare_wake_stop.restype = wake.bare_wake_count.restype = ctypes.c_long
    with tempfile.TemporaryDirectory() as place:
        _core.start(place, "bench")
        print("\nPython %s, %d frames deep, %g s a row" % (version, DEPTH, SECONDS))
        _core.step()
        for hz in (20, 50):
            measure_share(_core, wake, version, hz)
        measure_loss(_core, version)
        _core.stop()


def main():
    from each_python import measure_in_each

    build = os.path.abspath(sys.argv[1])
    measure_in_each(__file__, build, BENCH_BUILD=build)


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["--measure"] else main()
