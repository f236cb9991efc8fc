"""Stack samples: they name what the loop thread did, without the GIL, and never lie or crash."""

import ast
import json
import os
import re
import unittest

from interpreters import INTERPRETERS, PACKAGES, PROGRAM, PythonTest, environment

SOAK = os.environ.get("SOAK") == "1"

# Three lines take nearly all of the time; each says itself how much.
SHARES = """
import sys, time
from stepscope import _core

clock = time.perf_counter
spent = {"python": 0.0, "sleep": 0.0, "generator": 0.0}

def python():
    total = 0
    for i in range(40000): total += i * i  # python
    return total

def generate():
    for _ in range(8):
        yield sum(range(30000))  # generator

def loop(seconds):
    _core.step()
    _core.sampler_start(hz=50)
    end = clock() + seconds
    while clock() < end:
        _core.step()
        a = clock()
        python()
        b = clock()
        time.sleep(0.003)  # sleep
        c = clock()
        for value in generate(): pass
        d = clock()
        spent["python"] += b - a
        spent["sleep"] += c - b
        spent["generator"] += d - c
    _core.sampler_stop()

loop(float(sys.argv[1]))
whole = sum(spent.values())
print({name: part / whole for name, part in spent.items()})
"""

# Each function says in its name, its file and its line which one it is, and calls one of the same.
FREED = """
import sys, threading, time
from stepscope import _core

def make_and_call(number):
    names = {}
    text = "\\n" * number + (
        "def inner_{0}(n): return sum(range(n))\\n"
        "def made_{0}(n): return inner_{0}(n) + 1".format(number))
    exec(compile(text, "made_%d.py" % number, "exec"), names)
    for _ in range(3):
        names["made_%d" % number](2000)

def work(first, end):
    number = first
    while time.monotonic() < end:
        make_and_call(number)
        number = first + (number - first + 1) % 90

_core.step()
_core.sampler_start(hz=1000)
end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(100 * i, end)) for i in (1, 2, 3)]
for thread in threads: thread.start()
work(0, end)
for thread in threads: thread.join()
_core.sampler_stop()
print(_core.sampler_stats())
"""

FORKS = """
import gc, os, time
from stepscope import _core

def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))

def child_work(): busy(0.4)
def parent_work(): busy(0.4)

_core.step()
_core.collector_start()
_core.sampler_start(hz=200)
busy(0.2)
child = os.fork()
before = _core.sampler_stats()["taken"]
_core.step()
gc.collect()  # any event starts it again
child_work() if child == 0 else parent_work()
_core.sampler_stop()
if child == 0:
    os._exit(0 if _core.sampler_stats()["taken"] > before else 1)
assert os.waitpid(child, 0)[1] == 0
assert _core.sampler_stats()["taken"] > before
"""


class Sampler(PythonTest):
    def sampled(self, python, script, *arguments, options=()):
        path = self.write("script.py", script)
        self.run_path = self.path("run-%d" % len(os.listdir(self.folder)))
        return self.execute([python, *options, path, *arguments],
                            env=environment(PYTHONPATH=PACKAGES, STEPSCOPE_RUN=self.run_path))

    def hot(self):
        done = self.execute([PROGRAM, "report", "--json", self.run_path])
        return json.loads(done.stdout)["hot"]

    def line_of(self, mark):
        return 1 + next(i for i, line in enumerate(SHARES.split("\n")) if line.endswith("# " + mark))

    def check_shares(self, python, seconds, points):
        truth = ast.literal_eval(self.sampled(python, SHARES, str(seconds)).stdout)
        lines = [line for line in self.hot()["lines"] if line["stage"] == "other"]
        self.assertTrue(lines)
        for mark, share in truth.items():
            seen = sum(line["share"] for line in lines if line["line"] == self.line_of(mark))
            self.assertAlmostEqual(seen, share, delta=points / 100, msg=f"{mark} {truth} {lines}")

    def test_names_lines_with_their_share_of_the_time(self):
        for python in self.each():
            self.check_shares(python, 2.5, 25)

    def test_shares_are_right_when_there_are_many_samples(self):
        for python in INTERPRETERS[-1:] if not SOAK else INTERPRETERS:
            self.check_shares(python, 200 if SOAK else 10, 3 if SOAK else 12)

    def test_code_that_is_freed_gives_no_wrong_name(self):
        for python in self.each():
            out = self.sampled(python, FREED, "20" if SOAK else "2").stdout
            self.assertIn("'reason': None", out)
            text = self.execute([PROGRAM, "dump", self.run_path]).stdout
            frames = re.findall(r"is (\S+) \(made_(\d+)\.py:(\d+)\)", text)
            self.assertGreater(len(frames), 20, out)
            for function, number, line in frames:
                lines = {f"inner_{number}": (0, 1), f"made_{number}": (0, 2), "<module>": (0, 1, 2)}
                self.assertIn(int(line) and int(line) - int(number), lines[function])  # 0: not known
            self.check_callers(text)

    def check_callers(self, text):
        """A function was called by the one of its own number, in every sample."""
        names = dict(re.findall(r"(\d+) is (\S+) \(", text))
        pairs = 0
        for ids in re.findall(r"frames ([\d ]+)", text):
            stack = [names[number] for number in ids.split()]
            for inner, caller in zip(stack, stack[1:]):
                if inner.startswith("inner_"):
                    pairs += 1
                    self.assertEqual(inner.replace("inner_", "made_"), caller, stack)
        self.assertGreater(pairs, 20)

    def test_both_sides_of_a_fork_are_sampled_and_nobody_is_warned(self):
        for python in self.each():
            done = self.sampled(python, FORKS, options=("-W", "error", "-X", "dev"))
            self.assertEqual(done.stderr, "")
            text = self.execute([PROGRAM, "dump", self.run_path]).stdout
            functions = set(re.findall(r"\d+ is (\S+) \(", text))
            self.assertLessEqual({"busy", "child_work", "parent_work"}, functions)

    def test_text_fits_into_80_columns(self):
        self.sampled(INTERPRETERS[0], SHARES, "1")
        text = self.execute([PROGRAM, "report", "--hot", self.run_path]).stdout
        self.assertRegex(text, r"script\.py:\d+ (python|loop|generate)")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
