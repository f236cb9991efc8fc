"""The verdict that each script of tests/frameworks/seeds must get: what people write to find out why
their training is slow."""

import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "frameworks"))

from keras_checks import KerasTest  # noqa: E402

# Some compute so little for a batch that getting it is a good part of the step; how good a part, the
# machine decides.
TINY = ("healthy", "compute-bound", "input-bound")

# Script: verdicts, any of which is right, and what the first finding must say.
VERDICTS = {
    "eager_batches": (TINY, ""),
    "eager_augments": ((*TINY, "user-code"), ""),
    "mirrored_function": (TINY, ""),
    "timed_pipeline": (("no-steps",), ""),
    "summary_of_epochs": (("no-steps",), ""),
    "function_batches": (TINY, ""),
    "function_retraces": (("retrace-storm",), "train_step.trace is compiled again and again"),
    "function_profiled": (("too-few-steps",), ""),
    "callback_counts": (("too-few-steps",), ""),
    "callback_predicts": (("callback-bound",), "Extensive.on_train_batch_end"),
    "callback_precision": (("callback-bound",), "Precision.on_train_batch_end"),
    "batch_sizes": (TINY, ""),
    # Line 26 sleeps, but of the samples some have the line of the loop around it, 24. Where these are most,
    # it may be the call of a trainer for all we know, and is only named as evidence.
    "batch_sizes-0.05": (("user-code", "instrument-more"), "batch_sizes.py:2"),
}


class Verdicts(KerasTest):
    def test_all(self):
        seeds = (seed.replace("-", ":", 1) for seed in VERDICTS)
        _, reports = self.run_many("keras_seeds.py", *seeds)
        for seed, (wanted, words) in VERDICTS.items():
            with self.subTest(seed=seed):
                report = reports[seed]
                self.assertIn(report["verdict"], wanted, report["findings"])
                if words:
                    first = report["findings"][0]
                    self.assertIn(words, first["claim"] + first["evidence"])
        # An eager loop does not tell how many samples a batch has: two sizes say nothing then.
        self.assertIn("overhead-bound", reports["batch_sizes"]["unobservable"])


if __name__ == "__main__":
    unittest.main()
