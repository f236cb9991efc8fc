"""Stack samples: they name what the loop thread did, without the GIL, and never lie or crash."""

import ast
import json
import os
import re
import unittest

from interpreters import INTERPRETERS, NEWEST, PACKAGES, PROGRAM, PythonTest, environment

SOAK = os.environ.get("SOAK") == "1"

# Three lines take nearly all of the time; each says itself how much, by the wall clock and without the time
# that it waited for a core.
SHARES = """
import os, sys, time
from stepscope import _core

schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

def clocks():
    wall = time.perf_counter()
    return wall, wall - int(os.pread(schedstat, 100, 0).split()[1]) / 1e9

spent = {"python": [0.0, 0.0], "sleep": [0.0, 0.0], "generator": [0.0, 0.0]}

def add(part, begin, end):
    for i in range(2):
        spent[part][i] += end[i] - begin[i]

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
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        _core.step()
        a = clocks()
        python()
        b = clocks()
        time.sleep(0.003)  # sleep
        c = clocks()
        for value in generate(): pass
        d = clocks()
        add("python", a, b)
        add("sleep", b, c)
        add("generator", c, d)
    _core.sampler_stop()

loop(float(sys.argv[1]))
whole = [sum(part[i] for part in spent.values()) for i in range(2)]
print({name: [part[i] / whole[i] for i in range(2)] for name, part in spent.items()})
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

# A function that is long in being made, as it has many cells, and calls another one for a moment only.
BEGINS = """
import time
from stepscope import _core

cells = ", ".join("v%d" % number for number in range(100))
names = {}
exec("def inner(): return 1\\n"
     "def outer():\\n"
     "    if inner(): return 0\\n"
     "    {0} = [0] * 100\\n"
     "    return lambda: ({0})".format(cells), names)

def work(end):
    outer = names["outer"]
    while time.monotonic() < end:
        outer()

_core.step()
_core.sampler_start(hz=1000)
work(time.monotonic() + 2)
_core.sampler_stop()
"""

# A class that is made in a loop, and a function that the interpreter calls before the first line of another.
CALLED_EARLY = """
import sys, time
from stepscope import _core

class Sample:
    def __init__(self):
        time.sleep(0.002)

def told(frame, event, value):
    if event == "call" and frame.f_code.co_name == "quick":
        time.sleep(0.002)

def quick():
    pass

def work():
    for _ in range(300):
        Sample()
    sys.setprofile(told)
    for _ in range(300):
        quick()
    sys.setprofile(None)

_core.step()
_core.sampler_start(hz=500)
work()
_core.sampler_stop()
"""

# One line sleeps, and nothing else takes time.
SLEEPS = """
import time
from stepscope import _core

def loop(items):
    for x, y in items:
        if x:
            time.sleep(0.02)  # sleep
        with _core.span("work", "compute"):
            sum(range(100))

_core.step()
_core.sampler_start(hz=500)
loop([(1, 2)] * 100)
_core.sampler_stop()
"""

# Loops that get their items from what sleeps, each in its own way.
LOOPS = """
import time
from stepscope import _core

def make(count):
    for i in range(count):
        time.sleep(0.01)
        yield i

def other(count):
    yield from make(count)

class Items:
    left = 20
    def __iter__(self):
        return self
    def __next__(self):
        time.sleep(0.01)
        self.left -= 1
        if not self.left: raise StopIteration
        return self.left

def of_generator():
    total = 0
    for value in make(20):
        total += value

        if value > 3:
            total -= 1
    return total

def of_delegate():
    for value in other(20): pass

def of_class():
    for value in Items():
        pass

def of_next():
    items = make(20)
    for i in range(20):
        next(items)

def of_expression():
    for value in (2 * i for i in make(20)):
        pass

def of_long_body():
    x = y = 0
    for value in make(20):
        %s
    return x

_core.step()
_core.sampler_start(hz=500)
of_generator(); of_delegate(); of_class(); of_next(); of_expression(); of_long_body()
_core.sampler_stop()
""" % "\n        ".join(["x = x + y * value - (x & y) + abs(x)"] * 60)

GENERATOR, FOR = 1, 2

# Function: traits and lines of the body, where almost all of its time is.
PLACES = {"make": (GENERATOR, 0), "other": (GENERATOR, 0), "Items.__next__": (0, 0),
          "of_generator": (FOR, 4), "of_delegate": (FOR, 0), "of_class": (FOR, 1),
          "of_next": (0, 0), "of_expression": (FOR, 1),
          "of_expression.<locals>.<genexpr>": (GENERATOR | FOR, 0), "of_long_body": (FOR, 60)}

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
    with_extra = True

    def sampled(self, python, script, *arguments, options=()):
        path = self.write("script.py", script)
        self.run_path = self.path("run-%d" % len(os.listdir(self.folder)))
        return self.execute([python, *options, path, *arguments],
                            env=environment(PYTHONPATH=PACKAGES, STEPSCOPE_RUN=self.run_path))

    def hot(self):
        done = self.execute([PROGRAM, "report", "--json", self.run_path])
        return json.loads(done.stdout)["hot"]

    def stacks(self):
        """Names of functions, innermost first, of each sample."""
        text = self.execute([PROGRAM, "dump", self.run_path]).stdout
        names = dict(re.findall(r"(\d+) is (\S+) \(", text))
        return [tuple(names[number] for number in ids.split())
                for ids in re.findall(r"frames ([\d ]+)", text)]

    def line_of(self, mark):
        return 1 + next(i for i, line in enumerate(SHARES.split("\n")) if line.endswith("# " + mark))

    def check_shares(self, python, seconds, points):
        """The sampler misses some of the time in which the loop has no core: then it has none either. So what
        it sees lies between the shares of both clocks; where nothing else runs, they are one."""
        truth = ast.literal_eval(self.sampled(python, SHARES, str(seconds)).stdout)
        lines = [line for line in self.hot()["lines"] if line["stage"] == "other"]
        self.assertTrue(lines)
        for mark, share in truth.items():
            seen = sum(line["share"] for line in lines if line["line"] == self.line_of(mark))
            self.assertGreaterEqual(seen, min(share) - points / 100, f"{mark} {truth} {lines}")
            self.assertLessEqual(seen, max(share) + points / 100, f"{mark} {truth} {lines}")

    def test_names_lines_with_their_share_of_the_time(self):
        for python in self.each():
            self.check_shares(python, 2.5, 25)

    def test_shares_are_right_when_there_are_many_samples(self):
        for python in [NEWEST] if not SOAK else INTERPRETERS:
            self.check_shares(python, 200 if SOAK else 10, 3 if SOAK else 12)

    def test_the_line_that_sleeps_has_the_samples(self):
        line = 1 + SLEEPS.split("\n").index("            time.sleep(0.02)  # sleep")
        for python in self.each():
            self.sampled(python, SLEEPS)
            lines = [row for row in self.hot()["lines"] if row["stage"] == "other"]
            whole = sum(row["count"] for row in lines)
            self.assertGreater(whole, 200)
            there = sum(row["count"] for row in lines if row["line"] == line)
            self.assertGreaterEqual(there, 0.95 * whole, lines)

    def test_loops_that_get_their_next_item_are_told_apart(self):
        for python in self.each():
            self.sampled(python, LOOPS)
            text = self.execute([PROGRAM, "dump", "--json", self.run_path]).stdout
            records = [json.loads(line) for line in text.splitlines()]
            frames = {record["id"]: record for record in records if record["kind"] == "frame"}
            places = {}
            for record in records:
                for number in record["frames"] if record["kind"] == "sample" else ():
                    frame = frames[number]
                    place = frame["traits"], frame["body"]
                    places.setdefault(frame["function"], []).append(place)
            for function, place in PLACES.items():
                seen = places.get(function) or places[function.split(".")[-1]]  # 3.10: no class
                self.assertGreaterEqual(seen.count(place), 0.9 * len(seen), (function, seen[:9]))

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
            self.check_callers()

    def check_callers(self):
        """A function was called by the one of its own number, in every sample."""
        pairs = 0
        for stack in self.stacks():
            for inner, caller in zip(stack, stack[1:]):
                if inner.startswith("inner_"):
                    pairs += 1
                    self.assertEqual(inner.replace("inner_", "made_"), caller, stack)
        self.assertGreater(pairs, 20)

    def test_a_call_that_begins_has_not_called_anybody_yet(self):
        """What its last call called is still in memory."""
        for python in self.each():
            self.sampled(python, BEGINS)
            stacks = self.stacks()
            self.assertGreater(len(stacks), 20)
            callers = {stack[1] for stack in stacks if stack[0] == "inner"}
            self.assertLessEqual(callers, {"outer"})

    def test_what_runs_before_the_first_line_of_a_call_is_seen(self):
        for python in self.each():
            self.sampled(python, CALLED_EARLY)
            stacks = self.stacks()
            for name in ("__init__", "told"):
                seen = [stack for stack in stacks if stack[0].split(".")[-1] == name]
                self.assertGreater(len(seen), 0.3 * len(stacks), name)
                self.assertEqual({stack[-2:] for stack in seen}, {("work", "<module>")})

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
