"""Exports of any bytes: every run of the format tests, and trainings with damage of all kinds. Nothing
crashes, what comes out can be read, and no time is made up."""

import csv
import io
import os
import unittest

from export_support import ExportTest, has_perfetto, jit_calls  # finds the others

import make_runs
import pftrace
import report_runs
from builder import RUNS
from mutations import Mutator
from support import DATA, FINE

MUTANTS = 300 if os.environ.get("SOAK") == "1" else 15


class AnyRun(ExportTest):
    def try_all(self, run):
        """All formats; each works, or none of them finds a run."""
        spans = None
        done = self.stepscope("export", "csv-spans", run, "-")
        self.assertIn(done.returncode, (FINE, DATA), done.stderr)
        if done.returncode == FINE:
            rows = list(csv.reader(io.StringIO(done.stdout, newline=""), strict=True))
            self.assertEqual({len(row) for row in rows}, {15})
            spans = len(rows) - 1
        done = self.stepscope("export", "csv", run, "-")
        self.assertEqual(done.returncode, DATA if spans is None else FINE, done.stderr)
        list(csv.reader(io.StringIO(done.stdout, newline=""), strict=True))
        if has_perfetto():
            done = self.stepscope("export", "perfetto", run, "out", "--force")
            self.assertEqual(done.returncode, DATA if spans is None else FINE, done.stderr)
        return spans

    def check_trace(self, spans):
        """Its reader fails on what makes no sense, such as an end without a begin."""
        trace = pftrace.load(self.path("out"))
        self.assertEqual(len([s for s in trace.slices if s.category]), spans)

    def test_runs_of_the_format_tests(self):
        for name, build in RUNS.items():
            with self.subTest(name):
                make_runs.write_run(make_runs.files_of(build), self.path(name))
                self.try_all(name)

    def test_damaged_trainings(self):
        for kind, made in (("full", report_runs.full()), ("jit", jit_calls())):
            damaged = Mutator(made.bytes(), 20 + len(kind)).mutants(MUTANTS)
            for i, data in enumerate(damaged):
                with self.subTest(kind=kind, mutant=i):
                    self.try_all(self.make_run(f"{kind}-{i}", p=data))

    @unittest.skipUnless(has_perfetto(), "built without nanopb")
    def test_runs_that_were_cut_off(self):
        whole = report_runs.full().bytes()
        for size in range(65536 - 8192, len(whole), 30000):
            run = self.make_run(f"cut-{size}", p=whole[:size])
            spans = self.try_all(run)
            if spans is not None:
                self.check_trace(spans)


if __name__ == "__main__":
    unittest.main()
