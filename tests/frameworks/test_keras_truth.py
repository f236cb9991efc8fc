"""Delays of known size, as the script itself has timed them: are they on the right stage, and as
long?

The script sleeps 0, 1, 5 and 20 ms in turn, in one loop, and its own clock reads what a delay
was in the same call that we time. So what disturbs one disturbs both; what disturbs between the two clocks
does not, so that the quarter of steps that agrees best has to agree (truth.py)."""

import json
import unittest

from keras_checks import KerasTest, loops_of, middle, names_of
from truth import best_quarter

PLACES = ("callbacks", "layer", "eager_layer", "in_map", "in_map_of_four", "prefetched",
          "in_generator", "in_workers", "user_code", "predictions")
DELAYS_MS = 0, 1, 5, 20
SHORT_NS = 100e3  # what we may be wrong by, however short the delay


class Truth(KerasTest):
    def train(self, *places):
        """(what the script slept by place, steps of each loop)."""
        done = self.hooked("keras_truth.py", *places, STEPSCOPE_SAMPLE_HZ="100")
        said = [line.partition(" ")[2] for line in done.stdout.splitlines()
                if line.startswith("SLEPT")]
        return dict(json.loads(line) for line in said), self.steps()

    def near(self, found, true, part=0.02, most=SHORT_NS, text=""):
        """Values of one delay each."""
        missed = [abs(one - other) for one, other in zip(found, true)]
        self.assertEqual(len(found), len(true), text)
        self.assertLessEqual(best_quarter(missed), max(part * middle(true), most),
                             (text, middle(found), middle(true)))

    def near_by_delay(self, found, true, text, **tolerance):
        for turn in range(len(DELAYS_MS)):
            self.near(found[turn::len(DELAYS_MS)], true[turn::len(DELAYS_MS)],
                      text=(text, DELAYS_MS[turn]), **tolerance)

    def test_fit(self):
        slept, loops = self.train(*PLACES)
        self.assertEqual([sum(step["steps"] for step in steps) for steps in loops],
                         [80, 80, 40, 80, 80, 30] + [160, 30] * 2 + [80])
        report = self.report()
        self.check_callbacks(slept["callbacks"], report)
        self.check_layers(slept, loops)
        self.check_data(slept, loops)
        self.check_data_of_others(slept, loops[6:10])
        self.check_user_code(slept["user_code"], loops[10], report)
        self.check_predictions(slept["predictions"], report)
        self.assertEqual([at for at, loop in enumerate(loops_of(report)) if loop["upper_bounds"]],
                         [PLACES.index("in_map_of_four")])

    def check_callbacks(self, slept, report):
        found = self.durations()
        del slept["saved"]  # is inside Model.save_weights
        for name, true in slept.items():
            self.near(found[name], true, text=name)
        self.near_by_delay(found["Slower.on_train_batch_end"], slept["Slower.on_train_batch_end"],
                           "Slower.on_train_batch_end")
        names, loop = names_of(report), loops_of(report)[0]
        self.assertGreaterEqual(loop["books"]["eval_ns"], sum(slept["Slower.on_test_batch_end"]))
        outside = [name for name in slept if "epoch" in name or "save" in name]
        self.assertEqual(len(outside), 3)
        # What comes after the last batch of an epoch, and before its first.
        self.assertGreaterEqual(loop["books"]["between_ns"],
                                0.8 * sum(sum(slept[name]) for name in outside))
        for name in ("EarlyStopping.on_epoch_end", "History.on_epoch_end",
                     "ProgbarLogger.on_train_batch_end", "tf.data.make iterator"):
            self.assertIn(name, names)

    def check_layers(self, slept, loops):
        for place, steps in (("layer", loops[1]), ("eager_layer", loops[2])):
            found = [step["stages_ns"]["compute"] + step["stages_ns"].get("data", 0)
                     for step in steps]
            self.near_by_delay(found, slept[place]["took"], place)
            above = [step["stages_ns"]["compute"] - true
                     for step, true in zip(steps, slept[place]["compute"])]
            self.assertGreaterEqual(middle(above), 0)
            self.assertLess(best_quarter(step["stages_ns"]["other"] for step in steps), SHORT_NS)

    def check_data(self, slept, loops):
        """Inside the compiled function. What it is above the delay does not depend on the delay."""
        above = [step["stages_ns"]["data"] - true
                 for step, true in zip(loops[3], slept["in_map"]["data"])]
        fast = best_quarter(above[0::4])
        for turn, delay_ms in enumerate(DELAYS_MS):
            self.assert_near(best_quarter(above[turn::4]) - fast + delay_ms * 1e6, delay_ms * 1e6,
                             0.05, 300e3, delay_ms)
        of_four = slept["in_map_of_four"]["data"]
        for at, step in enumerate(loops[4]):  # an upper bound
            self.assertGreaterEqual(step["stages_ns"]["data"] + SHORT_NS,
                                    sum(of_four[4 * at:4 * at + 4]))
        ahead = middle(step["stages_ns"]["data"] for step in loops[5])
        self.assertLess(ahead, 0.2 * sum(slept["prefetched"]["data"]) / 30)

    def check_data_of_others(self, slept, loops):
        """By threads of Python. What lies between the time that they take and the wait for them (a
        thread is woken, the batch made a tensor) does not depend on the delay, as a batch is begun
        when it is asked for. What is made ahead is not charged."""
        for place in ("in_generator", "in_workers"):
            steps, slow = loops.pop(0), loops.pop(0)
            above = [step["stages_ns"]["data"] - true
                     for step, true in zip(steps, slept[place]["asked"])][len(DELAYS_MS):]
            fast = best_quarter(above[0::4])
            for turn, delay_ms in enumerate(DELAYS_MS):
                self.assert_near(best_quarter(above[turn::4]) - fast + delay_ms * 1e6,
                                 delay_ms * 1e6, 0.05, 300e3, (place, delay_ms))
            ahead = middle(step["stages_ns"]["data"] for step in slow)
            self.assertLess(ahead, 0.2 * middle(slept[place]["ahead"]), place)

    def check_user_code(self, slept, steps, report):
        """Training takes the longer the longer there was nothing to do before it, so it is timed as well: a
        step is that, and what was slept before and after it, and none of that is on another stage."""
        asleep = [before + after for before, after in zip(slept["other"][0::2], slept["other"][1::2])]
        true = [both + took for both, took in zip(asleep, slept["took"])]
        found = [sum(step["stages_ns"].values()) - step["stages_ns"]["data"] for step in steps]
        self.near_by_delay(found, true, "user code", most=2 * SHORT_NS)
        above = [step["stages_ns"]["other"] - both for step, both in zip(steps, asleep)]
        for turn in range(len(DELAYS_MS)):
            self.assertGreaterEqual(middle(above[turn::len(DELAYS_MS)]), 0)
        self.check_line("other", report)

    def check_predictions(self, slept, report):
        """Each batch, with its latency."""
        span = names_of(report)["predict_function"]
        self.assertEqual((span["stage"], span["count"]), ("infer", 80))
        found = self.durations()["predict_function"]
        self.near_by_delay(found, slept["took"], "predict_function")
        inside = slept["predict_function"]
        self.assertGreaterEqual(min(took - true for took, true in zip(found, inside)), 0)
        self.assertGreaterEqual(report["books"]["infer_ns"], sum(inside))

    def check_line(self, stage, report):
        lines = [(line["file"].rpartition("/")[2], line["function"])
                 for line in report["hot"]["lines"] if line["stage"] == stage]
        self.assertIn(("keras_truth.py", "sleep"), lines)

    def test_replicas(self):
        """They wait until both parts of a batch are there. That is less than making it takes, as it
        was begun while they computed."""
        slept, loops = self.train("in_map_of_replicas")
        for delay_ms, steps in zip((0, 20), loops):
            data = [step["stages_ns"]["data"] for step in steps]
            self.near(data, slept["in_map_of_replicas"][str(delay_ms)], 0.1, 2e6, delay_ms)
            self.assertLess(middle(data), max(delay_ms * 1e6, 2e6))
        for loop in loops_of(self.report()):
            self.assertEqual([bound["stage"] for bound in loop["upper_bounds"]], ["data"])
        self.assertIn("data is an upper bound", self.text())

    def test_eager_loop(self):
        slept, (steps,) = self.train("user_code_of_eager_loop")
        self.assertEqual(len(steps), 80)
        self.check_user_code(slept["user_code_of_eager_loop"], steps, self.report())


if __name__ == "__main__":
    unittest.main()
