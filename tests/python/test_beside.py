"""What else an interpreter may do while it is recorded: compile what it runs (3.14, 3.15), be watched by tools
of sys.monitoring or by its own sampling profiler (3.15)."""

import os
import subprocess
import unittest

from interpreters import INTERPRETERS, PROGRAM, PythonTest, ask, environment

CALLS = 20000
FIND = "import sys; print(bool(getattr(sys, '_jit', None)) and sys._jit.is_available())"

TRAINING = f"""
import sys
import stepscope
from fake_framework import parts

def inner(number):
    total = 0
    for i in range(40):
        total += i * number
    return total

model, optimizer = parts.Model(2), parts.Adam()
for number in range({CALLS}):
    stepscope.step()
    inner(number)
    model(number)
    optimizer.update()
"""

HOOKS = """
import types
from fake_framework import parts
from stepscope import _core, _hooks
from stepscope._hooks import Hook

adapter = types.ModuleType("fake_framework")
adapter.HOOKS = (Hook("fake_framework.parts:Model.__call__", "forward", "call", "callable"),
                 Hook("fake_framework.parts:Optimizer.update", "optimizer", "update", "callable"))
assert not _hooks.install(adapter)
_core.sampler_start(hz=200)
"""

MONITORED = """
import sys
monitoring = sys.monitoring
seen = {"starts": 0, "lines": 0}

def on_start(code, offset):
    seen["starts"] += code.co_name == "inner"

def on_line(code, line):
    seen["lines"] += code.co_name == "inner"

monitoring.use_tool_id(monitoring.PROFILER_ID, "a profiler")
monitoring.use_tool_id(monitoring.COVERAGE_ID, "coverage")
monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START, on_start)
monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, on_line)
monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
"""

SAY_SEEN = "\nprint(seen['starts'], seen['lines'] >= 40 * seen['starts'])\n"

SAY_COMPILED = "\nprint(sys._jit.is_enabled())\n"


class Beside(PythonTest):
    with_extra = True

    def record(self, python, script, **more):
        env = environment(PYTHONPATH=os.path.dirname(os.path.abspath(__file__)), **more)
        return self.execute([PROGRAM, "run", "--dir", self.runs, python, self.write("train.py", script)], env=env)

    def check(self):
        """All calls are there, and the stacks have the lines of the script."""
        report = self.report()
        counts = {span["name"]: span["count"] for span in report["spans"]}
        lost = report["lost"]["dropped"]
        self.assertGreaterEqual(counts["call"] + lost, CALLS * 3)
        self.assertGreaterEqual(counts["update"] + lost, CALLS)
        self.assertEqual(report["lost"]["negative_ns"], 0)
        self.check_lines(report)

    def check_lines(self, report):
        wanted = TRAINING.split("\n")
        with open(self.path("train.py"), encoding="utf-8") as file:
            first = file.read().split("\n").index(wanted[5]) + 1
        for line in report["hot"]["lines"]:
            if line["function"] == "inner":
                self.assertIn(line["line"], range(first, first + 5), line)

    def test_the_compiler_of_the_interpreter(self):
        for python in self.each():
            done = subprocess.run([python, "-c", FIND], stdout=subprocess.PIPE, text=True, check=True)
            if done.stdout == "True\n":
                done = self.record(python, HOOKS + TRAINING + SAY_COMPILED, PYTHON_JIT="1")
                self.assertEqual(done.stdout, "True\n")
                self.check()

    def test_tools_that_monitor(self):
        for python in self.each():
            if ask(python, "hasattr(sys, 'monitoring')") == "True":
                done = self.record(python, HOOKS + MONITORED + TRAINING + SAY_SEEN)
                self.assertEqual(done.stdout, f"{CALLS} True\n")
                self.check()

    def test_the_sampling_profiler_of_the_interpreter(self):
        found = [python for python in INTERPRETERS
                 if ask(python, "bool(__import__('importlib.util').util.find_spec('profiling.sampling'))") == "True"]
        if not found:
            print("\nNOT TESTED: profiling.sampling: there is no interpreter that has it", flush=True)
            self.skipTest("no interpreter has it")
        for number, python in enumerate(found):
            self.runs = self.path(f"runs-{number}")
            with self.subTest(python=python):
                self.check_sampled(python)

    def check_sampled(self, python):
        out = self.path("profile.txt")
        env = environment(PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
        done = self.execute([PROGRAM, "run", "--dir", self.runs, python, "-m", "profiling.sampling", "run",
                             "--collapsed", "-o", out, self.write("train.py", HOOKS + TRAINING)], None, env=env)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.check()
        with open(out, encoding="utf-8") as file:
            self.assertIn("train.py", file.read())


if __name__ == "__main__":
    unittest.main()
