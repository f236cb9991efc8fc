"""Keras on PyTorch and on JAX, and Keras 2: the same facts, and the same weights as without us."""

import unittest

from keras_checks import TWO, KerasTest, loops_of, names_of

CASES = {
    "arrays": [20], "weighted": [20], "generator": [10], "workers": [20], "eager": [20],
    "predicts": [10], "evaluates": [20], "by_hand_two": [10], "fitted_two": TWO,
}


class Backends(KerasTest):
    def check(self, backend):
        report = self.compare("keras_fit.py", *CASES, KERAS_BACKEND=backend)
        loops = loops_of(report)
        self.assertEqual([loop["steps"]["count"] for loop in loops], sum(CASES.values(), []))
        for loop in loops:
            self.assertEqual(loop["steps"]["source"], "train calls")
            data = loop["stages"]["data"]
            self.assertEqual(data and data["total_ns"] > 0, True if loop["name"] == "fit" else None)
        self.assertEqual((loops[0]["plan"]["steps"], loops[0]["plan"]["batch"]), (20, 16))
        self.assertEqual([epoch["steps"] for epoch in loops[0]["epochs"]], [10, 10])
        self.assertEqual(loops[0]["books"]["eval_ns"], 0)
        names = names_of(report)
        self.assertEqual(names["Predicts.on_train_batch_end"]["count"], 10)
        self.assertEqual(names["predict_function"]["count"], 10 + 10)
        self.assertEqual(names["test_function"]["count"], 2 * 3 + 10 + 1)
        self.assertEqual(names["evaluate"]["count"], 3)
        evaluates = loops[list(CASES).index("evaluates")]
        self.assertGreater(evaluates["books"]["eval_ns"], 0)
        return loops

    def test_torch(self):
        for loop in self.check("torch"):
            for stage in ("forward", "backward", "optimizer"):
                self.assertGreater(loop["stages"][stage]["total_ns"], 0, stage)

    def test_jax(self):
        loops = self.check("jax")
        for loop in loops:
            self.assertGreater(loop["stages"]["compute"]["total_ns"], 0)
            self.assertTrue(loop["steps"]["asynchronous"])
        # An epoch ends with a wait for all of its batches, which is theirs.
        self.assertGreater(loops[0]["stages"]["sync"]["total_ns"], 0)
        self.assertGreater(loops[0]["steps"]["steady"]["window_steps"], 1)

    def test_steps_per_execution_of_jax(self):
        """The last call of an epoch has fewer batches than it may have."""
        self.compare("keras_fit.py", "four", "seven", "four_tf_data", "workers_of_four",
                     KERAS_BACKEND="jax")
        self.assertEqual([[step["steps"] for step in steps] for steps in self.steps()],
                         [[4, 4, 2] * 2, [7, 3] * 2, [4, 4, 2] * 2, [4, 4, 2] * 2])


class Keras2(KerasTest):
    STEPS = {"arrays": 20, "four": 20, "generator": 10, "eager": 20, "legacy": 20}

    def check(self, package, *cases):
        report = self.compare("tf_keras_fit.py", package, *cases)
        loops = loops_of(report)
        self.assertEqual([loop["steps"]["count"] for loop in loops],
                         [self.STEPS[case] for case in cases])
        for case, loop in zip(cases, loops):
            self.assertEqual(loop["name"], "fit")
            self.assertGreater(loop["stages"]["data"]["total_ns"], 0)
            self.assertEqual(loop["steps"]["source"],
                             "optimizer updates" if case == "eager" else "train calls")
            self.assertEqual(loop["plan"]["batch"], None if case == "generator" else 16)
            self.assertEqual(loop["books"]["eval_ns"] > 0, case != "generator")
        with_callback = [case for case in cases if case != "generator"]
        names = names_of(report)
        self.assertEqual(names["Counts.on_epoch_end"]["count"], 2 * len(with_callback))
        self.assertEqual(names["Model.save_weights"]["count"], 2 * len(with_callback))
        self.assertEqual(names["predict"]["count"], len(with_callback))

    def test_by_its_own_name(self):
        self.check("tf_keras", *self.STEPS)

    def test_two_models_by_hand(self):
        """By turns they are one step."""
        report = self.compare("tf_keras_fit.py", "tf_keras", "two")
        self.assertEqual([(loop["name"], loop["steps"]["count"]) for loop in loops_of(report)],
                         [("fit", 10), ("", 10)] + [("fit", 10), ("", 20)] * 2)

    def test_as_the_one_of_tensorflow(self):
        self.check("tf.keras", "arrays")


if __name__ == "__main__":
    unittest.main()
