"""What trains is distinguished from what gives the batches, on the real frameworks (step model 5.5)."""

import unittest

from framework import FrameworkTest

STEPS = 60


class ForeignLoaders(FrameworkTest):
    def check(self, shape, source, cause, words):
        self.hooked("foreign_loaders.py", shape)
        report = self.report()
        self.assertEqual(report["steps"]["count"], STEPS)
        self.assertEqual(report["steps"]["source"], source)
        advice = {found["id"]: found["advice"] for found in report["findings"]}
        self.assertIn(words, advice[cause])
        self.assertIn("input-bound", advice)

    def test_keras_on_torch(self):
        self.check("keras_torch", "train calls", "callback-bound", "steps_per_execution")

    def test_jax(self):
        self.check("jax_torch", "jit calls", "eval-heavy", "jax.jit")


if __name__ == "__main__":
    unittest.main()
