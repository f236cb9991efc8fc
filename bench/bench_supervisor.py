#!/usr/bin/env python3
"""What the supervisor costs beside a command of 20 processes with 50 threads each, of which one
per process wakes up 10 times per second, and one trains 100 steps per second with 10 spans each: CPU
time, as the kernel accounts it.

    bench/bench_supervisor.py BUILD      (BENCH_SECONDS: how long, 60 if not given)

The run is cut into windows of 5 s; the interval is that of their median. The memory of the supervisor at the
first and at the last window stands beside.
"""

import glob
import os
import subprocess
import sys
import tempfile
import time

from step_pairs import interval

SECONDS = max(20, int(os.environ.get("BENCH_SECONDS", "60")))
WINDOW_S = 5
TARGET = 0.003


def parts_of(pid):
    """The two processes of the supervisor, and those that help it."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        below = children.read().split()
    return [pid, *(child for child in below if name_of(child) == name_of(pid))]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as name:
        return name.read()


def cpu_of_all_s(pid):
    return sum(map(cpu_s, parts_of(pid)))


def memory_of_all_kb(pid):
    return sum(map(memory_kb, parts_of(pid)))


def cpu_s(pid):
    """Of all its threads; the file of the process is that of its main thread."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        command = [os.path.join(build, "stepscope"), "run", "--dir", folder, "--",
                   os.path.join(build, "busy_tree"), str(SECONDS + 5)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
            time.sleep(2)  # past its start
            shares, memory = [], [memory_of_all_kb(run.pid)]
            for _ in range(SECONDS // WINDOW_S):
                start, used = time.monotonic(), cpu_of_all_s(run.pid)
                time.sleep(WINDOW_S)
                shares.append((cpu_of_all_s(run.pid) - used) / (time.monotonic() - start))
                memory.append(memory_of_all_kb(run.pid))
            run.terminate()
    middle, low, high = interval(shares)
    print(f"  {100 * middle:.3f} % of a core ({100 * low:.3f} to {100 * high:.3f}) over "
          f"{len(shares)} windows of {WINDOW_S} s; memory {memory[0]} KB, then {memory[-1]} KB")
    verdict = "ok" if high <= TARGET else "miss" if low > TARGET else "unresolved"
    print(f"RESULT supervisor_tree {middle:.5f} {low:.5f} {high:.5f} {TARGET} {verdict}")


if __name__ == "__main__":
    main()
