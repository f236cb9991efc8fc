"""What the summary at the end of `stepscope run` and `info` say, of every recorded run."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import corpus

BUILD = os.environ["STEPSCOPE_BUILD"]
MOST_LINES = 15
ENOUGH = 0.9  # of the step
LINE_LEAST = 0.1  # of the stage, for certain
WORTH_A_ROW = 0.01
LEAST_ROWS = 3
GIVES_WAY = ("run ", "also ", "then ")  # to the stages


def is_full(lines):
    return len(lines) == MOST_LINES and not any(line.startswith(GIVES_WAY) for line in lines)


class Summaries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-summaries-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def ask(self, program, *words):
        return subprocess.run([os.path.join(BUILD, program), *words], cwd=self.folder, check=False,
                              env=corpus.environment(), stdin=subprocess.DEVNULL, encoding="utf-8",
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def check_stages(self, lines, times):
        """Returns whether there was something to check."""
        shown = [name for line in lines for name in re.findall(r"^  ([a-z]+) .* %(?:  |$)", line)]
        wanted = ENOUGH * sum(times.values())
        if wanted == 0:
            return False
        if not is_full(lines):
            self.assertGreaterEqual(sum(times[name] for name in shown), wanted, lines)
            worth = sum(ns >= WORTH_A_ROW * sum(times.values()) for ns in times.values())
            self.assertGreaterEqual(len(shown), min(worth, LEAST_ROWS), lines)
        missing = max((ns for name, ns in times.items() if name not in shown), default=0)
        self.assertLessEqual(missing, min(times[name] for name in shown), lines)
        return True

    def check_hottest_line(self, lines, times, report):
        named = {name: ns for name, ns in times.items() if name not in report["not_measured"]}
        largest = max(named, key=named.get, default=None)
        hot = [line for line in report["hot"]["lines"]
               if line["stage"] == largest and line["line"] and line["share_ci"][0] >= LINE_LEAST]
        if not hot or named[largest] == 0 or is_full(lines):
            return False
        place = re.escape(f"{os.path.basename(hot[0]['file'])}:{hot[0]['line']}")
        rows = [line for line in lines if line.startswith("line ")]
        self.assertEqual(len(rows), 1, lines)
        if not rows[0].endswith("of data, in parallel"):
            self.assertRegex(rows[0], f"^line    {place} .*: [0-9.]+ % of {largest}$")
        return True

    def test_stages_and_the_hottest_line_come_before_the_rest(self):
        with_stages = with_line = 0
        for run in corpus.unpack(self.folder):
            with self.subTest(run):
                lines = self.ask("report_view", "summary", run).splitlines()
                self.assertLessEqual(len(lines), MOST_LINES)
                report = self.ask("stepscope", "report", "--json", run)
                if report and json.loads(report)["loops"]:
                    report = json.loads(report)
                    times = {name: stage["total_ns"] for name, stage in report["stages"].items()
                             if stage}
                    with_stages += self.check_stages(lines, times)
                    with_line += self.check_hottest_line(lines, times, report)
        self.assertGreater(with_stages, 100)
        self.assertGreater(with_line, 5)

    def test_info_counts_what_the_report_counts(self):
        checked = 0
        for run in corpus.unpack(self.folder):
            with self.subTest(run):
                report = self.ask("stepscope", "report", "--json", run)
                info = self.ask("stepscope", "info", "--json", run)
                if report and info:
                    report, info = json.loads(report), json.loads(info)
                    steps = report["loops"][0]["steps"]["count"] if report["loops"] else 0
                    self.assertEqual(info["steps"], steps)
                    if not info["live"]:
                        self.assertEqual(info["duration_ns"], report["run"]["wall_ns"])
                    checked += steps > 0
        self.assertGreater(checked, 100)


if __name__ == "__main__":
    unittest.main()
