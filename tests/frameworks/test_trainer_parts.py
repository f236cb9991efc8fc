"""Trainings in several parts, by real trainers (step model 5.3)."""

import unittest

from framework import PROGRAM, FrameworkTest

STEPS = 6


class TrainerParts(FrameworkTest):
    def check(self, trainer):
        self.hooked("trainer_parts.py", trainer)
        report = self.report()
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        self.assertEqual([(loop["steps"]["count"], loop["steps"]["parts"]) for loop in loops],
                         [(3 * STEPS, 3), (3 * STEPS, 3), *3 * [(STEPS, 1)]])
        for loop in loops[:2]:
            self.assertEqual([(part["part"], part["steps"]) for part in loop["parts"]],
                             [(number, STEPS) for number in (1, 2, 3)])
            self.assertLessEqual(sum(part["step_ns"] for part in loop["parts"]),
                                 sum(part["wall_ns"] for part in loop["parts"]))
        self.assertEqual(loops[-1]["parts"], [])
        self.assert_closed(report["books"])
        text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
        self.assertEqual("Parts of this training: 3;" in text, bool(report["parts"]))

    def test_keras(self):
        self.check("keras")

    def test_a_model_that_is_compiled_again_is_another_training(self):
        self.hooked("trainer_parts.py", "compiled_again")
        loops = self.report()["loops"]
        self.assertEqual([(loop["steps"]["count"], loop["steps"]["parts"]) for loop in loops],
                         2 * [(2 * STEPS, 2)])
        for loop in loops:
            self.assertGreater(loop["books"]["compile_ns"], 0)

    def test_lightning(self):
        self.check("lightning")

    def test_transformers(self):
        self.check("transformers")


if __name__ == "__main__":
    unittest.main()
