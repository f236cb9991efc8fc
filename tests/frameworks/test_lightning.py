"""Lightning, under both of its names: real fits on the CPU, recorded without a change to the script."""

import itertools
import unittest

from framework import counts_of, last_line, spans_of
from truth import TruthTest


PLANNED = 24  # steps of the fourth fit
FITS = [18, 8, 12, PLANNED, 2]
STAGES = {"Careful.configure_optimizers": "setup", "Careful.transfer_batch_to_device": "transfer",
          "Careful.optimizer_step": "optimizer", "Careful.configure_gradient_clipping": "optimizer",
          "Careful.backward": "backward", "Careful.on_save_checkpoint": "callback",
          "Data.prepare_data": "setup", "Data.setup": "setup", "Data.train_dataloader": "setup",
          "Data.on_after_batch_transfer": "callback", "Patient.backward": "backward",
          "Patient.save_checkpoint": "checkpoint", "Waits.on_train_batch_end": "callback",
          "Waits.on_train_epoch_end": "callback", "Notes.log_metrics": "callback"}


class Fit(TruthTest):
    def test_both_packages(self):
        plain = last_line(self.plain("lightning_fit.py", "lightning.pytorch"))
        for package in ("lightning.pytorch", "pytorch_lightning"):
            with self.subTest(package=package):
                printed = last_line(self.hooked("lightning_fit.py", package))
                for what in ("digest", "profiled"):
                    self.assertEqual(printed[what], plain[what])
                if package == "lightning.pytorch":
                    self.assertEqual(printed["error"], plain["error"])
                report, steps = self.report(), self.steps_by_fit()
                self.check_loops(report)
                self.check_spans(report, counts_of(report))
                self.check_stages(report)
                self.assert_calls(printed["calls"])
                self.check_steps(steps, printed)
                self.check_time_to_finish(steps[3], printed["told"])
                self.assert_all_hooked()

    def steps_by_fit(self):
        steps = iter(self.steps())
        return [list(itertools.islice(steps, count)) for count in FITS]

    def check_loops(self, report):
        """3 epochs of 12 batches, an update every 2; 2 of 8; 2 of 6 with two optimizers; one of 24; one
        that fails."""
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        self.assertEqual([loop["name"] for loop in loops], ["fit"] * 5)
        self.assertEqual([loop["steps"]["count"] for loop in loops], FITS)
        self.assertEqual([loop["steps"]["batches"] for loop in loops], [36, 16, 12, PLANNED, 2])
        self.assertEqual([loop["steps"]["updates"] for loop in loops], [18, 8, 24, PLANNED, 4])
        self.assertEqual([loop["epochs_seen"] for loop in loops], [3, 2, 2, 1, 1])
        plans = [[loop["plan"][key] for key in ("steps", "epochs", "steps_per_epoch", "batch")]
                 for loop in loops]
        self.assertEqual(plans, [[18, 3, 6, 4], [None, 2, None, None], [12, 2, 6, 4],
                                 [PLANNED, 1, PLANNED, 4], [6, 1, 6, 4]])
        for segment in ("eval_ns", "checkpoint_ns", "between_ns"):
            self.assertGreater(loops[0]["books"][segment], 0, segment)

    def check_spans(self, report, counts):
        for key, count in ((("validate", "evaluation"), 3 + 1 + 1), (("test", "evaluation"), 1),
                           (("", "predict"), 1), (("", "save_checkpoint"), 3 + 1),
                           (("", "sanity check"), 5),  # four of them have nothing to check
                           (("ModelCheckpoint", "on_train_epoch_end"), 3 + 1),
                           (("", "configure_gradient_clipping"), 18 + 8),
                           (("", "clip_grad_norm_"), None),  # a part of it
                           (("", "lr_scheduler_step"), 18 + 8),
                           (("SGD", "step"), 12), (("SGD#2", "step"), 12)):
            self.assertEqual(counts.get(key), count, key)
        scopes = {(span["object"], span["name"]): span["scope"] for span in report["spans"]}
        self.assertEqual(scopes["Waits", "on_train_batch_start"], "batch_begin")
        self.assertEqual(scopes["Waits", "on_train_epoch_end"], "epoch_end")

    def check_stages(self, report):
        spans = {".".join(key): span for key, span in spans_of(report).items()}
        self.assertEqual({name: spans[name]["stage"] for name in STAGES if name in spans}, STAGES)
        self.assertEqual(report["books"]["infer_ns"], spans[".predict"]["total_ns"])

    def check_steps(self, steps, printed):
        """Delays of callbacks, loggers and transfers are in their stage of the step that has them."""
        true = printed["steps"]
        for number, of_fit in enumerate((true[:FITS[0]], true[FITS[0]:])):
            self.assert_steps(steps[number], of_fit, ("callback",), number)
        careful = zip(*(printed["calls"][name][:PLANNED] for name in (
            "Careful.transfer_batch_to_device", "Data.on_after_batch_transfer")))
        self.assert_steps(steps[3], [{"transfer": transfer, "callback": callback}
                                     for transfer, callback in careful],
                          ("transfer", "callback"))

    def check_time_to_finish(self, steps, told):
        """In the middle of the fit: as many steps are left, each of them as long as those before."""
        self.assertIn(told["steps"], range(1, PLANNED // 2 + 2))
        left = PLANNED - told["steps"]
        times = [step["time_ns"] for step in steps]
        self.assertGreaterEqual(told["left_ns"], left * min(times))
        self.assertLessEqual(told["left_ns"], left * (max(times) + told["wall_ns"] / told["steps"]))


if __name__ == "__main__":
    unittest.main()
