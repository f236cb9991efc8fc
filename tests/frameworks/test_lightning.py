"""Lightning, under both of its names: real fits on the CPU, recorded without a change to the script."""

import unittest

from framework import counts_of, last_line
from truth import TruthTest


class Fit(TruthTest):
    def test_both_packages(self):
        digest = last_line(self.plain("lightning_fit.py", "lightning.pytorch"))["digest"]
        for package in ("lightning.pytorch", "pytorch_lightning"):
            with self.subTest(package=package):
                printed = last_line(self.hooked("lightning_fit.py", package))
                self.assertEqual(printed["digest"], digest)
                report = self.report()
                self.check_loops(report)
                self.check_spans(report, counts_of(report))
                self.assert_calls(printed["calls"])
                self.assert_all_hooked()

    def check_loops(self, report):
        """3 epochs of 12 batches, an update every 2; 2 of 8; 2 of 6 with two optimizers."""
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        self.assertEqual([loop["name"] for loop in loops], ["fit"] * 3)
        self.assertEqual([loop["steps"]["count"] for loop in loops], [18, 8, 12])
        self.assertEqual([loop["steps"]["batches"] for loop in loops], [36, 16, 12])
        self.assertEqual([loop["steps"]["updates"] for loop in loops], [18, 8, 24])
        self.assertEqual([loop["epochs_seen"] for loop in loops], [3, 2, 2])
        plans = [[loop["plan"][key] for key in ("steps", "epochs", "steps_per_epoch", "batch")]
                 for loop in loops]
        self.assertEqual(plans, [[18, 3, 6, 4], [None, 2, None, None], [12, 2, 6, 4]])
        for segment in ("eval_ns", "checkpoint_ns", "between_ns"):
            self.assertGreater(loops[0]["books"][segment], 0, segment)

    def check_spans(self, report, counts):
        for key, count in ((("validate", "evaluation"), 3), (("", "save_checkpoint"), 3),
                           (("", "sanity check"), 3),  # two of them have nothing to check
                           (("ModelCheckpoint", "on_train_epoch_end"), 3),
                           (("", "configure_gradient_clipping"), 18 + 8),
                           (("", "lr_scheduler_step"), 18 + 8),
                           (("SGD", "step"), 12), (("SGD#2", "step"), 12)):
            self.assertEqual(counts.get(key), count, key)
        scopes = {(span["object"], span["name"]): span["scope"] for span in report["spans"]}
        self.assertEqual(scopes["Waits", "on_train_batch_start"], "batch_begin")
        self.assertEqual(scopes["Waits", "on_train_epoch_end"], "epoch_end")


if __name__ == "__main__":
    unittest.main()
