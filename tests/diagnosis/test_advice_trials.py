"""A small part of the advice trials (docs/diagnosis.md has what all of them found), and their score."""

import tempfile
import unittest

import advice_pairs
import advice_runs
import advice_score

SMALL = ("torch-log_each", "torch-waiting_items")


def result(pairs, saving=0.5, most=0.6, after=(), cure=None):
    finding = {"id": "user-code", "severity": "high", "advice": "every 50 steps",
               "saving": saving, "gain_most": most}
    return {"pair": {"name": "x-y", "trainer": "x", "kind": "y", "finding": "user-code"},
            "report": {"findings": [finding], "verdict": "user-code"},
            "cure": cure or {"is": "every 50"}, "turns": {"pairs": pairs},
            "cured": {"findings": list(after)}}


@unittest.skipUnless(advice_runs.PYTHON, "no frameworks")
class Trials(unittest.TestCase):
    maxDiff = None

    def test_following_the_advice_makes_nothing_slower(self):
        pairs = [pair._replace(steps=40) for pair in advice_pairs.all_pairs()
                 if pair.name in SMALL]
        said = []
        with tempfile.TemporaryDirectory(prefix="stepscope-trials-") as folder:
            advice_runs.train_all(folder, pairs, said.append)
            results = advice_runs.results(folder, pairs)
        self.assertEqual(len(results), len(SMALL), said)
        for one in results:
            self.assertTrue(advice_score.is_followed(one), one)
            self.assertFalse(advice_score.is_surely_slower(one), one["turns"])


class Score(unittest.TestCase):
    def test_a_gain_is_the_ratio_of_the_sums(self):
        gain = advice_score.gain_of([(2.0, 1.0), (4.0, 2.0), (3.0, 1.5)])
        for value in gain:
            self.assertAlmostEqual(value, 0.5)
        wide = advice_score.gain_of([(2.0, 1.0), (2.0, 1.9), (2.0, 0.7)])
        self.assertLess(wide.low, wide.middle)
        self.assertGreater(wide.high, wide.middle)

    def test_what_misses_a_criterion(self):
        def met(one):
            return [criterion.good for criterion in advice_score.judge([one])[0]]

        self.assertEqual(met(result([(2.0, 1.0)] * 5)), [1, 1, 1, 1, 1])
        self.assertEqual(met(result([(2.0, 0.5)] * 5)), [1, 0, 1, 1, 1])
        self.assertEqual(met(result([(2.0, 1.6)] * 5)), [1, 1, 0, 1, 1])
        self.assertEqual(met(result([(2.0, 2.1)] * 5)), [1, 1, 0, 0, 1])
        stays = {"id": "user-code", "severity": "warn", "advice": "every 50 steps"}
        self.assertEqual(met(result([(2.0, 1.0)] * 5, after=[stays])), [1, 1, 1, 1, 0])

    def test_what_is_not_known_well_is_left_out(self):
        noisy = result([(2.0, 1.0), (2.0, 6.0), (2.0, 0.5)])
        criteria, _ = advice_score.judge([noisy])
        self.assertEqual([criterion.left_out for criterion in criteria], [0, 1, 1, 1, 0])

    def test_what_is_surely_slower_counts_however_wide(self):
        criteria, bad = advice_score.judge([result([(2.0, 4.0), (2.0, 6.0), (2.0, 4.5)])])
        self.assertEqual([criterion.good for criterion in criteria], [1, 1, 0, 0, 1])
        self.assertEqual(len(bad), 2)

    def test_advice_that_is_not_in_the_table(self):
        pair = next(pair for pair in advice_pairs.all_pairs() if pair.name == "torch-waiting_items")
        self.assertIsNone(advice_pairs.cure_of(pair, "do something"))
        self.assertEqual(advice_pairs.cure_of(pair, "num_workers=2, and more"),
                         {"is": "workers", "workers": "2"})
        pair = next(pair for pair in advice_pairs.all_pairs() if pair.name == "torch-fresh_memory")
        self.assertEqual(
            advice_pairs.cure_of(pair, "MALLOC_A_=-1 and MALLOC_B_=0 in the environment")["set"],
            {"MALLOC_A_": "-1", "MALLOC_B_": "0"})


if __name__ == "__main__":
    unittest.main()
