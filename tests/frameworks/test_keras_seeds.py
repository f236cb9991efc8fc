"""Scripts as people write them to find out why training is slow (tests/frameworks/seeds)."""

import unittest

from keras_checks import KerasTest, loops_of, names_of

SEEDS = {  # steps of each loop
    "eager_batches": [64], "eager_augments": [64], "mirrored_function": [64],
    "timed_pipeline": [], "summary_of_epochs": [],
    "function_batches": [100], "function_retraces": [12], "function_profiled": [20],
    "callback_counts": [20], "callback_predicts": [20], "callback_precision": [20],
    "batch_sizes": [126, 16], "batch_sizes-0.005": [126, 16],
}


class Seeds(KerasTest):
    def test_all(self):
        _, reports = self.run_many("keras_seeds.py", *(seed.replace("-", ":") for seed in SEEDS))
        for seed, steps in SEEDS.items():
            loops = loops_of(reports[seed])
            self.assertEqual([loop["steps"]["count"] for loop in loops], steps, seed)
            for loop in loops:
                self.assertEqual(loop["negative_ns"], 0, seed)
        self.check_eager(reports)
        self.check_functions(reports)
        self.check_callbacks(reports)
        self.check_scripts_without_training(reports)

    def check_eager(self, reports):
        for seed in ("eager_batches", "eager_augments", "batch_sizes"):
            for stage in ("data", "forward", "backward", "optimizer"):
                self.assertGreater(reports[seed]["stages"][stage]["total_ns"], 0, (seed, stage))
        # The wait is the user's code, and the line with it is known.
        slow = loops_of(reports["batch_sizes-0.005"])[0]["stages"]["other"]["p50_ns"]
        self.assertGreaterEqual(slow, 5e6)
        lines = [line for line in reports["batch_sizes-0.005"]["hot"]["lines"]
                 if line["stage"] == "other"]
        self.assertIn("batch_sizes.py", [line["file"].rpartition("/")[2] for line in lines])

    def check_functions(self, reports):
        for seed in ("mirrored_function", "function_batches"):
            self.assertGreater(reports[seed]["stages"]["compute"]["total_ns"], 0, seed)
        self.assertGreater(reports["mirrored_function"]["stages"]["data"]["total_ns"], 0)
        self.assertIsNone(reports["function_batches"]["stages"]["data"])
        storm = reports["function_retraces"]
        self.assertGreaterEqual(names_of(storm)["train_step.trace"]["count"], 12)
        self.assertGreater(storm["stages"]["compile"]["share"], 0.3)
        # Ten were watched by another profiler: they are in no statistics.
        self.assertEqual(reports["function_profiled"]["steps"]["left_out"], 10 + 1)

    def check_callbacks(self, reports):
        for seed, name in (("callback_counts", "Minimal"), ("callback_predicts", "Extensive"),
                           ("callback_precision", "Precision")):
            names = names_of(reports[seed])
            self.assertEqual(names[name + ".on_train_batch_end"]["count"], 20, seed)
            self.assertEqual("predict" in names, name != "Minimal", seed)
            self.assertEqual(names.get("predict", {"count": 20})["count"], 20, seed)
        for seed in ("callback_predicts", "callback_precision"):
            report = reports[seed]
            self.assertGreater(report["stages"]["callback"]["share"], 0.5, seed)
            self.assertEqual(report["books"]["infer_ns"], 0, seed)
            self.assertGreater(report["books"]["eval_ns"], 0, seed)

    def check_scripts_without_training(self, reports):
        for seed in ("timed_pipeline", "summary_of_epochs"):
            self.assertIn(seed + ".py", [line["file"].rpartition("/")[2]
                                         for line in reports[seed]["hot"]["lines"]], seed)


if __name__ == "__main__":
    unittest.main()
