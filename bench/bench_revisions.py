#!/usr/bin/env python3
"""Whether this revision is slower than another one: both builds take turns within one run.

    bench/bench_revisions.py BUILD OLD_BUILD      (`make bench-against REV=...` makes both)

A span: one race in one process (revision_span.c). All else by processes that take turns, in a new random
order each round: a report on BENCH_SPANS spans, the start of a recorded Python that does nothing, and
what the hooks of a step of PyTorch and Keras take (with what tools/frameworks made). What counts is the
ratio of new and old within a round, of CPU time or of what the hooks say themselves: median and 95 %
interval, with A/A beside it.
"""

import os
import random
import re
import resource
import subprocess
import sys
import tempfile

from step_pairs import interval

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "21"))
HOOK_ROUNDS = (ROUNDS + 2) // 3  # each is some seconds
SPANS = os.environ.get("BENCH_SPANS", "10000000")
TARGET = 1.05
HERE = os.path.dirname(os.path.abspath(__file__))
HOOKS = {"torch": ("bench_torch.py", r"RESULT torch_hooks_of_a_step_ns (\d+)"),
         "keras": ("bench_keras.py", r"RESULT keras_hooks_ns (\d+)")}


def cpu_s(command):
    """Of a command and its children."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return used() - before


def race(name, what, measure, rounds):
    """`measure(side)` for "old", again "old", and "new"."""
    ratios = {"new": [], "again": []}
    for _ in range(rounds):
        took = {}
        for side in random.sample(("old", "again", "new"), 3):
            took[side] = measure("new" if side == "new" else "old")
        for side, values in ratios.items():
            values.append(took[side] / took["old"])
    ratio, again = interval(ratios["new"]), interval(ratios["again"])
    print("  %s: %.3f [%.3f, %.3f] of what it was, A/A %.3f [%.3f, %.3f]" % (what, *ratio, *again))
    verdict = ("unresolved" if not again[1] <= 1 <= again[2]
               else "ok" if ratio[2] < TARGET else "unresolved" if ratio[1] < TARGET else "miss")
    print("RESULT against_%s %.3f %.3f %.3f %.2f %s" % (name, *ratio, TARGET, verdict), flush=True)


def race_reports(builds, folder):
    run = os.path.join(folder, "run")
    subprocess.run([os.path.join(builds["new"], "revision_span"), "--write",
                    os.path.join(builds["old"], "libstepscope.so.0"), run, SPANS], check=True)
    race("report", "report on %s spans" % SPANS,
         lambda side: cpu_s([os.path.join(builds[side], "stepscope"), "report", run]), ROUNDS)


def race_starts(builds, folder):
    race("python_start", "start of a recorded Python",
         lambda side: cpu_s([os.path.join(builds[side], "stepscope"), "run", "--quiet", "--dir",
                             os.path.join(folder, side), "--", sys.executable, "-c", "pass"]), 3 * ROUNDS)


def race_hooks(builds, name):
    """Of a step, with the benchmark of this revision and the package of each."""
    script, pattern = HOOKS[name]

    def measure(side):
        done = subprocess.run([os.path.join(HERE, script), builds[side]], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, BENCH_ONLY="none"))
        return int(re.search(pattern, done.stdout)[1])

    race(name + "_hooks", "hooks of a step of " + name, measure, HOOK_ROUNDS)


def main(build, old):
    builds = {"new": os.path.abspath(build), "old": os.path.abspath(old)}
    made = os.path.join(os.path.dirname(builds["new"]), "frameworks", "bin", "python")
    python = os.environ.setdefault("STEPSCOPE_FRAMEWORKS_PYTHON", made)
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as folder:
        libraries = [os.path.join(builds[side], "libstepscope.so.0") for side in ("old", "new")]
        subprocess.run([os.path.join(builds["new"], "revision_span"), *libraries, folder], check=True)
        race_reports(builds, folder)
        race_starts(builds, folder)
        for name in HOOKS if os.path.exists(python) else ():
            race_hooks(builds, name)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
