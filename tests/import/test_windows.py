"""What the supervisor makes of traces that a framework's profiler has left in a run: operations."""

import json
import os
import sys

import traces
from import_support import FINE, ImportTest

# What a process that trains does: the trace, then its facts, by which it is complete.
LEAVE = """import os, shutil, sys
for number, path in enumerate(sys.argv[1:], 1):
    to = os.path.join(os.environ["STEPSCOPE_RUN"], "window-7-%d.json" % number)
    shutil.copy(path, to)
    if not path.endswith("begun.json"):
        with open(to + ".facts", "w") as facts:
            facts.write("window\\t7\\t2\\t1700000000000000000\\t1000000\\t0\\t0\\t5000\\tPyTorch\\n")
"""


def two_steps():
    """Each 500 us: forward 100 (of which 60 in addmm), backward 200 (50 in mm), clipping 10,
    optimizer 40 (30 in add_), all in a scope of the script; then 30 of data."""
    trace = traces.Kineto()
    for at in (0, 500):
        trace.add("user_annotation", "train", at, 450)
        trace.add("cpu_op", "aten::linear", at + 5, 100)
        trace.add("cpu_op", "aten::addmm", at + 10, 60)
        trace.add("cpu_op", "autograd::engine::evaluate_function: X", at + 110, 200)
        trace.add("cpu_op", "aten::mm", at + 120, 50)
        trace.add("cpu_op", "aten::norm", at + 320, 10)
        trace.add("user_annotation", "Optimizer.step#SGD.step", at + 340, 40)
        trace.add("cpu_op", "aten::add_", at + 345, 30)
        trace.add("cpu_op", "enumerate(DataLoader)#X.__next__", at + 460, 30)
        trace.add("cpu_op", "gloo:all_reduce", at + 100, 20, thread=11)
        trace.add("kernel", "some_kernel", at, 400, thread=3)
    return trace


EXPECTED = {("aten::linear", "forward"): 40, ("aten::addmm", "forward"): 60,
            ("autograd::engine::evaluate_function: X", "backward"): 150,
            ("aten::mm", "backward"): 50, ("aten::norm", "optimizer"): 10,
            ("Optimizer.step#SGD.step", "optimizer"): 10, ("aten::add_", "optimizer"): 30,
            ("enumerate(DataLoader)#X.__next__", "data"): 30, ("gloo:all_reduce", "other"): 20}


class Windows(ImportTest):
    def recorded(self, *files, options=()):
        self.check(["run", "-q", "--dir", "runs", *options, "--", sys.executable, "-c", LEAVE, *files],
                   FINE)
        self.run_dir = os.path.realpath(self.path("runs/latest"))
        return json.loads(self.check(["report", "--json", self.run_dir], FINE).stdout)

    def left(self):
        return sorted(name for name in os.listdir(self.run_dir) if name.startswith("window-"))

    def test_operations_have_their_own_time_and_their_pass(self):
        path = two_steps().write(self.path("trace.json"))
        report = self.recorded(path, path)
        found = {(row["name"], row["pass"]): row for row in report["operations"]}
        shares = sum(EXPECTED.values()) + found["train", "forward"]["self_ns"] / 1000
        for key, micros in EXPECTED.items():
            self.assertEqual(found.pop(key), {
                "name": key[0], "layer": None, "pass": key[1], "calls": 1, "self_ns": micros * 1000,
                "share": micros / shares, "flops": None}, key)
        self.assertEqual(list(found), [("train", "forward")])
        self.assertEqual(report["captures"], {
            "windows": 2, "steps": 4, "wall_ns": 2_000_000, "coverage": 2 * 740 / 2000,
            "own_cost_ns": 10_000, "reason": None})
        self.assertEqual(self.left(), [])

    def test_traces_stay_if_they_are_wanted(self):
        path = two_steps().write(self.path("trace.json"))
        self.recorded(path, options=["--keep-traces"])
        self.assertEqual(self.left(), ["window-7-1.json"])

    def test_what_is_damaged_or_was_never_complete_is_left_out(self):
        good = two_steps().write(self.path("trace.json"))
        bad, begun = self.path("bad.json"), self.path("begun.json")
        with open(good, "rb") as file:
            text = file.read()
        for path in bad, begun:
            with open(path, "wb") as file:
                file.write(text[:len(text) // 2])
        report = self.recorded(bad, good, begun)
        self.assertEqual(report["captures"]["windows"], 1)
        self.assertEqual(self.left(), [])
        self.assertIsNone(self.recorded(bad)["operations"])

    def test_secrets_in_names_of_scopes_are_hidden(self):
        trace = traces.Kineto()
        trace.add("user_annotation", "fetch https://me:hunter2hunter2@host/x", 0, 10)
        report = self.recorded(trace.write(self.path("trace.json")))
        self.assertEqual([row["name"] for row in report["operations"]],
                         ["fetch https://me:***@host/x"])

    def test_names_are_strings_of_somebody_else(self):
        trace = traces.Kineto()
        name = "aten::\t\n\\ \x1b[31m" + "x" * 300
        trace.add("cpu_op", name, 0, 10)
        report = self.recorded(trace.write(self.path("trace.json")))
        self.assertEqual([row["name"] for row in report["operations"]], [name])
