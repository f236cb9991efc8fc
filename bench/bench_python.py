#!/usr/bin/env python3
"""What the Python interface costs, for each interpreter that the package was built for.

    bench/bench_python.py BUILD      (BENCH_ROUNDS: of each race)

Races, taking turns in one process: `with span`, `@timed` and `step()`, recorded and not, against the same
written in Python (a context manager and a decorator that read the clock twice and keep the difference) and
against nothing (an empty body, the plain function). ns an operation, medians over the rounds.
Start-up: the CPU time of an empty script, plain and under the injection of `stepscope run`, in turns.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

CALLS = 200
PAUSE_S = 0.005  # for the recorder's helper: what it has to drop would be too cheap
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "200"))
STARTS = max(5, min(ROUNDS // 5, 100))
TARGET_START_MS = 5


class PythonSpan:
    """What one would write by hand."""

    def __init__(self, times):
        self.times = times

    def __enter__(self):
        self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *failure):
        self.times.append(time.perf_counter_ns() - self.start)


def race(statement, **names):
    """A function of its own for each contender: call sites are specialised where they stand."""
    space = {"clock": time.perf_counter_ns, "turns": range(CALLS), **names}
    exec("def run():\n"
         "    start = clock()\n"
         "    for _ in turns:\n"
         "        %s\n"
         "    return (clock() - start) / %d\n" % (statement, CALLS), space)
    return space["run"]


def contenders(stepscope, times):
    def plain(x):
        return x

    def python(x):
        start = time.perf_counter_ns()
        try:
            return plain(x)
        finally:
            times.append(time.perf_counter_ns() - start)

    return {
        "empty loop": race("pass"),
        "with span": race("with span: pass", span=stepscope.span("bench")),
        "with stepscope.span(name)": race("with span('bench'): pass", span=stepscope.span),
        "with, in Python": race("with span: pass", span=PythonSpan(times)),
        "plain call": race("f(1)", f=plain),
        "@timed": race("f(1)", f=stepscope.timed(plain)),
        "decorator in Python": race("f(1)", f=python),
        "step()": race("step()", step=stepscope.step),
        "counter()": race("counter('x', 1.0)", counter=stepscope.counter),
    }


def run_races(runs, times):
    figures = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            run()  # warm after the pause
            figures[name].append(run())
        times.clear()
        time.sleep(PAUSE_S)
    return {name: statistics.median(values) for name, values in figures.items()}


def measure():
    """Runs in each interpreter."""
    import stepscope

    version = "%d.%d" % sys.version_info[:2]
    times = []
    runs = contenders(stepscope, times)
    off = run_races(runs, times)
    with tempfile.TemporaryDirectory() as place:
        assert stepscope.start(place, "bench"), stepscope.status()
        on = run_races(runs, times)
        stepscope.stop()
    print("\nPython %s, ns an operation %10s %12s" % (version, "recorded", "not recording"))
    for name in runs:
        print("  %-30s %8.1f %12.1f" % (name, on[name], off[name]))
    for name, nothing, python in (("with span", "empty loop", "with, in Python"),
                                  ("@timed", "plain call", "decorator in Python")):
        ours, theirs = on[name] - on[nothing], on[python] - on[nothing]
        print("RESULT python_%s_%s_to_python %.3f - - 1 %s"
              % (version, name.strip("@").replace(" ", "_"), ours / theirs,
                 "ok" if ours < theirs else "miss"))


def cpu_of_start(python, env):
    """CPU time of an empty script, in ms: on a busy machine the wall says more about the others."""
    child = os.posix_spawn(python, [python, "-c", "pass"], env)
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def start_up(python, packages, environment):
    plain_env = environment()
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        env=plain_env, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as place:
        hooked_env = environment(PYTHONPATH=os.path.join(packages, "stepscope", "_boot"),
                                 STEPSCOPE_RUN=os.path.join(place, "run"))
        del hooked_env["PYTHONDONTWRITEBYTECODE"]  # only the first one compiles, as for a user
        cpu_of_start(python, hooked_env)
        differences = sorted(cpu_of_start(python, hooked_env) - cpu_of_start(python, plain_env)
                             for _ in range(STARTS))
    middle = statistics.median(differences)
    print("RESULT python_%s_start_up_cpu_ms %.2f %.2f %.2f %d %s"
          % (version, middle, differences[STARTS // 4], differences[3 * STARTS // 4],
             TARGET_START_MS, "ok" if middle <= TARGET_START_MS else "miss"))


def main():
    from each_python import measure_in_each

    measure_in_each(__file__, os.path.abspath(sys.argv[1]), after=start_up,
                    STEPSCOPE_SAMPLE_HZ="0")


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["--measure"] else main()
