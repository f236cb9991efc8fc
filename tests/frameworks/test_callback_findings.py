"""Callbacks in evaluation, in steps and after epochs, what they save, and functions that are compiled
again and again: what is said of them in trainings that time themselves."""

import unittest

from callback_trainings import EPOCHS, EVAL_STEPS, STEPS
from framework import FrameworkTest, last_line


def place_of(span, place):
    return next((one for one in span["loop"] if one["place"] == place), {"count": 0, "total_ns": 0})


class Callbacks(FrameworkTest):
    def fit(self, case, evaluated, after, saves):
        """The hooks of SlowTest and SlowEpoch, and the callback that saves, with its hook."""
        truth = last_line(self.hooked("callback_trainings.py", case))
        report = self.report()
        self.assertEqual(report["steps"]["count"], EPOCHS * STEPS)
        self.truth, self.wall_ns = truth, report["loops"][0]["books"]["wall_ns"]
        self.spans = {span["object"] + "." + span["name"]: span for span in report["spans"]}
        self.check_places(evaluated, after)
        self.check_findings(report["findings"], after, saves)

    def check_places(self, evaluated, after):
        inside = place_of(self.spans["SlowTest." + evaluated], "eval")
        self.assertEqual(inside["count"], EPOCHS * EVAL_STEPS)
        self.assert_near(inside["total_ns"], self.truth["SlowTest"], 0.02, 1e7, evaluated)
        self.assertIsNone(self.spans["SlowTest." + evaluated]["share"])
        between = place_of(self.spans["SlowEpoch." + after], "between")
        self.assertEqual(between["count"], EPOCHS)
        self.assertEqual(place_of(self.spans["SlowLog.on_train_batch_end"], "step")["count"],
                         EPOCHS * STEPS)

    def check_findings(self, findings, after, saves):
        named = {f["claim"].partition(" ")[0]: f for f in findings if f["id"] == "callback-bound"}
        self.assertLessEqual({"SlowEpoch." + after, "SlowLog.on_train_batch_end"}, set(named))
        self.assertFalse([name for name in named if name.startswith("SlowTest")], named)
        self.assertNotIn(saves, named)
        self.check_loop(named["SlowEpoch." + after], self.truth["SlowEpoch"])
        in_steps = named["SlowLog.on_train_batch_end"]
        self.assertEqual(in_steps["of"], "the step")
        self.assertIn("%d calls of" % (EPOCHS * STEPS), in_steps["evidence"])
        others = {f["id"]: f for f in findings}
        self.assertNotIn("SlowEpoch", str(others.get("setup-heavy")))
        self.check_loop(others["checkpoint-heavy"], self.truth["save"])
        self.assertIn("inside " + saves, others["checkpoint-heavy"]["evidence"])
        self.assertIn("of it in SlowTest", others["eval-heavy"]["evidence"])

    def check_loop(self, finding, true_ns):
        self.assertEqual(finding["of"], "the loop")
        self.assert_near(finding["share"] * self.wall_ns, true_ns, 0.05, 1e7, finding)

    def test_keras(self):
        self.fit("keras", "on_test_batch_end", "on_epoch_end", "ModelCheckpoint.on_epoch_end")

    def test_lightning(self):
        self.fit("lightning", "on_validation_batch_end", "on_train_epoch_end",
                 "Keep.on_train_epoch_end")


class Compiling(FrameworkTest):
    def storm(self, case):
        self.hooked("callback_trainings.py", case)
        found = {f["id"]: f for f in self.report()["findings"]}
        self.assertIn("retrace-storm", found)
        self.assertIn("helper (callback_trainings.py:", found["retrace-storm"]["claim"])
        return found["retrace-storm"]["evidence"]

    def test_tensorflow(self):
        evidence = self.storm("tensorflow")
        self.assertIn("again 59 times in 240 steps", evidence)
        self.assertIn("number was Literal[58], is Literal[59]", evidence)

    def test_torch(self):
        evidence = self.storm("torch")
        self.assertIn("again 19 times in 80 steps", evidence)
        self.assertIn("expected 34, actual 35", evidence)


if __name__ == "__main__":
    unittest.main()
