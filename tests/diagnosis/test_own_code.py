"""Time that no framework knows of, in the script's own loop: which line has it, whether it is the
input, and how much of the step, by the script's own clock."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "frameworks"))

from disturbance import check_undisturbed  # noqa: E402
from framework import PROGRAM, PYTHON, FrameworkTest, last_line  # noqa: E402

SCRIPT = os.path.join(HERE, "own_loops.py")
MACHINE = {"preempted", "steal", "cgroup-throttled", "clock-drop", "page-faults", "fresh-memory",
           "cpu-oversubscribed", "drift", "bimodal"}
IDS = {"generator": "input-bound", "body": "user-code", "inside": "user-code"}


def line_of(mark):
    with open(SCRIPT, encoding="utf-8") as script:
        return 1 + next(i for i, line in enumerate(script) if line.rstrip().endswith("# " + mark))


class OwnCode(FrameworkTest):
    def train(self, framework, mode, scale):
        """The true shares of the steady steps, findings by id and the report. More samples than usual make
        intervals narrow, so that it shows if they are wrong."""
        done = self.execute(self.recording([PYTHON, SCRIPT, framework, mode, str(scale)]),
                            STEPSCOPE_SAMPLE_HZ="100")
        report = self.report()
        first = report["steps"]["warmup"]
        steady = last_line(done)[first:first + report["steps"]["steady"]["count"]]
        whole = sum(step["all"] for step in steady)
        truth = {part: sum(step[part] for step in steady) / whole for part in IDS}
        return truth, {f["id"]: f for f in reversed(report["findings"])}, report

    def trained(self, framework, mode, check):
        """What `check` returns of a training, which names the time of the script's own code."""
        def named(truth, found, report):
            self.assertNotIn("instrument-more", found)
            return check(truth, found, report)

        return check_undisturbed(lambda scale: self.train(framework, mode, scale), named)

    def check(self, truth, found, part, function, widest=0.3):
        """The line, and the size: a true 95 % interval may miss by a little now and then."""
        self.assertIn(IDS[part], found)
        finding = found[IDS[part]]
        self.assertIn("own_loops.py:%d (%s)" % (line_of(part), function), finding["claim"])
        low, high = finding["share_ci"]
        some = (high - low) / 2
        self.assertTrue(low - some <= truth[part] <= high + some, (truth, finding))
        self.assertLess(high - low, widest)

    def check_input(self, truth, found, report):
        self.check(truth, found, "generator", "batches")
        finding = found["input-bound"]
        self.assertIn("estimate", finding["claim"])
        self.assertIn("estimate", finding["unknown"])
        self.assertEqual(finding["share_kind"], "estimate")
        if truth["body"] > 0.1:
            self.check(truth, found, "body", "wait")

    def assert_first(self, wanted, report):
        """Of what is not the machine's own disturbance."""
        ids = [f["id"] for f in report["findings"] if f["id"] not in MACHINE]
        self.assertEqual(ids[:1], [wanted], report["findings"])

    def check_generator(self, truth, found, report):
        self.check_input(truth, found, report)
        self.assert_first("input-bound", report)
        self.assertNotIn("user-code", found)
        text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
        self.assertIn(": the script spends an estimated ", " ".join(text.split()))

    def check_body(self, truth, found, report):
        self.assert_first("user-code", report)
        self.check(truth, found, "body", "wait")
        self.assertNotIn("input-bound", found)

    def check_inside(self, truth, found, report):
        if "preempted" in found and found["preempted"]["share"] > 0.5:
            # Looks take a thread that is ready for one that runs, so a starved loop seems to compute.
            self.assertEqual(report["verdict"], "preempted")
            return
        self.assert_first("user-code", report)
        # On a busy machine a thread that was woken counts as running while it waits for a core.
        self.check(truth, found, "inside", "with_torch.<locals>.Net.forward", widest=0.6)
        self.assertEqual(found["user-code"]["share_kind"], "estimate")

    def test_a_generator(self):
        for how in (("torch", "generator"), ("torch", "next"), ("tape", "generator")):
            with self.subTest(how):
                self.trained(*how, self.check_generator)

    def test_the_body(self):
        self.trained("torch", "body", self.check_body)

    def test_inside_the_forward_pass(self):
        self.trained("torch", "inside", self.check_inside)

    def test_what_computes_there_is_no_wait(self):
        self.trained("torch", "busy", lambda _, found, __: self.assertNotIn("user-code", found))

    def test_both(self):
        for framework in ("torch", "tape"):
            with self.subTest(framework):
                self.trained(framework, "both", self.check_input)


if __name__ == "__main__":
    unittest.main()
