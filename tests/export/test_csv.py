"""CSV of steps and of spans: every sum is the report's, every span the dump's, no cell is a formula."""

import collections
import csv
import io
import json
import unittest

from export_support import STAGES, ExportTest, jit_calls, raised  # finds the others

import report_runs
from support import FINE


def total(rows, column, **wanted):
    return sum(int(row[column]) for row in rows
               if all(row[key] == value for key, value in wanted.items()))


class Steps(ExportTest):
    def check_loop(self, rows, loop):
        steps, steady = loop["steps"], loop["steps"]["steady"]
        self.assertEqual(total(rows, "steps"), steps["count"])
        self.assertEqual(total(rows, "steps", part="warmup"), steps["warmup"])
        self.assertEqual(total(rows, "steps", part="left_out"), steps["left_out"])
        self.assertEqual(total(rows, "steps", part="steady"), steady["count"])
        self.assertEqual(total(rows, "time_ns", part="steady"), steady["total_ns"])
        self.assertEqual(total(rows, "time_ns"),
                         loop["books"]["warmup_ns"] + loop["books"]["steady_ns"])
        for stage in STAGES:
            known = loop["stages"][stage]
            if known:
                self.assertEqual(total(rows, stage + "_ns", part="steady"), known["total_ns"], stage)
        for row in rows:
            self.assertEqual(sum(int(row[stage + "_ns"]) for stage in STAGES), int(row["time_ns"]))

    def test_sums_are_those_of_the_report_to_the_nanosecond(self):
        loops = 0
        for run in self.runs():
            with self.subTest(run):
                report, rows = self.report(run), self.table("csv", run)
                for number, loop in enumerate(report["loops"]):
                    mine = [row for row in rows if row["loop"] == str(number)]
                    self.check_loop(mine, loop)
                    loops += 1
                self.assertEqual({row["loop"] for row in rows},
                                 {str(i) for i in range(len(report["loops"]))})
        self.assertGreater(loops, 14)

    def test_windows_with_a_disturbed_step_are_left_out_as_wholes(self):
        self.make_run(p=jit_calls())
        rows = self.table("csv", "run")
        left_out = [int(row["step"]) for row in rows if row["part"] == "left_out"]
        self.assertEqual(left_out, [*range(30, 40), *range(70, 80), *range(90, 95)])

    def test_steps_that_turn_out_to_be_none_have_no_row(self):
        for run, announced in (("announced", True), ("alone", False)):
            self.make_run(run, p=raised(announced))
            rows = self.table("csv", run)
            self.assertEqual([int(row["step"]) for row in rows], list(range(30)))
            self.assertEqual({row["forward_ns"] for row in rows}, {"2000000"})
            self.assertEqual({row["loop"] for row in rows}, {"0"})

    def test_a_row_is_what_report_says_of_the_step(self):
        self.make_run(p=report_runs.full())
        lines = self.check(["report", "--steps", "--json", "run"], FINE).stdout.splitlines()
        rows = self.table("csv", "run")
        self.assertEqual(len(lines), len(rows))
        for line, row in zip(map(json.loads, lines), rows):
            for key in ("loop", "process", "thread", "step", "steps", "time_ns"):
                self.assertEqual(int(row[key]), line[key], key)
            self.assertEqual(int(row["start_ns"]), line["start_ns"] - report_runs.START)
            for stage in STAGES:
                self.assertEqual(int(row[stage + "_ns"]), line["stages_ns"].get(stage, 0))
            self.assertEqual(row["part"] != "left_out", line["counted"])

    def test_epochs_samples_names_and_ranks_have_columns(self):
        self.make_run(p=report_runs.full())
        rows = self.table("csv", "run")
        self.assertEqual(collections.Counter(row["epoch"] for row in rows),
                         {"0": 100, "1": 100, "2": 100})
        self.assertEqual({row["samples"] for row in rows}, {"32"})
        self.assertEqual({row["loop_name"] for row in rows}, {"train"})
        self.assertEqual({row["rank"] for row in rows}, {""})
        self.make_run("ranks", p=report_runs.rank(0), q=report_runs.rank(1))
        self.assertEqual(collections.Counter(row["rank"] for row in self.table("csv", "ranks")),
                         {"0": 120, "1": 120})

    def test_steps_of_loops_that_are_not_kept_have_no_number_of_a_loop(self):
        thread = report_runs.Thread()
        for number in range(70):  # of a thread, 64 are kept
            thread.loop(True)
            for _ in range(2 + (number >= 6)):
                report_runs.one_step(thread)
            thread.loop(False)
        self.make_run(p=report_runs.process(thread))
        rows, loops = self.table("csv", "run"), self.report("run")["loops"]
        counts = collections.Counter(row["loop"] for row in rows)
        self.assertEqual(len(loops), 64)
        self.assertEqual(counts, {"": 6 * 2, **{str(i): 3 for i in range(64)}})
        for number, loop in enumerate(loops):
            self.check_loop([row for row in rows if row["loop"] == str(number)], loop)

    def test_a_run_that_goes_on_is_exported_as_far_as_it_is(self):
        self.make_run(p=report_runs.live())
        rows = self.table("csv", "run")
        self.assertEqual(len(rows), 100)
        self.check_loop(rows, self.report("run")["loops"][0])

    def test_a_run_without_steps_has_a_head_only(self):
        self.make_run(p=report_runs.untrained())
        self.assertEqual(self.export("csv", "run").count("\n"), 1)
        self.assertEqual(self.table("csv", "run"), [])


class Spans(ExportTest):
    def test_rows_are_the_spans_of_the_dump(self):
        for run in self.runs():
            with self.subTest(run):
                dump = self.dump(run)
                spans = [record for record in dump if record["kind"] == "span"]
                rows = self.table("csv-spans", run)
                self.assertEqual(len(rows), len(spans))
                begins = {int(row["start_ns"]) - span["start_ns"] for row, span in zip(rows, spans)}
                self.assertLessEqual(len(begins), 1)
                for row, span in zip(rows, spans):
                    self.assertEqual(int(row["duration_ns"]), span["end_ns"] - span["start_ns"])
                    for column, key in (("process", "process"), ("thread", "tid"), ("lane", "lane"),
                                        ("depth", "depth"), ("argument", "arg")):
                        self.assertEqual(int(row[column]), span[key], column)
                    self.assertEqual(row["stage"], span["stage"])
                    self.assertEqual(row["flags"].split(), span["flags"])
        self.assertEqual({row["role"] for row in rows}, {"none", "update"})

    def named(self, *texts):
        names = [(i + 1, text, text, report_runs.USER, 0, 0) for i, text in enumerate(texts)]
        thread = report_runs.Thread()
        for i in range(len(texts)):
            thread.span(i + 1, 1000)
        self.make_run(p=report_runs.process(thread, names=names))
        return self.export("csv-spans", "run")

    def cells(self, text):
        return list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]

    def test_no_cell_is_a_formula(self):
        attacks = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", "  =1+1", '"=1+1',
                   "=cmd|' /C calc'!A0", "x;=1+1", "x,=1+1", 'x";=1+1', "\uff1d1+1", "'=1+1", "x;\t=1"]
        text = self.named(*(a.encode() for a in attacks))
        for row, attack in zip(self.cells(text), attacks):
            for cell in row[6:8]:
                self.assertIn("'", cell, attack)
                for separator in ",;\t":  # however a program parts cells
                    for part in cell.replace('"', separator).split(separator):
                        self.assertNotIn(part.lstrip(" ")[:1], tuple("=+-@\uff1d"), (attack, cell))

    def test_cells_are_quoted_and_made_safe(self):
        text = self.named(b'a,b', b'say "hi"', b"\xff\xfe bytes", b"two\nlines", b"\x1b[31mred",
                          "\u202eevil".encode(), "前向 é".encode(), b"plain")
        found = [row[6] for row in self.cells(text)]
        self.assertEqual(found, ["a,b", 'say "hi"', "\ufffd\ufffd bytes", "two lines", "\ufffd[31mred",
                                 "\ufffdevil", "前向 é", "plain"])
        self.assertIn(',"a,b","a,b",', text)
        self.assertIn(',"say ""hi""",', text)
        self.assertIn(",plain,plain,", text)

    def test_our_own_negative_numbers_are_numbers(self):
        thread = report_runs.Thread()
        thread.span(2, 1000, argument=-5)
        self.make_run(p=report_runs.process(thread))
        self.assertEqual(self.table("csv-spans", "run")[0]["argument"], "-5")


if __name__ == "__main__":
    unittest.main()
