"""Keras on TensorFlow: each way to fit, with the same weights and history as without us."""

import unittest

from keras_checks import TWO, KerasTest, loops_of, names_of

CASES = {  # how many steps each loop of a case has
    "arrays": [20], "weighted": [20], "generator": [10], "workers": [20], "one_worker": [20],
    "eager": [20], "predicts": [10], "stops": [20], "evaluates": [20], "again": [60],
    "tf_data": [20], "prefetch": [20], "unknown": [20], "three_steps": [3], "four": [20],
    "seven": [20], "four_endless": [24], "classes": [20], "noise": [20], "xla": [20],
    "by_hand": [10], "by_hand_two": [10], "fitted_two": TWO, "mirrored": [20],
}


class Matrix(KerasTest):
    def test_steps_and_results(self):
        report = self.compare("keras_fit.py", *CASES)
        loops = loops_of(report)
        by_case, at = {}, 0
        for case, steps in CASES.items():
            by_case[case] = loops[at:at + len(steps)]
            at += len(steps)
            self.assertEqual([loop["steps"]["count"] for loop in by_case[case]], steps, case)
            for loop in by_case[case]:
                self.assertEqual(loop["steps"]["source"], "train calls", case)
                by_hand = loop["name"] != "fit"
                self.assertEqual(loop["stages"]["data"] is None, by_hand, case)
                self.assertEqual(loop["plan"]["epochs"] is None, by_hand, case)
        self.assertEqual(at, len(loops))
        self.check_plan(by_case["arrays"][0])
        self.check_windows()
        self.check_evaluation(report, by_case)
        self.check_compilation(report, by_case)
        again = by_case["again"][0]  # fit of the same model
        self.assertEqual((again["steps"]["parts"], again["plan"]["steps"]), (3, 60))
        self.assertEqual([epoch["steps"] for epoch in again["epochs"]], [10] * 6)
        self.check_records(sum(loop["steps"]["parts"] for loop in loops if loop["name"] == "fit"))

    def check_plan(self, loop):
        plan = loop["plan"]
        self.assertEqual((plan["steps"], plan["epochs"], plan["batch"]), (20, 2, 16))
        self.assertEqual([epoch["steps"] for epoch in loop["epochs"]], [10, 10])
        self.assertGreater(loop["books"]["between_ns"], 0)

    def check_windows(self):
        """A call that holds several steps has this number of them, the last one fewer."""
        names = list(CASES)
        first = sum(len(CASES[case]) for case in names[:names.index("four")])
        four, seven, endless = self.steps()[first:first + 3]
        self.assertEqual([step["steps"] for step in four], [4, 4, 2] * 2)
        self.assertEqual([step["steps"] for step in seven], [7, 3] * 2)
        self.assertEqual([step["steps"] for step in endless], [4, 4, 4] * 2)

    def check_evaluation(self, report, by_case):
        names = names_of(report)
        self.assertEqual(names["Predicts.on_train_batch_end"]["count"], 10)
        self.assertEqual(names["predict_function"]["count"], 10 + 10)  # in callbacks, by predict
        self.assertEqual(by_case["predicts"][0]["books"]["infer_ns"], 0)
        self.assertEqual(names["test_function"]["count"], 2 * 3 + 10 + 1)
        self.assertEqual(names["evaluate"]["count"], 3)
        self.assertGreater(by_case["evaluates"][0]["books"]["eval_ns"], 0)
        self.assertEqual(by_case["arrays"][0]["books"]["eval_ns"], 0)
        self.assertGreater(report["books"]["infer_ns"], 0)

    def check_compilation(self, report, by_case):
        """XLA compiles inside the first step, on a thread of its own: it is no computing."""
        compile_ns = names_of(report)["XLA compile"]["total_ns"]
        self.assertGreater(compile_ns, 0)
        self.assertGreaterEqual(by_case["xla"][0]["books"]["compile_ns"], compile_ns)

    def check_records(self, fits):
        kinds = [record["kind"] for record in self.records()]
        self.assertGreaterEqual(kinds.count("counter"), 20)
        self.assertEqual((kinds.count("loop_begin"), kinds.count("loop_end")), (fits, fits))


class Epochs(KerasTest):
    def test_iterators_are_made_twice_an_epoch(self):
        """When an epoch begins, and once more when its batches have run out: a stall that no step
        has."""
        report = self.compare("keras_fit.py", "epochs")
        loop, = report["loops"]
        self.assertEqual([epoch["steps"] for epoch in loop["epochs"]], [10] * 5)
        made = names_of(report)["tf.data.make iterator"]
        self.assertEqual(made["stage"], "setup")
        places = {place["place"]: place for place in made["loop"]}
        # The first one is made before fit has begun an epoch. Tracing makes some that get nothing.
        self.assertEqual((places["before"]["count"], places["between"]["count"]), (1, 2 * 5 - 1))
        self.assertGreater(loop["books"]["between_ns"], places["between"]["total_ns"])


class NotSeparable(KerasTest):
    """What cannot be seen is not 0."""

    def test_data_without_slots_or_without_events(self):
        for fault in ("missing", "silent"):
            with self.subTest(fault=fault):
                self.hooked("keras_blind.py", fault)
                report = self.report()
                self.assertEqual(report["steps"]["count"], 20)
                self.assertIsNone(report["stages"]["data"])
                self.assertEqual([epoch["steps"] for epoch in report["epochs"]], [10, 10])
                reason = "in-graph input, not separable"
                self.assertEqual(report["not_measured"], [{"stage": "data", "reason": reason}])
                self.assertIn(reason, self.text())


class Example(KerasTest):
    def test_the_callback_is_most_of_the_step(self):
        self.hooked("../../examples/keras_train.py", "2")
        report = self.report()
        self.assertEqual(report["steps"]["count"], 2 * 18)
        self.assertGreater(report["stages"]["callback"]["share"], 0.5)
        self.assertEqual(names_of(report)["Peek.on_train_batch_end"]["count"], 2 * 18)
        self.assertGreater(report["books"]["eval_ns"], 0)


if __name__ == "__main__":
    unittest.main()
