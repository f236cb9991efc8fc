"""What is said first where the time is not in the steps, and that text, page and JSON agree on it."""

import json
import re
import unittest

import report_runs as runs
from builder import frame, sample
from report_runs import MS
from report_support import ReportTest
from support import FINE

SECOND = 1000 * MS
FRAMES = {"main": (90, b"<module>", b"train.py"), "tokenize": (12, b"tokenize", b"train.py")}
NUMBERS = {name: i for i, name in enumerate(FRAMES, 1)}


def train(startup=SECOND, between=0, steps=200, epochs=4, wait=MS / 20, sampled=True):
    """Epochs of 6 ms steps after a start and with pauses between them, in which something in tokenize() runs."""
    thread, sampler = runs.Thread(), runs.Thread(tid=9, text=b"stepscope")
    random = runs.noise(3)

    def pause(ns):
        count = ns // (SECOND // 20) if sampled else 0
        for part in range(count):
            sampler.now = int(thread.now + ns * (part + 0.5) / count)
            sampler.records.append(sample(sampler.now, runs.PID, [NUMBERS["tokenize"], NUMBERS["main"]]))
        thread.wait(ns)

    pause(startup)
    for number in range(epochs):
        thread.epoch(number)
        for _ in range(steps // epochs):
            thread.mark(runs.step, 32)
            thread.span(1, wait)
            thread.span(2, 2 * MS * (1 + 0.02 * next(random)))
            thread.span(3, 3 * MS)
            thread.span(4, MS / 2)
        thread.epoch()
        if number < epochs - 1:
            pause(between)
    told = [frame(NUMBERS[name], line, function, file) for name, (line, function, file) in FRAMES.items()]
    return runs.process(thread, sampler, control=told)


class Verdict(ReportTest):
    count = 0

    def judge(self, **how):
        self.count += 1
        self.run_name = self.make_run("run-%d" % self.count, p=train(**how))
        report = json.loads(self.check(["report", "--json", self.run_name], FINE).stdout)
        self.ids = {found["id"]: found for found in report["findings"]}
        return report

    def test_a_long_start(self):
        report = self.judge(startup=60 * SECOND, steps=4000)
        self.assertEqual(report["verdict"], "startup-heavy", report["findings"])
        found = report["findings"][0]
        whole = 60 / (60 + 4 * 5.55)
        self.assertAlmostEqual(found["share"], whole, delta=0.02)
        self.assertAlmostEqual(found["share_ci"][0], whole / 2, delta=0.01)
        self.assertIn("tokenize", found["evidence"])
        self.assertRegex(self.report(run=self.run_name), "startup-heavy")
        self.judge(startup=60 * SECOND, steps=4000, sampled=False)
        self.assertNotIn("tokenize", self.ids["startup-heavy"]["evidence"])

    def test_a_short_or_small_start_is_no_warning(self):
        for how in ({"startup": 20 * SECOND, "steps": 2000}, {"startup": 31 * SECOND, "steps": 30000}):
            with self.subTest(how):
                self.assertNotEqual(self.judge(**how)["verdict"], "startup-heavy")
        self.judge(startup=20 * SECOND, steps=2000)
        self.assertEqual(self.ids["startup-heavy"]["severity"], "info")
        self.judge(startup=4 * SECOND, steps=200)
        self.assertNotIn("startup-heavy", self.ids)

    def test_a_larger_wait_in_the_steps_comes_first(self):
        report = self.judge(startup=31 * SECOND, steps=4000, wait=12 * MS)
        self.assertEqual(report["verdict"], "input-bound", report["findings"])

    def test_time_between_epochs_that_the_script_spends(self):
        report = self.judge(between=2 * SECOND, steps=800)
        self.assertEqual(report["verdict"], "instrument-more", report["findings"])
        self.assertRegex(report["findings"][0]["claim"], "between epochs")
        self.assertIn("tokenize", report["findings"][0]["evidence"])

    def test_the_page_says_the_same(self):
        self.judge(startup=60 * SECOND, steps=4000)
        page = self.path("page.html")
        self.check(["report", "--html", page, self.run_name], FINE)
        with open(page, encoding="utf-8") as file:
            text = re.sub("<[^>]*>", " ", file.read())
        self.assertIn("startup-heavy", text)


if __name__ == "__main__":
    unittest.main()
