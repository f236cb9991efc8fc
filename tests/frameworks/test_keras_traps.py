"""Keras beside what may get into a recorder's way: errors, signals, forks, threads, other
profilers."""

import glob
import json
import os
import re
import signal
import unittest

from framework import PROGRAM
from keras_checks import KerasTest, loops_of, names_of


class Errors(KerasTest):
    def test_the_traceback_is_the_same(self):
        for case in ("callback", "layer", "data", "predict", "traced", "compiled", "eager",
                     "replica"):
            with self.subTest(case=case):
                hooked, plain = self.both("keras_errors.py", case, expect=1)
                self.assertEqual(self.error(hooked.stderr), self.error(plain.stderr))

    def test_an_interrupt_is_one(self):
        hooked, plain = self.both("keras_errors.py", "interrupt", expect=-signal.SIGINT)
        self.assertEqual(self.error(hooked.stderr), self.error(plain.stderr))
        self.assertEqual(self.report()["steps"]["count"], 5)

    def test_killed_in_a_step(self):
        self.hooked("keras_errors.py", "kill", expect=-signal.SIGKILL)
        report = self.report()
        self.assertEqual(report["steps"]["count"], 5)
        self.assertEqual(report["run"]["signal"], signal.SIGKILL)

    def error(self, text):
        """Without the names of files that TensorFlow makes while it traces, which are random."""
        return re.sub(r"(autograph_generated_file)\w+", r"\1", text[text.index("Traceback"):])


TRAPS = {  # steps of each loop
    "fork": [20], "threads": [20, 20], "tensorboard": [20], "profiled": [50],
    "nested": [20], "processes": [20], "gone": [10],
}


class Traps(KerasTest):
    def test_all(self):
        reports = self.compare_many("keras_traps.py", *TRAPS)
        for case, steps in TRAPS.items():
            loops = loops_of(reports[case])
            self.assertEqual([loop["steps"]["count"] for loop in loops], steps, case)
            for loop in loops:
                self.assertEqual(loop["negative_ns"], 0, case)
        self.assertEqual(reports["nested"]["books"]["eval_ns"], 0)  # it is the callback's
        self.assertEqual(names_of(reports["nested"])["evaluate"]["count"], 2)
        # Whose the waits inside two compiled functions at once are is unknown.
        self.assertEqual([loop["stages"]["data"] for loop in reports["threads"]["loops"]],
                         [None, None])
        self.assertIn("two loops", reports["threads"]["not_measured"][0]["reason"])
        # Batches that TensorFlow's profiler watched are excluded from statistics.
        self.assertEqual(reports["tensorboard"]["steps"]["left_out"], 3)
        profiled, = loops_of(reports["profiled"])  # five calls of fit of one model
        self.assertEqual((profiled["steps"]["parts"], profiled["steps"]["left_out"]), (5, 30))
        self.assertEqual([step["counted"] for step in self.steps_of("profiled")],
                         [False] * 10 + [True] * 10 + [False] * 20 + [True] * 10)

    def steps_of(self, case):
        run, = glob.glob(os.path.join(self.folder, "many", "*-" + case))
        return [json.loads(line) for line in self.execute(
            [PROGRAM, "report", "--json", "--steps", run]).stdout.splitlines()]


if __name__ == "__main__":
    unittest.main()
