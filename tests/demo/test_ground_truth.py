"""The report says what the trainer's own clock says, whatever makes the training slow.

Two clocks are read one after the other. A thread that is taken off its core in between makes them
differ by that time, so the trainer measures it too (`unsure_ns`), and it is allowed for."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from disturbance import check_undisturbed
from support import SMALL, SOAK, STAGES, DemoTest

MS = 1_000_000
SHARE = 0.01  # the report may differ by this part,
SLACK_NS = 20_000  # or by this much per step

STEPS = 600 if SOAK else 250
CHECKPOINTS = STEPS // 100

# For each fault three sizes, how often it is at work in a training of this many steps, and the stage
# that it makes longer: of a step, or "produce" and "checkpoint" beside and between steps.
FAULTS = {
    "slow-input": (("1ms", "3ms", "8ms"), None, "produce"),
    "slow-callback": (("GradientNorm:500us", "2ms", "MetricLog:6ms"), STEPS, "callback"),
    "slow-callback-every": (("10:5ms", "25:10ms", "GradientNorm:50:30ms"), None, "callback"),
    "heavy-layer": (("hidden1:500us", "2ms", "output:6ms"), STEPS, "forward"),
    "growing-step": (("2us", "5us", "20us"), STEPS, "forward"),
    "long-warm-up": (("20:5ms", "50:10ms", "80:3ms"), None, "forward"),
    "periodic-pause": (("10:5ms", "50:20ms", "100:60ms"), None, "other"),
    "checkpoint-stall": (("20ms", "60ms", "200ms"), CHECKPOINTS, "checkpoint"),
    "leak": (("16KB", "128KB", "512KB"), STEPS, "callback"),
    "tiny-batch": (("1", "4", "16"), None, None),
    "cpu-hog": (("1", "2", "4"), None, None),
}
ALL_SIZES = ("slow-input", "slow-callback", "heavy-layer")  # the others have one, but in a soak


def cases():
    for name, (sizes, _, _) in FAULTS.items():
        for size in sizes if SOAK or name in ALL_SIZES else sizes[1:2]:
            yield name, size


class GroundTruth(DemoTest):
    def train_and_compare(self, *faults):
        """Trains with these faults; the truth and the report, after the report was found to agree."""
        return check_undisturbed(lambda scale: self.train(*faults), self.compare)

    def train(self, *faults):
        arguments = [word for fault in faults for word in ("--fault", fault)]
        truth_file = self.path("truth.json")
        _, run = self.record(*SMALL, "--steps", str(STEPS), "--truth", truth_file, *arguments)
        with open(truth_file, encoding="utf-8") as file:
            truth = json.load(file)
        return truth, self.report(run)

    def compare(self, truth, report):
        self.check_books(report)
        self.compare_steps(truth, report)
        self.compare_cuts(truth, report)
        self.compare_names(truth, report)
        return truth, report

    def assert_close(self, said, true, slack_ns, unsure_ns, what):
        self.assertLessEqual(abs(said - true), max(SHARE * true, slack_ns) + unsure_ns,
                             f"{what}: the report says {said:.0f} ns, the trainer {true:.0f} ns")

    def compare_steps(self, truth, report):
        steps, warmup = truth["steps"], report["steps"]["warmup"]
        self.assertEqual(steps["count"], STEPS)
        self.assertEqual(report["steps"]["count"], STEPS)
        self.assertEqual(report["steps"]["samples"], STEPS * truth["batch"])
        count = STEPS - warmup
        self.assertEqual(report["steps"]["steady"]["count"], count)
        mean = {stage: sum(steps[stage + "_ns"][warmup:]) / count for stage in STAGES}
        wall = sum(steps["wall_ns"][warmup:]) / count
        mean["other"] = wall - sum(mean.values())
        unsure = sum(steps["unsure_ns"][warmup:]) / count
        self.assert_close(report["steps"]["steady"]["mean_ns"], wall, SLACK_NS, unsure, "step")
        for stage, true in mean.items():
            self.assert_close(report["stages"][stage]["mean_ns"], true, SLACK_NS, unsure, stage)

    def compare_cuts(self, truth, report):
        """Evaluation and checkpoints: few of them, so the slack is for each."""
        parts = {part["stage"]: part for part in truth["parts"]}
        for cut in ("eval", "checkpoint"):
            self.assert_close(report["books"][cut + "_ns"], truth["loop"][cut + "_ns"],
                              SLACK_NS * parts[cut]["count"], parts[cut]["unsure_ns"], cut)

    def compare_names(self, truth, report):
        spans = {(span["name"], span["object"]): span for span in report["spans"]}
        for part in truth["parts"]:
            span = spans[part["name"], part["object"]]
            self.assertEqual((span["stage"], span["count"]), (part["stage"], part["count"]))
            self.assert_close(span["total_ns"], part["total_ns"], SLACK_NS * part["count"],
                              part["unsure_ns"], part["name"])

    def check_fault(self, truth, report, name):
        """The fault took the time that it was asked to take, and the report shows where."""
        _, times, stage = FAULTS[name]
        fault, = [fault for fault in truth["faults"] if fault["name"] == name]
        if times is not None:
            self.assertEqual(fault["times"], times)
        elif stage is not None:
            self.assertGreater(fault["times"], 0)
        if name != "growing-step":
            self.assertGreaterEqual(fault["spent_ns"], fault["times"] * fault["ns"])
        if stage is None:
            return
        shown = {"produce": sum(span["total_ns"] for span in report["spans"]
                                if span["stage"] == "produce"),
                 "checkpoint": report["books"]["checkpoint_ns"]}
        steps = report["steps"]
        if stage in report["stages"] and steps["warmup"] == 0:
            shown[stage] = report["stages"][stage]["total_ns"]
        if stage in shown:
            self.assertGreaterEqual(shown[stage], 0.99 * fault["spent_ns"])

    def test_a_healthy_training(self):
        truth, report = self.train_and_compare()
        self.assertEqual(truth["faults"], [])
        self.assertEqual(len(report["loops"]), 1)
        self.assertEqual(report["loops"][0]["name"], "train")

    def test_each_fault(self):
        for name, size in cases():
            with self.subTest(fault=f"{name}={size}"):
                truth, report = self.train_and_compare(f"{name}={size}")
                self.check_fault(truth, report, name)

    def test_faults_together(self):
        faults = "slow-input=3ms", "slow-callback=1ms", "periodic-pause=50:10ms", "leak=16KB"
        truth, report = self.train_and_compare(*faults)
        for fault in faults:
            self.check_fault(truth, report, fault.partition("=")[0])

    def test_the_culprit_has_a_name(self):
        _, report = self.train_and_compare("slow-callback=GradientNorm:3ms")
        callbacks = [span for span in report["spans"] if span["stage"] == "callback"]
        self.assertEqual(max(callbacks, key=lambda span: span["total_ns"])["object"], "GradientNorm")
        _, report = self.train_and_compare("heavy-layer=hidden1:3ms")
        layers = [span for span in report["spans"]
                  if span["name"] in ("hidden1", "hidden2", "output")]
        self.assertEqual(max(layers, key=lambda span: span["total_ns"])["name"], "hidden1")

    def test_a_long_warm_up_is_cut_off(self):
        """Cells of the model hold several steps in a long run, here one: the cut is where the slow
        steps end, or later if the machine was slow as well."""
        _, report = self.train_and_compare("long-warm-up=50:10ms")
        self.assertGreaterEqual(report["steps"]["warmup"], 45)
        self.assertLess(report["steps"]["steady"]["p50_ns"], 10 * MS)


if __name__ == "__main__":
    unittest.main()
