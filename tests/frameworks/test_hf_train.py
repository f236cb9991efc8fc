"""Hugging Face Trainer and Accelerate: real training on the CPU, recorded without a change to the
script."""

import unittest

from framework import counts_of, last_line, spans_of
from truth import TruthTest

STAGES = {"Waits.on_step_end": "callback", "Waits.on_log": "callback", "Mine.compute_loss": "forward",
          "Mine.evaluate": "eval", "Mine.predict": "infer", "Mine._save_checkpoint": "checkpoint",
          "Mine.save_model": "checkpoint", "Mine.log": "user"}


class Train(TruthTest):
    def test_trainer_and_accelerate(self):
        plain = last_line(self.plain("hf_train.py"))
        printed = last_line(self.hooked("hf_train.py"))
        for what in ("digest", "error"):
            self.assertEqual(printed[what], plain[what])
        report = self.report()
        self.check_loops(report)
        self.check_spans(report, counts_of(report))
        self.check_stages(report)
        self.assert_calls(printed["calls"])
        self.assert_steps(self.steps()[:12], printed["steps"], ("callback",))
        self.assert_all_hooked()

    def check_loops(self, report):
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        trainer, accelerate, failed, own_loss = loops
        self.assertEqual([loop["name"] for loop in loops], ["train", "", "train", "train"])
        for loop, steps, batches in ((trainer, 12, 22), (accelerate, 8, 14),
                                     (failed, 2, 2 + 1), (own_loss, 3, 3 + 1)):  # one is got ahead
            self.assertEqual(loop["steps"]["count"], steps)
            self.assertEqual(loop["steps"]["updates"], steps)
            self.assertEqual(loop["steps"]["batches"], batches)
        plan = [trainer["plan"][key] for key in ("steps", "epochs", "steps_per_epoch", "batch")]
        self.assertEqual(plan, [12, 2, 6, 8])
        self.assertEqual(trainer["epochs_seen"], 2)
        for segment in ("eval_ns", "checkpoint_ns", "between_ns"):
            self.assertGreater(trainer["books"][segment], 0, segment)
        self.assertEqual(accelerate["books"]["eval_ns"], 0)

    def check_stages(self, report):
        spans = {".".join(key): span for key, span in spans_of(report).items()}
        self.assertEqual({name: spans[name]["stage"] for name in STAGES if name in spans}, STAGES)
        self.assertEqual(report["books"]["infer_ns"], spans["Mine.predict"]["total_ns"])
        self.assertEqual(spans["Trainer.compute_loss"]["stage"], "forward")
        self.assertGreater(spans["Trainer.compute_loss"]["total_ns"], 3 * 5e6)
        places = {name: {place["place"]: place["count"] for place in spans[name]["loop"]}
                  for name in ("Waits.on_step_end", "Waits.on_log")}
        self.assertEqual(places, {"Waits.on_step_end": {"step": 12},
                                  "Waits.on_log": {"step": 12, "eval": 3, "between": 1}})

    def check_spans(self, report, counts):
        for key, count in ((("Mine", "get_batch_samples"), 12), (("", "backward"), 22 + 14 + 2 + 3),
                           (("Trainer", "training_step"), None), (("Trainer", "compute_loss"), 3),
                           (("", "clip_grad_norm_"), 12 + 14 + 2 + 3),
                           (("Slow", "step"), 12), (("SGD", "step"), 8),
                           (("LambdaLR", "step"), 1 + 12),  # one when it is made
                           (("AcceleratedScheduler", "step"), 14), (("", "save_state"), 1),
                           (("Mine", "predict"), 1), (("Mine", "save_model"), 1),
                           (("Mine", "log"), 12 + 3 + 1),  # of steps, evaluations, all at the end
                           (("DefaultFlowCallback", "on_step_end"), 12 + 2 + 3)):
            self.assertEqual(counts.get(key), count, key)
        scopes = {(span["object"], span["name"]): span["scope"] for span in report["spans"]}
        self.assertEqual(scopes["Waits", "on_step_begin"], "batch_begin")
        self.assertEqual(scopes["Waits", "on_epoch_end"], "epoch_end")


if __name__ == "__main__":
    unittest.main()
