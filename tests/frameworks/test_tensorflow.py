"""TensorFlow without fit: loops of the user's own."""

import unittest

from keras_checks import KerasTest, names_of

CASES = {  # steps of each loop, and what makes them
    "eager": ([60], "optimizer updates"), "function": ([60], "train calls"),
    "traced_before": ([60], "train calls"), "whole_epoch": ([60], "train calls"),
    "over_iterator": ([60], "train calls"), "without_optimizer": ([60], "train calls"),
    "two_optimizers": ([60], "optimizer updates"), "two_functions": ([60, 60], "train calls"),
    "saves": ([60], "train calls"), "redefined": ([60, 60], "train calls"),
    "mirrored": ([20], "train calls"), "mirrored_otherwise": ([20], "train calls"),
    "mirrored_by_keyword": ([20], "train calls"),
    "mirrored_central": ([20], "train calls"), "mirrored_function": ([60], "train calls"),
    "mirrored_epoch": ([60], "train calls"), "two_threads": ([60, 60], "train calls"),
}
EPOCHS = ("whole_epoch", "over_iterator", "mirrored_epoch")  # in one call, without evaluation

BATCH_BYTES = 16 * (8 + 1) * 4


class Loops(KerasTest):
    def test_loops(self):
        reports = self.compare_many("tf_loops.py", *CASES)
        for case, (steps, source) in CASES.items():
            report = reports[case]
            self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], steps, case)
            self.assertEqual(report["steps"]["source"], source, case)
            self.assertEqual(report["loops"][0]["negative_ns"], 0, case)
            self.assertEqual([hook for hook in report["hooks"] if hook["reason"]], [], case)
            if case != "two_threads":
                self.assertEqual(report["books"]["eval_ns"] > 0, case not in EPOCHS, case)
                self.check_bytes(case, report)
        self.check_stages(reports)
        self.check_names(reports)

    def check_bytes(self, case, report):
        rate = report["throughput"]
        batches = rate["batches_per_s"] / rate["steps_per_s"]
        # What the first call gets, while it is traced, is not known.
        if case in EPOCHS:
            parts = 2 if case == "mirrored_epoch" else 1
            self.assertTrue(0.75 * parts <= batches <= 1.25 * parts, (case, batches))
            return
        self.assertAlmostEqual(batches, 1, delta=0.03, msg=case)
        self.assertAlmostEqual(rate["bytes_per_s"] / rate["batches_per_s"], BATCH_BYTES,
                               delta=0.03 * BATCH_BYTES, msg=case)

    def check_stages(self, reports):
        for case in ("eager", "two_optimizers"):
            for stage in ("data", "forward", "backward", "optimizer"):
                self.assertGreater(reports[case]["stages"][stage]["total_ns"], 0, (case, stage))
        for case in ("function", "traced_before", "without_optimizer", "two_functions", "saves",
                     "mirrored",
                     "mirrored_otherwise", "mirrored_by_keyword", "mirrored_central",
                     "mirrored_function"):
            stages = reports[case]["stages"]
            self.assertGreater(stages["compute"]["total_ns"], 0, case)
            self.assertGreater(stages["data"]["total_ns"], 0, case)
            self.assertIsNone(stages["optimizer"], case)
        for case in EPOCHS:
            self.assertEqual(reports[case]["steps"]["steady"]["window_steps"],
                             7 if case == "mirrored_epoch" else 10, case)
        self.assertGreater(reports["saves"]["books"]["checkpoint_ns"], 0)

    def check_names(self, reports):
        names = names_of(reports["eager"])
        self.assertEqual(names["Adam.apply"]["count"], 60)
        self.assertEqual(names["measure.call"]["count"], 18)
        self.check_saves(reports["saves"])
        self.assertEqual(names_of(reports["mirrored"])["measure.run"]["count"], 20)
        # Nothing waits for what is fetched in advance for replicas. The end of the data is asked for
        # once more.
        names = names_of(reports["mirrored_function"])
        asked = names["tf.distribute.next"]
        self.assertEqual(asked["failed"], 12)
        self.assertEqual(names["GetNext"]["count"], 2 * asked["count"] + asked["failed"])

    def check_saves(self, report):
        """One span for each call, whatever it calls itself; those in an epoch are cut out of steps."""
        saves = {name: span["count"] for name, span in names_of(report).items()
                 if span["stage"] == "checkpoint"}
        made = "tf.train.Checkpoint."
        self.assertEqual(saves, {"tf.train.CheckpointManager.save": 6, made + "write": 2,
                                 made + "read": 2, made + "save": 1, made + "restore": 1})
        self.assertGreater(report["books"]["checkpoint_ns"], 0)


class Workers(KerasTest):
    def test_two_workers_are_two_ranks_of_one_run(self):
        report = self.compare("tf_workers.py")
        loops = report["loops"]
        self.assertEqual(sorted((loop["rank"], loop["name"], loop["steps"]["count"])
                                for loop in loops),
                         [(0, "", 20), (0, "", 20), (0, "fit", 40),  # compiled, and eager
                          (1, "", 20), (1, "", 20), (1, "fit", 40)])
        for loop in loops:
            self.assertEqual(loop["steps"]["source"], "train calls")
            self.assertGreater(loop["stages"]["data"]["total_ns"], 0)
            if loop["name"] == "fit":
                self.assertEqual([epoch["steps"] for epoch in loop["epochs"]], [20, 20])
                self.assertEqual((loop["plan"]["steps"], loop["plan"]["batch"]), (40, 16))
        runs = [(span["object"], span["role"], span["count"]) for span in report["spans"]
                if span["name"] == "run"]
        # The first call of each worker was begun before it was known that it trains.
        self.assertEqual(sorted(runs), [("measure", "none", 2 * 20), ("replica", "none", 2 * 1),
                                        ("replica", "train_call", 2 * 19)])


if __name__ == "__main__":
    unittest.main()
