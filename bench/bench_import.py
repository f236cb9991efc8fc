#!/usr/bin/env python3
"""What the import of a trace takes, against others that read the same file in the same run: Python's json, and of
what BENCH_CONTENDERS_PYTHON has (pip install HolisticTraceAnalysis xprof) HTA's loader and XProf's converter.

    bench/bench_import.py BUILD      (BENCH_ROUNDS: rounds of a race, 1000 stands for the 5 that it makes;
                                      BENCH_MB: of the JSON file, 50; half of it for XPlane)

In each round each reads the file once. What counts is the ratio of their CPU times, and of what their memory grew to at most;
imports of modules are outside the time of the others, starting the program is in ours.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from step_pairs import interval

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "import"))
import large  # noqa: E402

ROUNDS = max(3, int(os.environ.get("BENCH_ROUNDS", "1000")) // 200)
MB = int(os.environ.get("BENCH_MB", "50"))
SPEED, MEMORY = 0.1, 0.1  # of theirs, at most
AROUND = """
import os, resource, sys, time
%s
before = sum(os.times()[:4])
%s
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("COST", sum(os.times()[:4]) - before, max(one.ru_maxrss for one in usage))
"""
CONTENDERS = {
    "json": ("json", "import json", "json.load(open(sys.argv[1]))"),
    "hta": ("json", "from hta.common.trace_parser import parse_trace_dataframe\nfrom hta.configs.parser_config import ParserConfig",
            "parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())"),
    "xprof": ("pb", "from xprof.convert import raw_to_tool_data",
              "raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'overview_page', {})"),
}


# Of a child that is started by little: until it is replaced it has the memory of its parent.
STARTER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(status != 0)
"""


def ours(stepscope, path):
    """CPU seconds and KB of an import."""
    run = path + "-run"
    shutil.rmtree(run, ignore_errors=True)
    done = subprocess.run([sys.executable, "-IS", "-c", STARTER, stepscope, "import", path, "-o", run], capture_output=True,
                          text=True, check=True)
    seconds, kb = done.stdout.split()
    return float(seconds), int(kb)


def theirs(python, name, path):
    """The same of a contender; None if it is not there."""
    _, prepare, load = CONTENDERS[name]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:  # some leave what they found beside the file
        copy = shutil.copy(path, folder)
        done = subprocess.run([python, "-c", AROUND % (prepare, load), copy], capture_output=True, text=True, check=False)
    costs = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("COST ")]
    if done.returncode != 0 or not costs:
        print(f"  {name} does not run: {(done.stderr.splitlines() or ['no output'])[-1]}")
        return None
    return float(costs[0][0]), int(costs[0][1])


def result(name, values, target):
    middle, low, high = interval(values)
    verdict = "ok" if high <= target else "miss" if low > target else "unresolved"
    print(f"RESULT {name} {middle:.4g} {low:.4g} {high:.4g} {target} {verdict}")


def main():
    stepscope = os.path.join(sys.argv[1], "stepscope")
    other = os.environ.get("BENCH_CONTENDERS_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        paths = {"json": os.path.join(folder, "a.json"), "pb": os.path.join(folder, "a.xplane.pb")}
        large.write_kineto(paths["json"], MB << 20)
        large.write_xplane(paths["pb"], MB << 19)
        for name, (form, _, _) in CONTENDERS.items():
            path = paths[form]
            pairs = []
            for _ in range(ROUNDS):
                their = theirs(sys.executable if name == "json" else other, name, path)
                if not their:
                    break
                pairs.append((ours(stepscope, path), their))
            if len(pairs) < ROUNDS:
                continue
            (our_s, our_kb), (their_s, their_kb) = pairs[0]
            print(f"  {os.path.getsize(path) >> 20} MB: {our_s:.3f} s and {our_kb >> 10} MB; {name} {their_s:.3f} s and {their_kb >> 10} MB")
            result(f"import_{name}_time", [a[0] / b[0] for a, b in pairs], SPEED)
            result(f"import_{name}_memory", [a[1] / b[1] for a, b in pairs], MEMORY)


if __name__ == "__main__":
    main()
