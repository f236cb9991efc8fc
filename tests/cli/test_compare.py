"""`stepscope compare`: made runs whose answer is known. Real ones: tests/diagnosis."""

import json
import os
import sys
import unittest

from support import CHECK_FAILED, DATA, FINE, TESTS, USAGE, CommandTest

sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs as runs  # noqa: E402 (tests/report/report_runs.py packs trainings)

MS = runs.MS
STEPS = 120
RUN_LEVELS = (0.995, 1.0, 1.005)  # what three runs of the same thing differ by


def training(seed=1, level=1.0, samples=32, steps=STEPS, slow_start=0, spikes=0, data=2 * MS,
             callback=0.5 * MS, **header):
    """A run with steps of 5.6 ms that vary by some per cent; spikes take 50 ms more."""
    thread = runs.Thread()
    noise = runs.noise(seed)
    thread.loop(True)
    for i in range(steps):
        factor = level * (1 + 0.02 * next(noise)) * (5 if i < slow_start else 1)
        thread.mark(runs.step, samples)
        thread.span(1, data * factor)
        thread.span(2, 3 * MS * factor)
        if callback:
            thread.span(5, callback * factor)
        is_spike = spikes and i % (steps // spikes) == steps // spikes // 2
        thread.wait(MS / 10 * factor + (50 * MS if is_spike else 0))
    thread.loop(False)
    return runs.process(thread, **header)


class CompareTest(CommandTest):
    def make_side(self, name, levels=RUN_LEVELS, seed=1, **how):
        """A directory of runs."""
        os.mkdir(self.path(name))
        for i, level in enumerate(levels):
            self.make_run(f"{name}/run{i}", p=training(10 * seed + i, level, **how))
        return name

    def compare(self, *arguments, code=FINE, sides=2):
        done = self.check(["compare", "--json", *arguments], code, stderr="")
        self.assertEqual(done.stdout.count("\n"), 1)
        found = json.loads(done.stdout)
        self.assertEqual(found["schema"], "stepscope-compare/1")
        self.assertEqual((len(found["sides"]), len(found["comparisons"])), (sides, sides - 1))
        return found

    def only(self, *arguments, **how):
        return self.compare(*arguments, **how)["comparisons"][0]


class Answers(CompareTest):
    def test_three_runs_a_side_that_are_slower(self):
        self.make_side("a")
        self.make_side("b", seed=2, data=2.6 * MS)
        found = self.only("a", "b")
        self.assertEqual((found["level"], found["unit"]), ("test", "step"))
        self.assertEqual((found["verdict"], found["decided_by"]), ("slower", "mean"))
        self.assertEqual(found["step"]["verdict"], "slower")
        self.assertAlmostEqual(found["step"]["change"], 0.6 / 5.6, delta=0.01)
        low, high = found["step"]["change_ci"]
        self.assertTrue(0 < low < 0.6 / 5.6 < high < 0.2, (low, high))
        self.assertEqual(found["carrier"], "data")
        self.assertEqual(found["stages"]["forward"]["verdict"], "same")
        self.assertEqual(found["median"]["verdict"], "slower")
        self.assertEqual(found["step"]["more_runs"], 0)

    def test_the_other_way_round_they_are_faster(self):
        self.make_side("a")
        self.make_side("b", seed=2, data=2.6 * MS)
        found = self.only("b", "a")
        self.assertEqual(found["step"]["verdict"], "faster")
        self.assertEqual(found["stages"]["data"]["verdict"], "faster")

    def test_the_changes_of_stages_add_up_to_that_of_the_step(self):
        self.make_side("a")
        self.make_side("b", seed=2, data=2.6 * MS, callback=0.9 * MS)
        found = self.only("a", "b")
        self.assertAlmostEqual(sum(stage["change"] for stage in found["stages"].values()),
                               found["step"]["change"], delta=0.001)

    def test_the_same_thing_is_the_same(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        found = self.only("a", "b")
        self.assertEqual(found["step"]["verdict"], "same")
        self.assertIsNone(found["carrier"])

    def test_runs_that_vary_too_much_say_how_many_more_are_needed(self):
        self.make_side("a", levels=(0.95, 1.0, 1.05))
        self.make_side("b", levels=(0.98, 1.03, 1.08), seed=2)
        step = self.only("a", "b")["step"]
        self.assertEqual(step["verdict"], "inconclusive")
        self.assertGreater(step["more_runs"], 3)
        self.assertIn(f"about {step['more_runs']} more runs per side to decide",
                      self.check(["compare", "a", "b"], FINE).stdout)

    def test_the_median_decides_where_spikes_drown_the_mean(self):
        for side, data in (("a", 2 * MS), ("b", 2.6 * MS)):
            os.mkdir(self.path(side))
            for i, spikes in enumerate((0, 4, 9)):
                self.make_run(f"{side}/run{i}",
                              p=training(i + 1, RUN_LEVELS[i], data=data, spikes=spikes))
        found = self.only("--fail-if-slower", "3%", "a", "b", code=CHECK_FAILED)
        self.assertEqual(found["step"]["verdict"], "inconclusive")
        self.assertEqual((found["verdict"], found["decided_by"], found["carrier"]),
                         ("slower", "median", "data"))
        text = self.check(["compare", "a", "b"], FINE).stdout
        self.assertRegex(text, r"\nB is slower than A: \+1\d\.\d % \(.*\) per typical step\n")
        self.assertIn("\nAverage   the mean step: inconclusive, ", text)

    def test_slow_steps_now_and_then_are_in_the_mean(self):
        self.make_side("a")
        self.make_side("b", seed=2, spikes=3)
        found = self.only("a", "b")
        self.assertEqual((found["verdict"], found["decided_by"]), ("slower", "mean"))
        self.assertEqual(found["median"]["verdict"], "same")
        self.assertIn("\nTypical   the median step: same, ",
                      self.check(["compare", "a", "b"], FINE).stdout)

    def test_one_run_a_side_is_an_indication(self):
        self.make_run("a", p=training())
        self.make_run("b", p=training(2, data=3.6 * MS))
        found = self.only("a", "b")
        self.assertEqual((found["level"], found["step"]["verdict"]), ("indication", "slower"))
        low, high = found["step"]["change_ci"]
        self.assertGreater(high - low, 0.1)  # 2 % between runs, whatever one run says
        text = self.check(["compare", "a", "b"], FINE).stdout
        self.assertIn("an indication, not a test", text)
        self.assertIn("2 more runs per side for a test", text)

    def test_warm_up_is_left_out(self):
        self.make_side("a")
        self.make_side("b", seed=2, slow_start=15)
        found = self.compare("a", "b")
        self.assertEqual(found["comparisons"][0]["step"]["verdict"], "same")
        for run in found["sides"][1]["runs"]:
            self.assertEqual((run["warmup"], run["steady"]), (15, STEPS - 15))

    def test_other_batch_sizes_are_compared_per_sample(self):
        self.make_side("a")
        self.make_side("b", seed=2, samples=64)
        found = self.only("a", "b")
        self.assertEqual((found["unit"], found["step"]["verdict"]), ("sample", "faster"))
        self.assertAlmostEqual(found["step"]["change"], -0.5, delta=0.01)
        self.assertAlmostEqual(found["step"]["a_ns"], 5.6 * MS / 32, delta=5.6 * MS / 3200)
        text = self.check(["compare", "a", "b"], FINE).stdout
        self.assertIn("us per sample; change in % of A's sample", text)
        self.assertIn("per sample, because the batch sizes differ", " ".join(text.split()))

    def test_what_one_side_did_not_measure_is_not_0(self):
        self.make_side("a", callback=0)
        self.make_side("b", seed=2)
        stage = self.only("a", "b")["stages"]["callback"]
        self.assertEqual((stage["a_ns"], stage["change"], stage["verdict"]), (None, None, None))
        self.assertIn("not measured in A", self.check(["compare", "a", "b"], FINE).stdout)
        self.assertIn("only in A", self.check(["compare", "b", "a"], FINE).stdout)

    def test_several_sides_are_each_compared_with_the_first(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        self.make_side("c", seed=3, data=3 * MS)
        found = self.compare("a", "b", "c", sides=3)["comparisons"]
        self.assertEqual([(one["b"], one["step"]["verdict"]) for one in found],
                         [("B", "same"), ("C", "slower")])


class Gate(CompareTest):
    def setUp(self):
        super().setUp()
        self.make_side("a")
        self.make_side("slow", seed=2, data=2.6 * MS)

    def gate(self, *arguments, code=FINE):
        return self.only("--fail-if-slower", *arguments, code=code)["gate"]

    def test_it_fails_only_if_all_of_the_interval_is_above(self):
        self.assertEqual(self.gate("3%", "a", "slow", code=CHECK_FAILED), "failed")
        self.assertEqual(self.gate("10.7%", "a", "slow"), "unsure")
        self.assertEqual(self.gate("20%", "a", "slow"), "passed")
        self.assertEqual(self.gate("3%", "slow", "a"), "passed")
        self.assertIsNone(self.only("a", "slow")["gate"])

    def test_one_run_a_side_never_fails(self):
        self.make_run("much", p=training(9, data=30 * MS))
        self.assertEqual(self.gate("3%", "a/run0", "much"), "undecided")
        self.assertEqual(self.gate("3%", "a", "much"), "undecided")
        self.assertIn("not decided: needs 3 runs per side",
                      self.check(["compare", "--fail-if-slower", "3%", "a", "much"], FINE).stdout)

    def test_one_slow_side_of_several_is_enough(self):
        self.make_side("same", seed=3)
        self.compare("--fail-if-slower=3%", "a", "slow", "same", code=CHECK_FAILED, sides=3)

    def test_what_is_no_part_is_refused(self):
        for text in ("3", "%", "0.03x", "-3%", "nan%", "2000%"):
            done = self.check(["compare", f"--fail-if-slower={text}", "a", "slow"], USAGE,
                              stdout="")
            self.assertIn("takes a share such as 3%", done.stderr)


class Sides(CompareTest):
    def test_runs_with_commas_or_a_directory_of_them(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        os.symlink("run2", self.path("a", "latest"))
        os.mkdir(self.path("a", "notes"))
        listed = "b/run0,b/run1,b/run2"
        found = self.compare("a", listed)
        self.assertEqual([run["name"] for run in found["sides"][0]["runs"]],
                         ["run0", "run1", "run2"])
        self.assertEqual(found["sides"][1]["label"], listed)
        self.assertEqual(found["comparisons"], self.compare("a", "b")["comparisons"])

    def test_names_are_looked_for_among_the_runs(self):
        self.make_side("stepscope-runs")
        self.assertEqual(self.only("run0", "run1")["level"], "indication")

    def test_a_run_given_twice_is_no_evidence(self):
        self.make_side("a")
        done = self.check(["compare", "a", "a/run1"], USAGE, stdout="")
        self.assertIn("run 'a/run1' is given twice", done.stderr)

    def test_what_can_not_be_compared(self):
        self.make_run("a", p=training())
        self.make_run("none", p=runs.process(runs.Thread()))
        self.make_run("few", p=training(steps=12))
        os.mkdir(self.path("empty"))
        for operand, code, words in (
                ("nowhere", DATA, "there is no run 'nowhere'"),
                ("a,nowhere", DATA, "there is no run 'nowhere'"),
                ("none", DATA, "run 'none' has no steps to compare"),
                ("few", DATA, "run 'few' has too few steps to compare"),
                ("empty", DATA, "Was anything recorded into it?"),
                ("a,,a", USAGE, "a run is missing next to a comma")):
            done = self.check(["compare", "a" if operand != "a,,a" else "few", operand], code,
                              stdout="")
            self.assertIn(words, done.stderr, operand)
        self.check(["compare", "a"], USAGE, stdout="")


class Text(CompareTest):
    def text(self, *arguments):
        text = self.check(["compare", *arguments], FINE, stderr="").stdout
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
            self.assertEqual(line, line.rstrip())
        return text

    def test_what_differs_comes_first(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        for i, command in enumerate(("train --lr 1", "train --lr 2", "train --lr 2")):
            with open(self.path("b", f"run{i}", "manifest"), "w", encoding="utf-8") as file:
                file.write(f"format: 1\ncommand: {command}\ncreated: {i}\n")
        text = self.text("a", "b")
        self.assertIn("\ncommand\n  A       python train.py --epochs 3\n"
                      "  B       train --lr 1 | train --lr 2\n", text)
        self.assertNotIn("created", text)
        self.assertLess(text.index("What differs"), text.index("B is as fast as A"))
        found, = (one for one in self.compare("a", "b")["differs"] if one["key"] == "command")
        self.assertEqual(found["B"], ["train --lr 1", "train --lr 2", "train --lr 2"])

    def test_nothing_differs(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        self.assertIn("nothing recorded: command", self.text("a", "b"))

    def test_the_table_has_one_unit_a_column(self):
        self.make_side("a")
        self.make_side("b", seed=2, data=2.6 * MS)
        title, head, *rows = self.text("a", "b").rpartition("\n\n")[2].splitlines()
        self.assertEqual(title, "By stage: ms per step; change in % of A's step, with 95 % "
                                "interval")
        self.assertEqual(head.split(), ["A", "B", "change", "from", "to", "verdict"])
        self.assertEqual([row.split()[0] for row in rows],
                         ["data", "forward", "callback", "other", "step", "median"])

    def test_from_twice_on_changes_are_factors(self):
        self.make_side("a")
        self.make_side("b", seed=2, data=26 * MS)
        slower = self.text("a", "b")
        self.assertRegex(slower, r"\nB is slower than A: 5\.\dx as long ")
        self.assertRegex(slower, r"\ndata +2\.0\d +26\.\d+ +\+4\.\dx +\+4\.\dx +\+4\.\dx +slower\n")
        self.assertRegex(slower, r"\nstep +5\.\d+ +2\d\.\d+ +5\.\dx +5\.\dx +5\.\dx +slower\n")
        faster = self.text("b", "a")
        self.assertRegex(faster, r"\nB is faster than A: 5\.\dx as fast ")
        self.assertRegex(faster, r"\nstep +2\d\.\d+ +5\.\d+ +0\.1\dx +0\.1\dx +0\.1\dx +faster\n")

    def test_hostile_texts_do_nothing_to_the_terminal(self):
        self.make_side("a")
        self.make_side("b", seed=2)
        with open(self.path("a", "run0", "manifest"), "wb") as file:
            file.write(b"format: 1\ncommand: \x1b[2J\xff\nk\x1b[31m: v\n")
        self.assertNotRegex(self.text("a", "b"), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.compare("a", "b")


if __name__ == "__main__":
    unittest.main()
