"""The verdict that each script of tests/frameworks/seeds must get: what people write to find out why
their training is slow."""

import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "frameworks")]

from keras_checks import KerasTest  # noqa: E402

from disturbance import ITEMS as DISTURBANCES  # noqa: E402
from disturbance import is_disturbed  # noqa: E402

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
    "function_retraces": (("retrace-storm",), "train_step (function_retraces.py:18) is compiled again and again"),
    "function_profiled": (("too-few-steps",), ""),
    "callback_counts": (("too-few-steps",), ""),
    "callback_predicts": (("callback-bound",), "Extensive.on_train_batch_end"),
    "callback_precision": (("callback-bound",), "Precision.on_train_batch_end"),
    # A warning, unless a busy machine leaves open how much of it is fixed.
    "batch_sizes": (("overhead-bound", *TINY), ""),
    # On a machine with much else to do a small batch costs more than the wait.
    "batch_sizes-0.05": (("user-code", "overhead-bound"), ""),
}


def of_the_script(report):
    """The verdict and its finding. If other programs had the cores, which is confirmed and stands first, what
    comes next is what the script does."""
    findings = report["findings"]
    if report["verdict"] in DISTURBANCES and is_disturbed(report):
        findings = [found for found in findings if found["id"] not in DISTURBANCES]
        if findings:
            return findings[0]["id"], findings[0]
    return report["verdict"], findings[0] if findings else None


class Verdicts(KerasTest):
    def test_all(self):
        seeds = (seed.replace("-", ":", 1) for seed in VERDICTS)
        _, reports = self.run_many("keras_seeds.py", *seeds)
        for seed, (wanted, words) in VERDICTS.items():
            with self.subTest(seed=seed):
                report = reports[seed]
                if set(TINY) <= set(wanted) and report["validity"]["level"] == "warn":
                    wanted = (*wanted, "inconclusive", "preempted")  # other programs left it open
                verdict, first = of_the_script(report)
                self.assertIn(verdict, wanted, report["findings"])
                if words:
                    self.assertIn(words, first["claim"] + first["evidence"])
        self.check_batch_sizes(reports["batch_sizes"])
        self.check_wait(reports["batch_sizes-0.05"])

    def check_wait(self, report):
        """Line 26 waits, and takes all of the time that is in no stage. TensorFlow may take seconds to
        tear an iterator down, at the line of the loop, 24: that is in no step."""
        found = next(f for f in report["findings"] if f["id"] == "user-code")
        self.assertIn("batch_sizes.py:26 (train)", found["claim"])
        self.assertNotEqual(found["severity"], "info")
        counts = {row["line"]: row["count"] for row in report["hot"]["lines"]
                  if row["stage"] == "other"}
        self.assertGreaterEqual(counts[26], 0.95 * sum(counts.values()), counts)

    def check_batch_sizes(self, report):
        """What a step and a sample cost, from the times of the two loops."""
        small, large = (loop["steps"]["steady"]["p50_ns"] for loop in report["loops"])
        found = next(f for f in report["findings"] if f["id"] == "overhead-bound")
        self.assertEqual(found["severity"] == "warn", found["share_ci"][0] >= 0.5, found)
        self.assertRegex(found["claim"], r"with batches of 16 samples, \d+ % of the step is a fixed cost")
        self.assertRegex(found["evidence"], r"a batch of 16 computes in .*, one of 128 in .* per sample")
        # The line through both, with the part of the step that is no computing left out.
        fixed = 1 - (large / small - 1) * 16 / (128 - 16)
        low, high = found["share_ci"]
        self.assertTrue(low - 0.2 <= fixed <= high + 0.2, (fixed, found))


if __name__ == "__main__":
    unittest.main()
