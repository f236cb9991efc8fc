"""Builds of CPython without the GIL: many threads at once record, are hooked and named, while hooks are laid and
taken off, and every event is there. The other files run with these interpreters too."""

import unittest

from interpreters import INTERPRETERS, PACKAGES, PROGRAM, PythonTest, ask, environment
from test_hooks import HERE

BEGIN = """
import sys, threading
import stepscope
from stepscope import _core, _hooks
from stepscope._hooks import Hook

THREADS, TURNS = 8, 400

def together(work):
    ready = threading.Barrier(THREADS)

    def begin(number):
        try:
            ready.wait()
            work(number)
        except BaseException as error:
            failed.append(error)

    failed = []
    threads = [threading.Thread(target=begin, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed

assert not sys._is_gil_enabled(), "an extension of ours wants the GIL"
"""

NAMES = BEGIN + """
@stepscope.timed("timed")
def timed(number):
    return number

@stepscope.timed("flow")
def flow(number):
    yield number
    yield number

def work(number):
    for turn in range(TURNS):
        with stepscope.span("span %d" % (turn % 50)), stepscope.stage("data"):
            timed(turn)
        list(flow(turn))
        stepscope.counter("counter %d" % (turn % 50), turn)
        stepscope.mark("mark")
        stepscope.status()

together(work)
"""

LAID = BEGIN + """
import _struct, types
from fake_framework import parts

def lay(*rows):
    adapter = types.ModuleType("fake_framework")
    adapter.HOOKS = rows
    skipped = _hooks.install(adapter)
    assert not skipped, skipped

lay(Hook("fake_framework.parts:Model.__call__", "forward", "call", "callable", object="instance"),
    Hook("fake_framework.parts:Optimizer.update", "optimizer", "update", "function", object="type"),
    Hook("fake_framework.parts:Record.__enter__", "optimizer", "scope", "callable", object="attribute",
         attribute="name", prefix="Optimizer.step#", part="begin"),
    Hook("fake_framework.parts:Record.leave", "optimizer", "scope", "callable", object="attribute",
         attribute="name", prefix="Optimizer.step#", part="end"),
    Hook("fake_framework.parts:Loader.__next__", "data", "next", "function", outermost="data",
         samples=("fake_framework.parts:Tensor", lambda tensor: (4,))),
    Hook("fake_framework.parts:Tensor.to", "transfer", "to", "callable", moves="is_cpu"),
    Hook("_struct:calcsize", "user", "calcsize", "method"))

models = [parts.Model(), parts.Deeper(), parts.Model()]

def work(number):
    own = type("Own%d" % number, (parts.Optimizer,), {})()
    for turn in range(TURNS):
        for optimizer in (parts.Adam(), parts.Momentum(), own):
            optimizer.step()
            optimizer.update()
        for model in models:
            model(1)
        assert len(list(parts.Loader(3, [parts.Tensor(), {"labels": parts.Tensor()}]))) == 3
        parts.Tensor().to(False)
        _struct.calcsize("i")
"""

HOOKS = LAID + "together(work)"

CHANGES = LAID + """
is_over = threading.Event()

def change():
    number = 0
    while not is_over.is_set() or number < 20:
        number += 1
        made = type("Made", (), {"call": lambda self: number})
        module = sys.modules["made%d" % number] = types.ModuleType("made%d" % number)
        module.Made = made
        lay(Hook(module.__name__ + ":Made.call", "user", "made", "callable", object="type"))
        assert made().call() == number
        _core.hooks_off()
        assert _core.hooks_on() == 0
        assert stepscope.directory()

changer = threading.Thread(target=change)
changer.start()
together(work)
is_over.set()
changer.join()
assert _core.hooks_off() == 0
assert type(vars(parts.Model)["__call__"]) is types.FunctionType
print("whole")
"""

SAMPLES = BEGIN + """
_core.sampler_start(hz=1000)

def spin_one(number):
    total = 0
    for i in range(2000):
        total += i
    return total

def spin_two(number):
    return sum([i * i for i in range(2000)])

def work(number):
    while _core.sampler_stats()["taken"] < 200:
        stepscope.step()
        (spin_one, spin_two)[number % 2](number)

together(work)
assert _core.sampler_stats()["reason"] is None
print(_core.sampler_stats()["taken"], _core.sampler_stats()["discarded"])
"""


def is_free_threaded(python):
    return ask(python, "'t' in sys.abiflags") == "True"


class FreeThreaded(PythonTest):
    def setUp(self):
        super().setUp()
        self.interpreters = [python for python in INTERPRETERS if is_free_threaded(python)]
        if not self.interpreters:
            print("\nNOT TESTED: Python without the GIL: tools/free-threaded-pythons has not built one", flush=True)
            self.skipTest("there is no such interpreter")

    def each_run(self, script):
        for number, python in enumerate(self.interpreters):
            self.runs = self.path(f"runs-{number}")
            with self.subTest(python=python):
                env = environment(PYTHONPATH=HERE)
                self.out = self.execute([PROGRAM, "run", "--dir", self.runs, python,
                                         self.write("script.py", script)], env=env).stdout
                yield python

    def check(self, wanted):
        """That as many spans are there as were made, but for those that the run says are lost."""
        report = self.report()
        lost, counts = report["lost"], {}
        for span in report["spans"]:
            if span["stage"] != "gc":
                key = " ".join(filter(None, (span["name"], span["object"])))
                counts[key] = counts.get(key, 0) + span["count"]
        self.assertEqual({name: count for name, count in counts.items() if count > wanted.get(name, 0)}, {})
        self.assertLessEqual(sum(wanted.values()) - sum(counts.values()), lost["dropped"] + lost["threads"])
        self.assertEqual((lost["names"], lost["negative_ns"]), (0, 0))

    def test_names_of_all_threads_are_whole(self):
        calls = 8 * 400
        wanted = {f"span {i}": calls // 50 for i in range(50)}
        wanted.update(data=calls, timed=calls, flow=3 * calls)
        for _ in self.each_run(NAMES):
            self.check(wanted)

    def test_hooked_calls_of_all_threads_are_recorded_once(self):
        calls = 8 * 400
        wanted = {"next": 4 * calls, "to": calls, "calcsize": calls, "call Deeper": calls, "call Model": calls,
                  "call Model#2": calls}
        for kind in "Adam", "Momentum":
            wanted[f"update {kind}"] = wanted[f"scope {kind}"] = calls
        for number in range(8):
            wanted[f"update Own{number}"] = wanted[f"scope Own{number}"] = 400
        for _ in self.each_run(HOOKS):
            self.check(wanted)

    def test_hooks_are_laid_and_taken_off_meanwhile(self):
        for _ in self.each_run(CHANGES):
            self.assertEqual(self.out, "whole\n")
            self.assertGreaterEqual(self.spans()["made"], 1)

    def test_stacks_are_those_of_the_threads(self):
        lines = SAMPLES.split("\n")
        ranges = {name: range(lines.index(f"def {name}(number):") + 2, lines.index(end) + 2)
                  for name, end in (("spin_one", "    return total"),
                                    ("spin_two", "    return sum([i * i for i in range(2000)])"))}
        for _ in self.each_run(SAMPLES):
            taken, discarded = map(int, self.out.split())
            self.assertLess(discarded, taken)
            found = {line["function"]: line for line in self.report()["hot"]["lines"]}
            for name, lines_of_it in ranges.items():
                self.assertIn(found[name]["line"], lines_of_it)


if __name__ == "__main__":
    unittest.main()
