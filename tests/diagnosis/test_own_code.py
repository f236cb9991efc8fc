"""Time that no framework knows of, in the script's own loop: which line has it, whether it is the
input, and how much of the step, by the script's own clock."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "frameworks"))

from framework import PROGRAM, PYTHON, FrameworkTest, last_line  # noqa: E402

SCRIPT = os.path.join(HERE, "own_loops.py")
MACHINE = {"preempted", "steal", "cgroup-throttled", "clock-drop", "page-faults", "fresh-memory",
           "cpu-oversubscribed", "drift", "bimodal"}
IDS = {"generator": "input-bound", "body": "user-code", "inside": "user-code"}


def line_of(mark):
    with open(SCRIPT, encoding="utf-8") as script:
        return 1 + next(i for i, line in enumerate(script) if line.rstrip().endswith("# " + mark))


class OwnCode(FrameworkTest):
    def train(self, framework, mode):
        """The true shares of the steady steps, the report and its findings by id. More samples than
        usual make intervals narrow, so that it shows if they are wrong."""
        done = self.execute(self.recording([PYTHON, SCRIPT, framework, mode]),
                            STEPSCOPE_SAMPLE_HZ="100")
        report = self.report()
        self.assertNotIn("instrument-more", [f["id"] for f in report["findings"]])
        first = report["steps"]["warmup"]
        steady = last_line(done)[first:first + report["steps"]["steady"]["count"]]
        whole = sum(step["all"] for step in steady)
        truth = {part: sum(step[part] for step in steady) / whole for part in IDS}
        return truth, report, {f["id"]: f for f in reversed(report["findings"])}

    def check(self, truth, found, part, function, widest=0.3):
        """The line, and the size: a true 95 % interval may miss by a little now and then."""
        finding = found[IDS[part]]
        self.assertIn("own_loops.py:%d (%s)" % (line_of(part), function), finding["claim"])
        low, high = finding["share_ci"]
        some = (high - low) / 2
        self.assertTrue(low - some <= truth[part] <= high + some, (truth, finding))
        self.assertLess(high - low, widest)
        return finding

    def check_input(self, *how):
        truth, report, found = self.train(*how)
        finding = self.check(truth, found, "generator", "batches")
        self.assertIn("estimate", finding["claim"])
        self.assertIn("estimate", finding["unknown"])
        self.assertEqual(finding["share_kind"], "estimate")
        if truth["body"] > 0.1:
            self.check(truth, found, "body", "wait")
        return report, found

    @staticmethod
    def first(report):
        """Of what is not the machine's own disturbance."""
        return next(f["id"] for f in report["findings"] if f["id"] not in MACHINE)

    def test_a_generator(self):
        for how in (("torch", "generator"), ("torch", "next"), ("tape", "generator")):
            with self.subTest(how):
                report, found = self.check_input(*how)
                self.assertEqual(self.first(report), "input-bound", report["findings"])
                self.assertNotIn("user-code", found)
                text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
                self.assertIn(": the script takes an estimated ", " ".join(text.split()))

    def test_the_body(self):
        truth, report, found = self.train("torch", "body")
        self.assertEqual(self.first(report), "user-code", report["findings"])
        self.check(truth, found, "body", "wait")
        self.assertNotIn("input-bound", found)

    def test_inside_the_forward_pass(self):
        truth, report, found = self.train("torch", "inside")
        self.assertEqual(self.first(report), "user-code", report["findings"])
        # On a busy machine a thread that was woken counts as running while it waits for a core.
        finding = self.check(truth, found, "inside", "with_torch.<locals>.Net.forward", widest=0.6)
        self.assertEqual(finding["share_kind"], "estimate")

    def test_what_computes_there_is_no_wait(self):
        self.assertNotIn("user-code", self.train("torch", "busy")[2])

    def test_both(self):
        for framework in ("torch", "tape"):
            with self.subTest(framework):
                self.check_input(framework, "both")


if __name__ == "__main__":
    unittest.main()
