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
# One of each kind also as its author would run it: each of them has to import TensorFlow.
ALONE = "batch_sizes-0.005", "callback_predicts", "mirrored_function"


class Seeds(KerasTest):
    def test_all_in_one_process(self):
        _, reports = self.run_many("keras_seeds.py", *(seed.replace("-", ":") for seed in SEEDS))
        for seed in SEEDS:
            self.check(seed, reports[seed])

    def test_under_the_command(self):
        for seed in ALONE:
            script, _, argument = seed.partition("-")
            self.hooked("seeds/%s.py" % script, *filter(None, [argument]),
                        TF_CPP_MIN_LOG_LEVEL="3")
            self.check(seed, self.report())

    def test_a_script_without_a_framework(self):
        """Nothing of ours is loaded into it, and the report says what to do."""
        self.hooked("seeds/timed_pipeline.py")
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]],
                         SEEDS["timed_pipeline"])
        self.assertEqual((report["run"]["records"], report["run"]["exit_code"]), (0, 0))
        self.assertIn("stepscope.step()", self.text())

    def check(self, seed, report):
        loops = loops_of(report)
        self.assertEqual([loop["steps"]["count"] for loop in loops], SEEDS[seed], seed)
        for loop in loops:
            self.assertEqual(loop["negative_ns"], 0, seed)
        if not loops:
            self.check_line(seed, report["hot"]["lines"])
        elif seed.startswith("callback"):
            self.check_callbacks(seed, report)
        elif seed.startswith(("eager", "batch_sizes")):
            self.check_eager(seed, report)
        else:
            self.check_functions(seed, report)

    def check_line(self, seed, lines):
        self.assertIn(seed.partition("-")[0] + ".py",
                      [line["file"].rpartition("/")[2] for line in lines], seed)

    def check_eager(self, seed, report):
        for stage in ("data", "forward", "backward", "optimizer"):
            self.assertGreater(report["stages"][stage]["total_ns"], 0, (seed, stage))
        if seed == "batch_sizes-0.005":  # the wait is the user's code, and the line is known
            self.assertGreaterEqual(loops_of(report)[0]["stages"]["other"]["p50_ns"], 5e6)
            self.check_line(seed, [line for line in report["hot"]["lines"]
                                   if line["stage"] == "other"])

    def check_functions(self, seed, report):
        stages = report["stages"]
        self.assertGreater(stages["compute"]["total_ns"], 0, seed)
        if seed == "mirrored_function":
            self.assertGreater(stages["data"]["total_ns"], 0)
        elif seed == "function_batches":
            self.assertIsNone(stages["data"])
        elif seed == "function_retraces":
            self.assertGreaterEqual(names_of(report)["train_step.trace"]["count"], 12)
            self.assertGreater(stages["compile"]["share"], 0.3)
        else:  # ten were watched by another profiler: they are excluded from statistics
            self.assertEqual((seed, report["steps"]["left_out"]), ("function_profiled", 10 + 1))

    def check_callbacks(self, seed, report):
        names = names_of(report)
        of = {"callback_counts": "Minimal", "callback_predicts": "Extensive",
              "callback_precision": "Precision"}[seed]
        self.assertEqual(names[of + ".on_train_batch_end"]["count"], 20, seed)
        self.assertEqual("predict" in names, of != "Minimal", seed)
        if of != "Minimal":
            self.assertEqual(names["predict"]["count"], 20, seed)
            self.assertGreater(report["stages"]["callback"]["share"], 0.5, seed)
            self.assertEqual(report["books"]["infer_ns"], 0, seed)
            self.assertGreater(report["books"]["eval_ns"], 0, seed)


if __name__ == "__main__":
    unittest.main()
