"""A small part of the foreign scripts (docs/diagnosis.md has what was said about all of them), and how
they are scored."""

import tempfile
import unittest

import foreign_cases
import foreign_runs
import foreign_score

SMALL = ("torch_vae", "torch_reinforce", "tf_sentences", "csv_regression")
# What a machine with other things to do does not change.
SURE = ("steps", "evaluations", "name", "advice of this framework", "books close", "same output")


def books(wall, **more):
    names = ("startup", "compile", "warmup", "steady", "between", "eval", "infer", "checkpoint",
             "idle", "teardown")
    return {name + "_ns": more.get(name, 0) for name in names} | {"wall_ns": wall}


def finding(name, severity="warn", claim="", advice=""):
    return {"id": name, "severity": severity, "claim": claim, "evidence": "", "advice": advice}


def result(*findings, steps=10, others=0.0, evaluated=0, plain="x"):
    """Of a script that took 100 ns."""
    of_loop = books(100, steady=100 - evaluated, eval=evaluated)
    return {
        "report": {
            "verdict": findings[0]["id"] if findings else "healthy", "findings": list(findings),
            "unsure": None, "books": of_loop, "evaluations": {"calls": {}, "passes": 2},
            "stages": {"data": {"mean_ns": 7}, "forward": {"mean_ns": 3}, "sync": None},
            "loops": [{"rank": None, "books": of_loop, "negative_ns": 0, "steps": steps}]},
        "machine": {"others": others, "steal": 0.0}, "printed": "x", "plain": plain}


def case(evaluations=0, names=()):
    return foreign_cases.Case("one", "torch", 10, evaluations, ("input-bound",), ("data",), names)


@unittest.skipUnless(foreign_runs.PYTHON, "no frameworks")
class Scripts(unittest.TestCase):
    def test_some(self):
        cases, printed = foreign_cases.only(SMALL), []
        with tempfile.TemporaryDirectory(prefix="stepscope-foreign-") as folder:
            foreign_runs.run_all(folder, cases, printed.append)
            results = foreign_runs.results(folder, cases)
        self.assertEqual(len(results), len(SMALL), printed)
        for one, of_one in results:
            with self.subTest(script=one.name):
                missed = set(foreign_score.missed(one, of_one)) & set(SURE)
                self.assertEqual(missed, set(), foreign_score.row(one, of_one))
                self.assertIn(foreign_score.verdict_of(of_one), one.verdicts)


class Score(unittest.TestCase):
    def missed(self, one, of_one):
        return foreign_score.missed(one, of_one)

    def test_a_hit(self):
        self.assertEqual(self.missed(case(), result(finding("input-bound"))), [])

    def test_each_miss(self):
        found = finding("input-bound", claim="Rows.__getitem__", advice="jax.jit it")
        self.assertEqual(self.missed(case(), result(found)), ["advice of this framework"])
        found = finding("input-bound", claim="Rows.__getitem__")
        self.assertEqual(self.missed(case(names=("turned",)), result(found)), ["name"])
        self.assertEqual(self.missed(case(names=("Rows",)), result(found)), [])
        self.assertEqual(self.missed(case(), result(found, steps=9)), ["steps"])
        self.assertEqual(self.missed(case(), result(found, plain="y")), ["same output"])
        self.assertEqual(self.missed(case(), result(found, evaluated=5)), ["evaluations"])
        self.assertEqual(self.missed(case(evaluations=2), result(found, evaluated=5)), [])
        self.assertEqual(self.missed(case(), result()), ["verdict"])

    def test_books_that_do_not_close(self):
        of_one = result(finding("input-bound"))
        of_one["report"]["books"]["steady_ns"] += 1
        self.assertEqual(self.missed(case(), of_one), ["books close"])

    def test_a_disturbance_counts_only_where_it_is_confirmed(self):
        both = finding("preempted"), finding("input-bound")
        self.assertEqual(self.missed(case(), result(*both)), ["verdict"])
        self.assertEqual(self.missed(case(), result(*both, others=0.2)), [])
        self.assertEqual(foreign_score.said(result(*both, others=0.2)),
                         "preempted, then input-bound")

    def test_beside_a_disturbance_what_computes_is_the_verdict(self):
        computes = finding("preempted"), finding("compute-bound", "info")
        self.assertEqual(foreign_score.verdict_of(result(*computes, others=0.2)), "compute-bound")
        self.assertEqual(foreign_score.verdict_of(result(computes[0], others=0.2)), "healthy")


if __name__ == "__main__":
    unittest.main()
