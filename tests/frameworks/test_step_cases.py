"""Rules on steps that come from scripts of others, on the real frameworks (step model 1.3, 3.1, 3.4, 3.6, 4.4)."""

import unittest

from framework import FrameworkTest

STEPS, LAST_NS = 60, 1_000_000_000


class StepCases(FrameworkTest):
    def record(self, case):
        self.hooked("step_cases.py", case)
        report = self.report()
        self.assert_closed(report["books"])
        self.assertEqual(report["lost"]["negative_ns"], 0)
        return report

    def test_gradients_that_are_subtracted_by_hand(self):
        report = self.record("tf_by_hand")
        self.assertEqual([(loop["steps"]["count"], loop["steps"]["source"]) for loop in report["loops"]],
                         [(STEPS, "gradients")])

    def test_four_trainings_of_one_script(self):
        loops = sorted(self.record("tf_four_trainings")["loops"], key=lambda loop: loop["start_ns"])
        self.assertEqual([loop["steps"]["count"] for loop in loops], [STEPS, STEPS, STEPS - 4, STEPS])

    def test_modules_that_make_batches(self):
        report = self.record("torch_transforms")
        self.assertEqual(report["steps"]["count"], STEPS)
        stages = report["stages"]
        self.assertGreater(stages["data"]["total_ns"], stages["forward"]["total_ns"])
        self.assertEqual(report["verdict"], "input-bound")
        self.assertEqual(report["books"]["eval_ns"], 0)

    def test_what_follows_the_last_step_is_teardown(self):
        report = self.record("torch_long_exit")
        self.assertEqual(report["steps"]["count"], STEPS)
        self.assertGreater(report["books"]["teardown_ns"], LAST_NS)
        books = report["loops"][0]["books"]
        self.assertLess(books["wall_ns"], report["books"]["wall_ns"] - LAST_NS)


if __name__ == "__main__":
    unittest.main()
