#!/usr/bin/env python3
"""What a hook costs a call, for each technique and each interpreter that the package was built for.

    bench/bench_hooks.py BUILD      (BENCH_ROUNDS: of each race)

In one process, taking turns: the plain call, the same call hooked and recorded, hooked with the
switch off, and a wrapper written in Python that reads the clock twice. The figures are differences
to the plain call, of medians over the rounds. "removed" is the same call site after the hook was
taken away, "idle" with the hook in place while nothing is recorded: where Python calls Python, that
is mostly what the call site loses, which 3.11 and later cannot specialise for a hooked function.
"""

import json
import os
import subprocess
import sys
import tempfile

CALLS = 200
PAUSE_S = 0.005  # for the recorder's helper: what it has to drop would be too cheap
WARM_UP = 20  # races after a pause that do not count
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "200"))
TARGET_NS = 100


def measure():
    """Runs in each interpreter."""
    import array
    import functools
    import time
    import types

    from stepscope import _core, _hooks

    def wrapped(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            start = time.perf_counter_ns()
            try:
                return function(*args, **kwargs)
            finally:
                times.append(time.perf_counter_ns() - start)
        return wrapper

    times = []
    frame = types.ModuleType("frame")
    sys.modules["frame"] = frame

    def make(kind):
        """A fresh class for each contender, so that none spoils another's call sites."""
        space = {}
        exec("class Model:\n"
             "    def __call__(self, x): return x\n"
             "    def method(self, x): return x\n"
             "    def __next__(self): return 1\n"
             "    def __iter__(self): return self\n", space)
        setattr(frame, kind, space["Model"])
        return space["Model"]

    def sites(call):
        """A loop of its own for each contender: call sites are specialised where they stand."""
        space = {"clock": time.perf_counter_ns, "turns": range(CALLS)}
        exec("def race(target):\n"
             "    start = clock()\n"
             "    for _ in turns:\n"
             "        %s\n"
             "    return clock() - start\n" % call, space)
        return space["race"]

    def lay(target, technique):
        adapter = types.ModuleType("frame")
        adapter.HOOKS = (_hooks.Hook(target, "user", target, technique),)
        skipped = _hooks.install(adapter)
        assert not skipped, skipped

    cases = []  # (title, plain, hooked, Python wrapper), each (race, target)
    from_python = sys.version_info[:2] != (3, 11)
    for title, call, attribute, technique in (
            ("function, obj()", "target(1)", "__call__", "function"),
            ("function, obj.method()", "target.method(1)", "method", "function"),
            ("callable, obj.method()", "target.method(1)", "method", "callable"),
            ("callable, obj()", "target(1)", "__call__", "callable")):
        if technique == "function" and attribute == "method" and not from_python:
            continue
        tag = "c%d" % len(cases)
        plain, hooked, python = (make(tag + kind) for kind in ("plain", "hooked", "python"))
        setattr(python, attribute, wrapped(vars(python)[attribute]))
        lay("frame:%shooked.%s" % (tag, attribute), technique)
        cases.append((title, *((sites(call), kind()) for kind in (plain, hooked, python))))
    frame.plain, frame.hooked = functools.partial(abs), functools.partial(abs)
    lay("frame:hooked", "object")
    cases.append(("object, obj()", (sites("target(1)"), frame.plain),
                  (sites("target(1)"), frame.hooked),
                  (sites("target(1)"), wrapped(frame.plain))))
    lay("array:array.count", "method")  # array.index is its twin: same way of calling, same work
    numbers = array.array("i", [1])
    cases.append(("method, obj.method()", (sites("target.index(1)"), numbers),
                  (sites("target.count(1)"), numbers),
                  (sites("target(1)"), wrapped(numbers.index))))

    def middle(values):
        return sorted(values)[len(values) // 2] / CALLS

    def lost_spans():
        done = subprocess.run([os.environ["STEPSCOPE_BIN"], "info", "--json", _core.directory()],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["lost"]["dropped"]

    with tempfile.TemporaryDirectory() as place:
        _core.start(place, "bench")
        figures = [[[] for _ in range(6)] for _ in cases]
        for _ in range(ROUNDS):
            for case, into in zip(cases, figures):
                for _ in range(WARM_UP):
                    case[1][0](case[1][1])
                for contender, values in zip(case[1:], into):
                    values.append(contender[0](contender[1]))
                times.clear()
                time.sleep(PAUSE_S)
            _core.hooks_off()
            for case, into in zip(cases, figures):
                for _ in range(WARM_UP):
                    case[1][0](case[1][1])
                into[3].append(case[2][0](case[2][1]))
            _core.hooks_on()
        _core.stop()
        lost = lost_spans()
        for _ in range(ROUNDS):
            for case, into in zip(cases, figures):
                into[4].append(case[2][0](case[2][1]))
                into[5].append(case[1][0](case[1][1]))
    version = "%d.%d" % sys.version_info[:2]
    print("\nPython %s: ns per call%18s %8s %8s %8s %8s   (%d spans lost)"
          % (version, "plain", "hook", "idle", "removed", "wrapper", lost))
    for case, into in zip(cases, figures):
        plain, hooked, python, off, idle, beside = map(middle, into)
        print("  %-34s %8.1f %+8.1f %+8.1f %+8.1f %+8.1f"
              % (case[0], plain, hooked - plain, idle - beside, off - plain, python - plain))
        more = hooked - plain
        print("RESULT hook_%s_%s_ns %.1f - - %d %s"
              % (version, case[0].replace(", ", "_"), more, TARGET_NS,
                 "ok" if more <= TARGET_NS else "miss"))
        print("RESULT hook_%s_%s_lost_by_the_caller_ns %.1f - - - -"
              % (version, case[0].replace(", ", "_"), idle - beside))


def main():
    from each_python import measure_in_each

    build = os.path.abspath(sys.argv[1])
    measure_in_each(__file__, build, BENCH_ROUNDS=str(ROUNDS),
                    STEPSCOPE_BIN=os.path.join(build, "stepscope"))


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["--measure"] else main()
