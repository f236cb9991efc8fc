"""PyTorch: how many samples batches have, and what more workers would make of a step."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from disturbance import is_disturbed
from framework import FrameworkTest, last_line

EPOCHS = "4"
MAKE_MS, REST_MS, STEPS = 36, 4, 80  # two workers are still four times slower than the loop
SLACK = 0.25  # of a step: what a sleep on a busy machine is longer by


def loops_of(report):
    return sorted(report["loops"], key=lambda loop: loop["start_ns"])


def finding_of(report, wanted):
    return next((found for found in report["findings"] if found["id"] == wanted), None)


def ns_of(text):
    number, unit = text.split()
    return float(number) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]


class Samples(FrameworkTest):
    def test_two_sizes_give_the_cost_of_a_step_and_of_a_sample(self):
        plain = last_line(self.plain("torch_inputs.py", "sizes"))
        self.assertEqual(last_line(self.hooked("torch_inputs.py", "sizes")), plain)
        report = self.report()
        # The last batch of an epoch is smaller, which is seen if it is one that is looked at.
        self.assertEqual([(loop["steps"]["count"], loop["steps"]["samples"])
                          for loop in loops_of(report)], [(250, 4000), (32, 32 * 128)])
        found = finding_of(report, "overhead-bound")
        self.assertIsNotNone(found, report["findings"])
        self.assertRegex(found["evidence"], r"a batch of 16 computes in .*, one of 128 in .*: "
                                            r"roughly .* per step plus .* per sample$")
        self.assertNotIn("overhead-bound", report["unobservable"])

    def test_kinds_of_batches(self):
        plain = last_line(self.plain("torch_inputs.py", "kinds"))
        hooked = last_line(self.hooked("torch_inputs.py", "kinds"))
        self.assertEqual(hooked, plain)  # no code of the script ran
        self.assertGreater(plain["calls"], 0)
        # Of the first batch and the 17th; the last one is of 2.
        known = 21 * 4
        self.assertEqual([loop["steps"].get("samples") for loop in loops_of(self.report())],
                         [known, known, known, None, None, None])


class Workers(FrameworkTest):
    """A dataset that sleeps: the truth is how long a step takes with more workers."""

    def train(self, workers):
        arguments = ("torch_inputs.py", "workers", workers, MAKE_MS, REST_MS, STEPS)
        found = last_line(self.hooked(*map(str, arguments)))
        return found["step_ns"], self.report()

    def test_more_workers(self):
        truth, reports = {}, {}
        for workers in (0, 1, 2, 4):
            truth[workers], reports[workers] = self.train(workers)
        findings = {workers: finding_of(report, "input-bound") for workers, report in reports.items()}
        for workers in (0, 1, 2):
            self.assertIsNotNone(findings[workers], (workers, reports[workers]["findings"]))
        self.check_advice(findings)
        told = [self.check_prediction(findings[workers], truth) for workers in (0, 1, 2)]
        # Where others have the cores, replays do not agree with what was recorded, and nothing is predicted.
        self.assertTrue(any(told) or any(map(is_disturbed, reports.values())), findings)

    def check_prediction(self, found, truth):
        """Whether there is one; it is right then."""
        told = re.search(r"with (\d+) workers? a step would take (\S+ \w+) to (\S+ \w+) instead of",
                         found["advice"])
        if not told or int(told[1]) not in truth:
            return False
        true = truth[int(told[1])]
        self.assertLessEqual(ns_of(told[2]), true * (1 + SLACK), (told[0], truth))
        self.assertGreaterEqual(ns_of(told[3]), true * (1 - SLACK), (told[0], truth))
        return True

    def check_advice(self, findings):
        """It fits the workers that are there."""
        self.assertIn("give the DataLoader workers", findings[0]["advice"])
        for workers in (1, 2):
            self.assertNotIn("give the DataLoader workers", findings[workers]["advice"])
            self.assertRegex(findings[workers]["evidence"],
                             r"\d of %d workers were busy on average" % workers)


class InMemory(FrameworkTest):
    """Tensors in memory: to hand a batch over takes a worker longer than to make it takes the loop."""

    def step_ns(self, kind):
        return last_line(self.plain("torch_in_memory.py", kind, EPOCHS))["step_ns"]

    def test_the_advice_makes_it_faster_where_workers_would_not(self):
        self.hooked("torch_in_memory.py", "samples", EPOCHS)
        found = finding_of(self.report(), "input-bound")
        self.assertIn("index tensors in memory with all indices of the batch", found["advice"])
        self.assertIn("do not use num_workers", found["advice"])
        self.assertNotRegex(found["advice"], r"num_workers=|would take")
        pairs = [(self.step_ns("batches"), self.step_ns("samples")) for _ in range(3)]
        self.assertLess(min(batches for batches, _ in pairs),
                        min(samples for _, samples in pairs), pairs)


if __name__ == "__main__":
    unittest.main()
