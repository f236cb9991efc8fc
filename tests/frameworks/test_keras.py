"""Keras on TensorFlow: real training on the CPU, recorded without a change to the script.

STEPSCOPE_KERAS_PYTHON is an interpreter that has both; without it nothing here runs."""

import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.environ.get("STEPSCOPE_BIN", os.path.join(BUILD, "stepscope"))
PYTHON = os.environ.get("STEPSCOPE_KERAS_PYTHON", "")
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 300
TRIES = 3  # of a comparison of times: another program may have had the machine meanwhile


@unittest.skipUnless(PYTHON, "STEPSCOPE_KERAS_PYTHON does not say which Python has Keras")
class KerasTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-keras-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_count = 0

    def execute(self, command, expect=0):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("STEPSCOPE_", "PYTHON"))}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def plain(self, script, *arguments, expect=0):
        return self.execute([PYTHON, os.path.join(HERE, script), *arguments], expect)

    def hooked(self, script, *arguments, expect=0):
        self.run_count += 1
        self.runs = os.path.join(self.folder, "runs-%d" % self.run_count)
        return self.execute([PROGRAM, "run", "--quiet", "--dir", self.runs, PYTHON,
                             os.path.join(HERE, script), *arguments], expect)

    def report(self):
        done = self.execute([PROGRAM, "report", "--json", self.runs + "/latest"])
        return json.loads(done.stdout)

    def kinds(self):
        """How many records of each kind there are."""
        counts = {}
        for line in self.execute([PROGRAM, "dump", "--json", self.runs + "/latest"]).stdout.splitlines():
            kind = json.loads(line)["kind"]
            counts[kind] = counts.get(kind, 0) + 1
        return counts

    def train(self, case, *arguments):
        """(report, nanoseconds that the script slept, by place)."""
        lines = self.hooked("keras_fit.py", case, *arguments).stdout.splitlines()
        return self.report(), json.loads(lines[-1])

    def retry(self, check):
        """Runs a comparison of times until it holds."""
        for left in reversed(range(TRIES)):
            try:
                return check()
            except AssertionError:
                if not left:
                    raise

    def assert_near(self, found, true, part, most, text):
        self.assertLessEqual(abs(found - true), max(part * true, most), (text, found, true))


def spans_of(report):
    """By object and name."""
    return {"%s.%s" % (span["object"], span["name"]) if span["object"] else span["name"]: span
            for span in report["spans"]}


class Steps(KerasTest):
    """Each way to train: how many steps, and the same weights and history as without us."""

    def check(self, case, steps, loops=1):
        plain = self.plain("keras_fit.py", case).stdout.splitlines()
        hooked = self.hooked("keras_fit.py", case).stdout.splitlines()
        self.assertEqual(hooked[:-1], plain[:-1])
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], [steps] * loops)
        self.assertEqual(report["loops"][0]["steps"]["source"], "train calls")
        for loop in report["loops"]:
            self.assertEqual(loop["negative_ns"], 0)
        self.assertEqual([hook for hook in report["hooks"] if hook["reason"]], [])
        return report

    def test_arrays(self):
        report = self.check("arrays", 20)
        self.assertEqual(report["plan"]["steps"], 20)
        self.assertEqual(report["plan"]["epochs"], 2)
        self.assertEqual(report["plan"]["batch"], 16)
        self.assertEqual(report["epochs_seen"], 2)
        self.assertEqual([epoch["steps"] for epoch in report["epochs"]], [10, 10])
        self.assertIsNotNone(report["stages"]["data"])
        kinds = self.kinds()
        self.assertGreaterEqual(kinds["counter"], 20)
        self.assertEqual((kinds["loop_begin"], kinds["loop_end"]), (1, 1))

    def test_generator(self):
        self.check("generator", 10)

    def test_length_unknown(self):
        self.check("unknown", 20)

    def test_py_dataset_with_workers(self):
        self.check("dataset", 20)

    def test_four_steps_a_call(self):
        report = self.check("four", 20)
        self.assertEqual(spans_of(report)["train_function"]["count"], 6)

    def test_four_steps_a_call_on_endless_data_are_as_many_as_ran(self):
        self.check("four_endless", 24)  # 4, 4, 4: Keras goes on to the end of the call

    def test_sample_weights(self):
        self.check("weighted", 20)

    def test_eager(self):
        self.check("eager", 20)

    def test_xla(self):
        self.assertIn("XLA compile", spans_of(self.check("jit", 20)))

    def test_mirrored(self):
        self.check("mirrored", 20)

    def test_fit_three_times(self):
        self.check("again", 20, loops=3)

    def test_train_on_batch(self):
        self.check("by_hand", 60)

    def test_a_callback_that_predicts(self):
        report = self.check("predicts", 20)
        spans = spans_of(report)
        self.assertEqual(spans["Predicts.on_train_batch_end"]["count"], 20)
        self.assertEqual(spans["predict_function"]["count"], 20)
        self.assertEqual(report["books"]["infer_ns"], 0)


class Loops(KerasTest):
    """Loops of the user's own, without fit."""

    def check(self, case, steps, source):
        plain = self.plain("keras_loop.py", case).stdout
        self.assertEqual(self.hooked("keras_loop.py", case).stdout, plain)
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], [steps])
        self.assertEqual(report["steps"]["source"], source)
        self.assertEqual(report["loops"][0]["negative_ns"], 0)
        return report

    def test_eager(self):
        report = self.check("eager", 60, "optimizer updates")
        for stage in ("data", "forward", "backward", "optimizer"):
            self.assertGreater(report["stages"][stage]["total_ns"], 0, stage)
        self.assertGreater(report["books"]["eval_ns"], 0)
        spans = spans_of(report)
        self.assertEqual(spans["Adam.apply"]["count"], 60)
        self.assertEqual(spans["evaluate.call"]["count"], 18)

    def test_function_that_trains(self):
        report = self.check("function", 60, "train calls")
        self.assertGreater(report["stages"]["compute"]["total_ns"], 0)
        self.assertIsNone(report["stages"]["optimizer"])
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_an_epoch_in_one_call_has_the_steps_that_its_iterator_gave(self):
        self.check("iterator", 60, "train calls")


class Truth(KerasTest):
    """Delays of known size, as the script itself has timed them."""

    def test_callbacks_evaluation_and_saves(self):
        def check():
            report, slept = self.train("callbacks", "5")
            spans = spans_of(report)
            slept["LambdaCallback.on_epoch_begin"] = slept.pop("LambdaCallback")
            for name, times in slept.items():
                self.assertEqual(spans[name]["count"], len(times), name)
                self.assert_near(spans[name]["total_ns"] / len(times), sum(times) / len(times),
                                 0.02, 100e3, name)
            self.assertEqual(report["steps"]["count"], 60)
            self.assertGreaterEqual(report["books"]["eval_ns"], sum(slept["Slower.on_test_batch_end"]))
            outside = sum(slept["Slower.on_epoch_end"]) + sum(slept["Model.save_weights"]) + sum(
                slept["LambdaCallback.on_epoch_begin"])
            self.assertGreaterEqual(report["books"]["between_ns"], 0.8 * outside)
            for name in ("EarlyStopping.on_epoch_end", "History.on_epoch_end",
                         "ProgbarLogger.on_train_batch_end", "make iterator"):
                self.assertTrue(any(name in known for known in spans), name)

        self.retry(check)

    def test_code_of_the_user_is_other(self):
        def check():
            report, slept = self.train("by_hand", "5")
            true = sum(slept["other"]) / len(slept["other"])
            quick, _ = self.train("by_hand", "0")
            found = report["stages"]["other"]["p50_ns"] - quick["stages"]["other"]["p50_ns"]
            self.assert_near(found, true, 0.03, 200e3, "other")

        self.retry(check)

    def test_data_that_is_waited_for_inside_the_compiled_function(self):
        def check():
            quick, short = self.train("map", "0")
            slow, long = self.train("map", "5")
            true = (sum(long["map"]) - sum(short["map"])) / len(long["map"])
            found = slow["stages"]["data"]["p50_ns"] - quick["stages"]["data"]["p50_ns"]
            self.assert_near(found, true, 0.05, 300e3, "data")

        self.retry(check)

    def test_data_that_is_made_ahead_is_not_charged(self):
        def check():
            report, slept = self.train("prefetch", "5")
            true = sum(slept["map"]) / len(slept["map"])
            self.assertLess(report["stages"]["data"]["p50_ns"], 0.2 * true)

        self.retry(check)


class Errors(KerasTest):
    def test_the_traceback_is_the_same(self):
        for case in ("callback", "layer"):
            with self.subTest(case=case):
                plain = self.plain("keras_errors.py", case, expect=1).stderr
                hooked = self.hooked("keras_errors.py", case, expect=1).stderr
                self.assertEqual(self.error(hooked), self.error(plain))

    def error(self, text):
        start = text.index("Traceback")
        return text[start:]


if __name__ == "__main__":
    unittest.main()
