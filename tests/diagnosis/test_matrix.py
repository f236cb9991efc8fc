"""The small form of the fault matrix (docs/diagnosis.md has what the large one found).

What the machine does during a run is not its fault: a fault must be above all that counters read outside
Stepscope do not confirm. Of the large one 5 % may be wrong; of so few that may be one in ten by chance."""

import tempfile
import unittest

import matrix_cases
import matrix_runs
import matrix_score


class Matrix(unittest.TestCase):
    maxDiff = None

    def test_the_small_form(self):
        cases = [case for case in matrix_cases.all_cases(is_small=True)
                 if case.trainer == "demo" or matrix_runs.PYTHON]
        with tempfile.TemporaryDirectory(prefix="stepscope-matrix-") as folder:
            matrix_runs.train_all(folder, cases, lambda text: None)
            results = matrix_runs.results(folder, cases)
        self.assertEqual(len(results), len(cases))
        wrong = ["%s: %s" % (result["case"]["name"], matrix_score.describe(result, None))
                 for result in results if not self.is_right(result)]
        self.assertLessEqual(len(wrong), len(results) / 10, wrong)

    def is_right(self, result):
        faults = result["case"]["faults"]
        if faults:
            return (all(matrix_score.finding_of(result, fault) for fault in faults)
                    and self.is_on_top(result))
        return not matrix_score.warned(result) or matrix_score.is_excused(result)

    @staticmethod
    def is_on_top(result):
        """Of all that the machine has not done, where counters say that it did something."""
        faults = result["case"]["faults"]
        found = matrix_score.warned(result)
        if matrix_score.is_confirmed(result):
            found = [finding for finding in found
                     if finding["id"] not in matrix_score.DISTURBANCES
                     or any(matrix_score.is_named(fault, finding) for fault in faults)]
        return all(any(matrix_score.is_named(fault, finding) for finding in found[:len(faults)])
                   for fault in faults)


class Score(unittest.TestCase):
    """The score itself: results of which it is known what they are worth."""

    @staticmethod
    def result(faults, found, share=0.3, others=0.0):
        step = {fault: 0.01 * share for fault in faults}
        steps = [{"other": 0.01 - sum(step.values()), **step}] * 100
        findings = [{"id": name, "severity": severity, "share": middle, "gain_most": middle + 0.01,
                     "share_ci": [middle - 0.01, middle + 0.01]}
                    for name, severity, middle in found]
        return {"case": {"name": "x-0", "trainer": "demo", "kind": "narrow", "faults": faults},
                "report": {"findings": findings,
                           "steps": {"warmup": 10}},
                "truth": {"steps": steps, "cuts": [], "shares": {}, "waited": 0.0,
                          "without": [0.007] * 80},
                "machine": {"others": others, "steal": 0.0}}

    def judge(self, *results):
        return [(one.good, one.all, one.left_out) for one in matrix_score.judge(list(results))[0]]

    def test_what_has_no_share_counts_all_the_same(self):
        found, missed = ("memory-leak", "warn", 0.3), ("user-code", "warn", 0.3)
        results = [self.result({"leak": 8}, [found]), self.result({"leak": 8}, [missed])]
        for result in results:
            result["truth"].update(steps=[{"other": 0.01}] * 100, without=[])
        self.assertEqual(self.judge(*results)[0], (1, 2, 0))

    def test_another_name_of_the_fault_may_be_above_it(self):
        faults, data = ("page-faults", "warn", 0.3), ("input-bound", "high", 0.4)
        counts = self.judge(self.result({"pages": 9}, [data, faults]),
                            self.result({"pages": 9}, [data]),
                            self.result({"sync": 9}, [data, ("sync-bound", "warn", 0.3)]))
        self.assertEqual(counts[0], (1, 3, 0))

    def test_who_takes_cores_excuses_no_other_name(self):
        """What the counters show is the fault itself then."""
        named, preempted = ("cgroup-throttled", "warn", 0.3), ("preempted", "warn", 0.4)
        steal = ("steal", "warn", 0.4)
        results = [self.result({"limit": 60}, [first, named], others=0.3)
                   for first in (preempted, steal)]
        results[1]["machine"]["steal"] = 0.02
        self.assertEqual(self.judge(results[0])[0], (0, 1, 0))
        self.assertEqual(self.judge(results[1])[0], (1, 1, 0))

    def test_the_table_hides_nothing(self):
        taken, named = ("steal", "warn", 0.4), ("input-bound", "high", 0.3)
        results = [self.result({"input": 3}, [taken, named]),
                   self.result({"input": 3}, [taken, named], others=0.3),
                   self.result({"input": 3}, [named], others=0.3),
                   self.result({}, [taken], others=0.3), self.result({}, [])]
        table = matrix_score.confusion(results)
        self.assertEqual(table["input"], ({"steal": 2, "input-bound": 1}, {"steal": 1}))
        self.assertEqual(table["none"], ({"steal": 1, "nothing": 1}, {"steal": 1}))
        self.assertEqual(self.judge(*results)[0], (2, 3, 0))

    def test_time_left(self):
        cases = matrix_cases.all_cases()
        clock = matrix_runs.Clock(cases)
        batches = list(matrix_runs.batches(cases))
        self.assertEqual([case for batch in batches for case in batch], cases)
        for batch in batches:
            clock.done(batch, 2 * len(batch))
            self.assertAlmostEqual(clock.left_s(), 2 * len(clock.missing))
        self.assertEqual(clock.left_s(), 0)

    def test_right_and_wrong_ones(self):
        named = ("input-bound", "high", 0.3)
        wrong = ("callback-bound", "warn", 0.4)
        counts = self.judge(
            self.result({"input": 3}, [named]), self.result({"input": 3}, [wrong, named]),
            self.result({"input": 3}, [("input-bound", "warn", 0.2)]),
            self.result({"input": 3}, [], share=0.05),
            self.result({"input": 3, "callback": 3}, [wrong, named]),
            self.result({}, []), self.result({}, [wrong]),
            self.result({}, [("preempted", "warn", 0.1)], others=0.3),
            self.result({}, [("preempted", "warn", 0.1)]))
        self.assertEqual(counts[0], (2, 3, 1))  # on top; the small one does not count
        self.assertEqual(counts[1], (1, 1, 0))
        self.assertEqual(counts[2], (1, 3, 1))  # one alarm is confirmed by a counter
        self.assertEqual(counts[3], (3, 5, 0))  # 0.3 is not in 0.19 to 0.21, nor in 0.39 to 0.41
        self.assertEqual(counts[4], (2, 3, 0))  # 0.3 is more than 0.21


if __name__ == "__main__":
    unittest.main()
