"""What a report claims must follow from its numbers, and read well on any terminal."""

import json
import os
import re
import subprocess
import time
import unittest

import report_runs as runs
from builder import open_span, step
from report_support import ENVIRONMENT, ReportTest
from support import FINE, USAGE
from test_report_json import Draft202012Validator, Kinds, schema, sum_of_books

VIEW = os.path.join(os.environ["STEPSCOPE_BUILD"], "report_view")
MS = runs.MS


class SenseTest(ReportTest):
    def view(self, what, run="run", *more, **environment):
        return subprocess.run([VIEW, what, run, *more], cwd=self.folder, stdout=subprocess.PIPE,
                              check=True, encoding="utf-8", env={**ENVIRONMENT, **environment}).stdout

    def json(self, *options, run="run"):
        return json.loads(self.check(["report", "--json", *options, run], FINE, stderr="").stdout)

    def outcome(self, run="run", **facts):
        os.makedirs(self.path(run), exist_ok=True)
        with open(self.path(run, "outcome"), "w", encoding="utf-8") as file:
            for key, value in facts.items():
                file.write(f"{key}: {value}\n")


class Deadline(SenseTest):
    def verdict(self, run):
        return self.json("--deadline=1h", run=run)["deadline"]["verdict"]

    def test_summary_and_status_say_whether_it_holds(self):
        self.make_run(p=runs.healthy())
        self.assertIn("\nfinish  the deadline of 1 h 00 min held\n", self.view("summary", "run", "1h"))
        self.assertIn("\nfinish  the deadline of 1.00 s was missed\n",
                      self.view("summary", "run", "1s"))
        self.assertNotIn("deadline", self.view("summary"))
        self.make_run("live", p=runs.live())
        self.assertRegex(self.view("status", "live", "1h"), " s left, deadline will hold, 104/s")
        self.assertIn(", deadline will be missed", self.view("status", "live", "26s"))

    def test_a_run_that_did_not_finish_did_not_hold(self):
        self.make_run("killed", p=runs.killed())
        self.assertEqual(self.verdict("killed"), "unfinished")
        self.assertIn("Finish    the run did not finish; its deadline was 1 h 00 min\n",
                      self.report("--deadline=1h", run="killed"))
        self.assertIn("did not finish", self.view("summary", "killed", "1h"))
        thread = runs.Thread()
        thread.mark(runs.plan, 50)
        for _ in range(40):
            runs.one_step(thread)
        self.make_run("early", p=runs.process(thread))
        self.assertEqual(self.verdict("early"), "unfinished")
        self.make_run("done", p=runs.full())
        self.outcome("done", pid=runs.PID, started_ns=runs.START,
                     ended_ns=runs.START + 9_000 * MS, signal=9)
        self.assertEqual(self.verdict("done"), "holds")

    def test_without_a_plan_the_exit_tells(self):
        for code, verdict in ((0, "holds"), (3, "unfinished")):
            name = f"exit-{code}"
            self.make_run(name, p=runs.healthy())
            self.outcome(name, pid=runs.PID, started_ns=runs.START,
                         ended_ns=runs.START + 3_000 * MS, exit_code=code)
            self.assertEqual(self.verdict(name), verdict)


class StatusLine(SenseTest):
    def test_what_is_left_is_never_cut(self):
        self.make_run(p=runs.live(planned=1_000_000_000))
        line = self.view("status")
        self.assertRegex(line, r"\Astepscope 25\.0 s: step 100/1000000000, [\d,]+ d \d\d h left, "
                               r"104/s, median 9\.\d\d ms\n\Z")
        for columns in range(40, 81):
            line = self.view("status", COLUMNS=str(columns)).rstrip("\n")
            self.assertLessEqual(len(line), columns)
            self.assertRegex(line, r"(100|/1000000000| left|/s| ms| %)\Z")


class Open(SenseTest):
    def hanging(self, started, beat):
        thread = runs.Thread(os.getpid(), started - 2_000 * MS)
        for _ in range(30):
            runs.one_step(thread)
        thread.mark(step, 32)
        thread.open = [open_span(started, 1)]
        return runs.alive(thread, beat, pid=os.getpid(), boot_id=runs.boot_id(),
                          start_ticks=started - 2_000 * MS, start_raw_ns=started - 2_000 * MS,
                          process_start=runs.process_start())

    def test_a_live_span_lasts_until_now(self):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self.make_run(p=self.hanging(now - 61_000 * MS, now + 20_000 * MS))
        self.assertRegex(self.report(), r"\nOpen      next batch, for 1 min 0\d s\n")

    def test_no_span_lasts_less_than_nothing(self):
        thread = runs.steady(steps=100)
        thread.records.pop()
        thread.mark(step, 32)
        thread.open = [open_span(thread.now + 50 * MS, 2)]
        self.make_run(p=runs.alive(thread, thread.now, pid=os.getpid(), process_start=1,
                                   boot_id=runs.boot_id()))
        self.assertIn("\nOpen      forward, for 0 ns\n", self.report())
        self.outcome(pid=os.getpid(), started_ns=runs.START, ended_ns=thread.now + 80 * MS, signal=9)
        self.assertIn("\nOpen      forward, for 30.0 ms\n", self.report())


class Crash(SenseTest):
    """The command failed before its first step, and its own message says why."""

    def setUp(self):
        super().setUp()
        self.make_run(p=runs.untrained())

    def summary(self, **end):
        self.outcome(pid=99, started_ns=runs.START, ended_ns=runs.START + 3_000 * MS, **end)
        return self.view("summary").splitlines()

    def test_the_summary_has_two_lines(self):
        for end in ({"exit_code": 1}, {"signal": 11}):
            lines = self.summary(**end)
            self.assertEqual(len(lines), 2, lines)
            self.assertRegex(lines[0], "^stepscope: python trai.*: (exited with 1|killed by)")
            self.assertEqual(lines[1], "more    stepscope report run")

    def test_an_interrupted_command_may_have_trained(self):
        for end in ({"exit_code": 130}, {"signal": 2}):
            self.assertIn("no-steps: this run recorded no training steps", self.summary(**end))


class Nothing(SenseTest):
    """A supervisor was there, but nothing was recorded."""

    def setUp(self):
        super().setUp()
        self.outcome(pid=99, started_ns=runs.START, ended_ns=runs.START + 3_000 * MS, exit_code=7)
        with open(self.path("run", "manifest"), "w", encoding="utf-8") as file:
            file.write("format: 1\ncommand: make data\nhost: box\n")

    def test_the_report_says_how_the_command_ended(self):
        text = self.report("--deadline=1h")
        self.assertTrue(text.startswith("make data: exited with 7 after 3.00 s\nno-steps: nothing was recorded\n"),
                        text)
        self.assertRegex(text, r"\nsum +3\.000  100\.0 %\n")
        self.assertIn("did not finish", text)
        for option in ("--epochs", "--steps"):
            self.assertIn("This run recorded no", self.report(option))

    def test_its_json_is_valid(self):
        found = self.json("--deadline=1h")
        self.assertEqual(found["books"]["wall_ns"], 3_000 * MS)
        self.assertEqual(sum_of_books(found["books"]), 3_000 * MS)
        self.assertEqual((found["run"]["exit_code"], found["run"]["processes"]), (7, 0))
        self.assertEqual(found["deadline"]["verdict"], "unfinished")
        if Draft202012Validator:
            Draft202012Validator(schema()).validate(found)


class FewCalls(SenseTest):
    def test_few_calls_have_no_percentiles(self):
        self.make_run(p=runs.full())
        text = self.report()
        self.assertRegex(text, r"\nLogger#2, epoch_end +3 .* +- +2\.000 +between\n")
        self.assertRegex(text, r"\npredict +21 .* 3\.59\d  3\.597\n")
        self.assertRegex(text, r"\n +count +total +mean +p50 +p95 +max\npredict")
        spans = {span["name"]: span for span in self.json()["spans"]}
        self.assertIsNone(spans["evaluate"]["p95_ns"])
        self.assertIsNone(spans["predict"]["p99_ns"])
        self.assertIsNotNone(spans["predict"]["p95_ns"])
        self.assertIsNotNone(spans["evaluate"]["p50_ns"])
        self.assertIsNotNone(spans["forward"]["p99_ns"])

    def test_a_step_has_none_either(self):
        self.make_run(p=runs.process(runs.steady(steps=60)))
        text = self.report()
        self.assertRegex(text, r"\n +mean +share +p50 +p95 +max\n")
        self.assertNotIn(", p99 ", text)


class Sure(SenseTest):
    def sure(self, text):
        return re.search(r"(?m)^confidence (\w+)(?:, as step[^:]*)?: ", text).group(1)

    def test_an_order_that_is_not_certain_is_not_claimed(self):
        self.make_run(p=runs.process(runs.steady(steps=100, jitter=0.3, data=0.2 * MS, forward=3 * MS, uneven="forward")))
        text = self.report()
        self.assertRegex(text, r"\nhealthy: (forward or backward|backward or forward) takes most of the step: "
                               r"4\d\.\d % \(\d\d\.\d to \d\d\.\d %\)\s+or\s+4\d\.\d %")
        self.assertEqual(self.sure(text), "good")
        wild = runs.steady(steps=40, jitter=0, data=0.2 * MS, forward=3 * MS, uneven="forward",
                           slow=lambda i: 9 * MS * (i % 13 == 2))
        self.make_run("wild", p=runs.process(wild))
        text = self.report(run="wild")
        self.assertRegex(text, r"\nhealthy: (forward or backward|backward or forward) takes most")
        self.assertEqual(self.sure(text), "low")

    def test_steps_are_asked_for_only_where_some_more_would_do(self):
        """All stages vary together: the mean is not known well, and 100 steps more change nothing."""
        thread = runs.Thread()
        random = runs.noise(3)
        for _ in range(100):
            factor = 1 + 0.8 * next(random)
            runs.one_step(thread, data=8 * MS * factor, forward=MS * factor, backward=MS * factor)
        self.make_run(p=runs.process(thread))
        text = self.report()
        self.assertRegex(text, r"\nconfidence low: \d+ steady steps, mean \+-1\d %\n")
        self.make_run("less", p=runs.process(runs.steady(steps=100, jitter=0.4)))
        line = self.report(run="less").splitlines()[3]
        found = re.fullmatch(r"confidence (good|fair): (\d+) steady steps, mean \+-([\d.]+) %; "
                             r"([\d,]+) more steps would give \+-2 %", line)
        self.assertTrue(found, line)
        self.assertEqual(found.group(1), "good" if float(found.group(3)) <= 5 else "fair")
        self.assertLess(int(found.group(4).replace(",", "")), 10 * int(found.group(2)))


class Loops(SenseTest):
    def test_the_summary_says_that_there_are_several(self):
        self.make_run(a=runs.rank(0), b=runs.rank(1))
        self.assertIn("\n2 loops in 2 processes, 240 steps; this is the longest\n",
                      self.view("summary"))
        self.make_run("two", p=runs.two_models())
        self.assertIn("\n2 loops in 1 process, 180 steps; this is the longest\n",
                      self.view("summary", "two"))
        self.make_run("one", p=runs.healthy())
        self.assertNotIn("loops in", self.view("summary", "one"))

    def test_epochs_of_every_loop_are_listed(self):
        made = []
        for number in range(2):
            thread = runs.Thread(runs.PID + number)
            for epoch in range(3):
                thread.epoch(epoch)
                for _ in range(25 + number):
                    runs.one_step(thread)
                thread.epoch()
            made.append(runs.process(thread, pid=runs.PID + number))
        self.make_run(a=made[0], b=made[1])
        text = self.report("--epochs")
        self.assertTrue(text.startswith("Loop 0, process 1, thread 4712. Epochs: 3;"), text)
        self.assertIn("\n\nLoop 1, process 0, thread 4711. Epochs: 3;", text)
        self.assertEqual(len(re.findall(r"(?m)^ +\d  ", text)), 6)

    def test_of_many_epochs_the_last_ones_are_shown(self):
        thread = runs.Thread()
        for epoch in range(12):
            thread.epoch(epoch)
            for _ in range(25):
                runs.one_step(thread)
            thread.epoch()
        self.make_run(p=runs.process(thread))
        self.assertIn("\nEpochs: the last 8 of 12; times in ms", self.report())
        self.assertTrue(self.report("--epochs").startswith("Epochs: 12; "))

    def test_without_steps_it_is_about_the_command(self):
        self.make_run(p=runs.untrained())
        self.outcome(pid=99, started_ns=runs.START, ended_ns=runs.START + 3_000 * MS, exit_code=0)
        self.assertRegex(self.report(), r"\nsum +3\.000  100\.0 %\n")
        self.assertIn("\nrun     startup 2.97 s\n", self.view("summary"))
        books = self.json()["books"]
        self.assertEqual((books["wall_ns"], sum_of_books(books)), (3_000 * MS, 3_000 * MS))
        self.assertEqual(books["infer_ns"], 30 * MS)


class Width(SenseTest):
    def test_nothing_is_wider_than_the_terminal(self):
        for name, made in Kinds.MADE.items():
            self.make_run(name, **made())
            for width in (40, 41, 50, 60, 71, 80):
                with self.subTest(name, width=width):
                    columns = str(width)
                    for options in ([], ["--epochs"], ["--steps"], ["--deadline=1h"]):
                        said = ("stepscope report: part of the run is missing: "
                                "'stepscope info damaged' shows which.\n")
                        is_said = name == "damaged" and options in (["--epochs"], ["--steps"])
                        self.report(*options, run=name, width=width, COLUMNS=columns,
                                    stderr=said if is_said else "")
                    self.check_lines(self.view("status", name, "1h", COLUMNS=columns), width)
                    summary = self.view("summary", name, "1h", COLUMNS=columns)
                    self.check_lines(summary, width)
                    if width == 80:
                        self.assertLessEqual(summary.count("\n"), 15, summary)


class More(SenseTest):
    def more(self, run, **environment):
        return self.view("summary", run, **environment).rpartition("\nmore")[2]

    def test_the_line_can_be_pasted(self):
        for name, word in (("it's here", r"'it'\''s here'"), ("a;b", "'a;b'"), ("-x", "./-x"),
                           ("plain-1.2_3", "plain-1.2_3")):
            self.make_run(name, p=runs.healthy())
            if name == "-x":
                name = "./-x"
            self.assertEqual(self.more(name), f"    stepscope report {word}\n")

    def test_a_long_path_is_not_cut(self):
        name = "x" * 100
        self.make_run(name, p=runs.healthy())
        self.assertEqual(self.more(name), f"\nstepscope report {name}\n")

    def test_the_newest_run_needs_no_name(self):
        os.mkdir(self.path("stepscope-runs"))
        for name in ("a", "b"):
            self.make_run(f"stepscope-runs/{name}", p=runs.healthy())
        os.symlink("b", self.path("stepscope-runs", "latest"))
        self.assertEqual(self.more("stepscope-runs/a"), "    stepscope report stepscope-runs/a\n")
        self.assertEqual(self.more("stepscope-runs/b"), "    stepscope report\n")
        self.assertEqual(self.more("stepscope-runs/b", STEPSCOPE_DIR="elsewhere"),
                         "    stepscope report stepscope-runs/b\n")


class BigEffects(SenseTest):
    def test_a_large_segment_has_its_share(self):
        thread = runs.steady(steps=100)
        thread.span(7, 1_500 * MS, 0)
        self.make_run(p=runs.process(thread))
        self.assertRegex(self.view("summary"),
                         r"\nrun     steady 960 ms, checkpoint 1\.50 s \(60 %\)\n")

    def test_slow_steps_are_named(self):
        slow = runs.steady(steps=200, slow=lambda i: 60 * MS if i % 11 == 3 else 0)
        self.make_run(p=runs.process(slow))
        self.assertRegex(self.view("summary"), r"\nalso    .*slow steps lift the mean 5\d\.\d %\s+above the median\n")

    def test_a_change_of_pace_says_which_way(self):
        self.make_run(p=runs.changing("shift"))
        self.assertRegex(self.view("summary"), r"\nalso    steps are 31\.\d % longer from step 25\d on")
        self.make_run("faster", p=runs.process(
            runs.steady(steps=600, slow=lambda i: 3 * MS if i < 400 else 0)))
        self.assertRegex(self.view("summary", "faster"),
                         r"\nalso    steps are 23\.\d % shorter from step 40\d on")


class Words(SenseTest):
    def test_numbers_have_no_exponent_and_keep_their_percent(self):
        slow = runs.steady(steps=60, slow=lambda i: 3_000 * MS if i == 40 else 0)
        self.make_run(p=runs.process(slow))
        text = self.report()
        self.assertRegex(text, r"mean \+-\d{2,4} %")
        self.assertNotRegex(text, r"\de\+\d")
        for width in range(40, 81):
            self.assertNotRegex(self.report(width=width, COLUMNS=str(width)), r"\d\n +%")

    def test_one_is_one(self):
        self.make_run(p=runs.process(runs.steady(steps=19)))
        self.assertIn("1 more step needed to see", self.report())
        thread = runs.steady(steps=60, slow=lambda i: 50 * MS if i == 0 else 0)
        self.make_run("warm", p=runs.process(thread))
        self.assertRegex(self.report(run="warm"),
                         r"\nWarm-up   the first step took 59\.\d ms, \d+\.\d ms more than a steady one\n")

        thread.span(9, MS, 0, depth=1, nest=0x51)  # what was around it is missing
        thread.wait(MS)
        thread.span(8, MS, 0)
        self.make_run("orphan", p=runs.process(thread))
        self.assertIn("\nError     1 span lost its enclosing span\n", self.report(run="orphan"))

    def test_enough_is_enough(self):
        """Around the limit of 2 % the precision that is shown and the need agree."""
        shown = set()
        for jitter in range(30, 80, 2):
            name = f"run-{jitter}"
            self.make_run(name, p=runs.process(runs.steady(steps=60, jitter=jitter / 1000)))
            line = self.report(run=name).splitlines()[3]
            precision = re.search(r"\+-([\d.]+) %", line).group(1)
            shown.add(precision)
            if float(precision) <= 2:
                self.assertNotIn("more", line)
        self.assertIn("2.0", shown)

    def test_not_level_and_no_change_agree(self):
        found = 0
        for seed in range(40):
            random, level = runs.noise(seed + 1), 0
            thread = runs.Thread()
            for _ in range(150):
                level = 0.97 * level + 0.1 * next(random)
                runs.one_step(thread, data=4 * MS * (1.5 + level))
            name = f"run-{seed}"
            self.make_run(name, p=runs.process(thread))
            text = " ".join(self.report(run=name).split())
            found += "steps keep drifting" in text and "no trend or shift" in text
            if re.search("confidence low, as (steps keep drifting|step time changed midway): ", text):
                self.assertNotIn("no change beyond noise", text)
        self.assertGreater(found, 0)

    def test_too_few_steps_are_not_called_steady(self):
        self.make_run(p=runs.too_few())
        self.assertNotIn("steady", self.report())
        self.assertNotIn("steady", self.view("summary"))
        self.assertIn(", steps 115 ms, ", self.view("summary"))

    def test_a_column_has_one_unit(self):
        thread = runs.steady(steps=60, data=20_000, forward=1_000, backward=1_000, optimizer=500,
                             other=500)
        thread.span(6, 147 * MS, 0)
        thread.span(8, 147 * MS, 0)
        self.make_run(p=runs.process(thread))
        self.assertNotRegex(self.report(), r"\d(us|ms|s|min)\b")


class Usage(SenseTest):
    def test_tables_are_not_mixed(self):
        self.make_run(p=runs.full())
        for options in (["--epochs", "--steps"], ["--epochs", "--json"], ["--steps", "--hot"]):
            done = self.check(["report", *options, "run"], USAGE, stdout="")
            self.assertIn("--", done.stderr)

    def test_an_empty_argument_is_named(self):
        done = self.check(["report", ""], USAGE, stdout="")
        self.assertIn("is empty", done.stderr)

    def test_epochs_begin_with_their_title(self):
        self.make_run(p=runs.full())
        self.assertTrue(self.report("--epochs").startswith("Epochs: 3;"))


if __name__ == "__main__":
    unittest.main()
