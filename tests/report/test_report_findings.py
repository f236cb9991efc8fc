"""Which cause is named for runs of which every number is known: its share, and that nothing else is."""

import json
import unittest

import report_runs as runs
from report_runs import (BATCH_END, CALLBACK, CHECKPOINT, COMM, COMPILE, EVAL, GC, INFER, MS, SETUP, SYNC,
                         TRANSFER)
from report_support import ReportTest
from support import FINE

MORE = {"transfer": (20, TRANSFER), "sync": (21, SYNC), "comm": (22, COMM), "gc": (23, GC),
        "setup": (24, SETUP), "compile": (25, COMPILE), "callback": (26, CALLBACK),
        "eval": (27, EVAL), "checkpoint": (28, CHECKPOINT), "infer": (29, INFER)}
NAMES = runs.NAMES + tuple((number, stage.encode(), b"Thing", code, 0,
                            BATCH_END if stage == "callback" else 0)
                           for stage, (number, code) in MORE.items())


def train(steps=200, every=1, stage=None, ns=0, grow=0.0, other=MS / 10):
    """Steps of 6 ms and a little, in which each `every`th has a span of the stage."""
    thread = runs.Thread()
    random = runs.noise(3)
    thread.wait(50 * MS)
    thread.loop(True)
    for i in range(steps):
        thread.mark(runs.step, 32)
        thread.span(1, MS / 20)
        thread.span(2, 2 * MS * (1 + 0.02 * next(random) + grow * i / steps))
        thread.span(3, 3 * MS)
        thread.span(4, MS / 2)
        if stage and i % every == every - 1:
            thread.span(MORE[stage][0], ns)
        thread.wait(other)
    thread.loop(False)
    return runs.process(thread, names=NAMES)


class Causes(ReportTest):
    count = 0
    name = None

    def diagnose(self, **how):
        self.count += 1
        self.name = "run-%d" % self.count
        self.make_run(self.name, p=train(**how))
        return json.loads(self.check(["report", "--json", self.name], FINE).stdout)

    def check_cause(self, wanted, share, **how):
        report = self.diagnose(**how)
        found = [f for f in report["findings"] if f["severity"] != "info"]
        self.assertEqual([f["id"] for f in found], [wanted], report["findings"])
        self.assertEqual(report["verdict"], wanted)
        low, high = found[0]["share_ci"]
        self.assertTrue(low - 1e-3 <= share <= high + 1e-3, (share, found[0]))
        self.assertGreaterEqual(found[0]["gain_most"], share - 1e-3)
        for text in ("claim", "evidence", "advice"):
            self.assertTrue(found[0][text], text)
        self.report(run=self.name)
        return found[0]

    def test_stages(self):
        base = 5.65
        for stage, wanted in (("transfer", "transfer-bound"), ("sync", "sync-bound"),
                              ("comm", "comm-bound"), ("gc", "gc-pauses"),
                              ("setup", "setup-heavy"), ("callback", "callback-bound")):
            for ms in (0.6, 2, 6):
                with self.subTest(stage=stage, ms=ms):
                    found = self.check_cause(wanted, ms / (base + ms), stage=stage, ns=ms * MS)
        self.assertIn("Thing.callback", found["claim"])

    def test_a_callback_now_and_then(self):
        found = self.check_cause("callback-bound", 5 / 10.65, stage="callback", ns=50 * MS, every=10)
        self.assertIn("every 10 steps", found["evidence"])

    def test_a_function_that_is_compiled_again(self):
        found = self.check_cause("retrace-storm", 2 / 7.65, stage="compile", ns=20 * MS, every=10)
        self.assertIn("20 times in 200 steps", found["evidence"])

    def test_cuts(self):
        self.check_cause("eval-heavy", 10 / 15.65, stage="eval", ns=100 * MS, every=10)
        self.check_cause("checkpoint-heavy", 10 / 15.65, stage="checkpoint", ns=100 * MS, every=10)

    def test_time_in_no_span(self):
        self.check_cause("instrument-more", 3 / 8.55, other=3 * MS)

    def test_steps_that_become_slower(self):
        report = self.diagnose(steps=600, grow=1.0)
        self.assertEqual(report["verdict"], "drift", report["findings"])

    def test_pauses(self):
        report = self.diagnose(steps=1000, stage="sync", ns=60 * MS, every=50)
        self.assertIn("periodic-pause", [f["id"] for f in report["findings"]])

    def test_little_is_not_worth_a_warning(self):
        for stage in ("transfer", "sync", "comm", "gc", "setup"):
            report = self.diagnose(stage=stage, ns=MS * 0.1)
            self.assertEqual((report["verdict"], report["findings"]), ("healthy", []), stage)

    def test_too_few_steps(self):
        self.make_run(p=runs.too_few())
        report = json.loads(self.check(["report", "--json", "run"], FINE).stdout)
        self.assertEqual([f["id"] for f in report["findings"]], ["too-few-steps"])
        self.make_run("none", p=runs.untrained())
        report = json.loads(self.check(["report", "--json", "none"], FINE).stdout)
        self.assertEqual((report["verdict"], report["findings"]), ("no-steps", []))


if __name__ == "__main__":
    unittest.main()
