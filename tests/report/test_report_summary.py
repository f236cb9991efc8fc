"""What `stepscope run` prints: the summary at its end, the status line on the way."""

import os
import subprocess
import unittest

import report_runs as runs
from report_support import ENVIRONMENT, ReportTest
from test_report_json import Kinds

VIEW = os.path.join(os.environ["STEPSCOPE_BUILD"], "report_view")


class Summary(ReportTest):
    def view(self, what, run="run", **environment):
        return subprocess.run([VIEW, what, run], cwd=self.folder, stdout=subprocess.PIPE, check=True,
                              encoding="utf-8", env={**ENVIRONMENT, **environment}).stdout

    def test_it_is_short_whatever_the_run(self):
        for name, made in Kinds.MADE.items():
            with self.subTest(name):
                self.make_run(name, **made())
                text = self.view("summary", name, COLUMNS="200")
                self.check_lines(text)
                self.assertLessEqual(len(text.splitlines()), 15, text)
                status = self.view("status", name)
                self.check_lines(status)
                self.assertEqual(status.count("\n"), 1)

    def test_everything_there_is(self):
        self.make_run(p=runs.full())
        self.check_golden("full_summary", self.view("summary"))

    def test_the_answer_is_that_of_the_report(self):
        self.make_run(p=runs.full())
        summary, report = self.view("summary").splitlines(), self.report().splitlines()
        self.assertEqual(summary[0], "stepscope: " + report[0])
        self.assertEqual(summary[1:4], report[1:4])

    def test_a_run_without_steps(self):
        self.make_run(p=runs.untrained())
        self.check_golden("untrained_summary", self.view("summary"))

    def test_status_lines(self):
        self.make_run("live", p=runs.live())
        self.assertRegex(self.view("status", "live"),
                         r"\Astepscope 25\.0 s: step 100/1000, 8\.6\d s left, 104/s, "
                         r"median 9\.\d\d ms, data 42 %\n\Z")
        self.make_run("few", p=runs.too_few())
        self.assertEqual(self.view("status", "few"), "stepscope 175 ms: step 12, 104/s\n")
        self.make_run("none", p=runs.untrained())
        self.assertEqual(self.view("status", "none"), "stepscope 115 ms: no step yet\n")


if __name__ == "__main__":
    unittest.main()
