"""`stepscope report --json`: what a program reads. The schema is applied to every run that is here."""

import copy
import json
import os
import re
import unittest

import report_runs as runs
from report_support import ReportTest
from support import FINE, TESTS

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

DOCS = os.path.join(os.path.dirname(TESTS), "docs")
STAGES = ["data", "transfer", "forward", "backward", "optimizer", "compute", "comm", "sync",
          "callback", "compile", "setup", "gc", "other"]


def schema():
    with open(os.path.join(DOCS, "report.schema.json"), encoding="utf-8") as file:
        return json.load(file)


def sum_of_books(books):
    return sum(ns for key, ns in books.items() if key != "wall_ns")


class JsonTest(ReportTest):
    def load(self, *options, run="run"):
        done = self.check(["report", "--json", *options, run], FINE, stderr="")
        self.assertEqual(done.stdout.count("\n"), 1)

        def no_constant(word):
            self.fail(f"{word} is not JSON")
        return json.loads(done.stdout, parse_constant=no_constant)


class Numbers(JsonTest):
    """Every number of a run that is known to the nanosecond."""

    @classmethod
    def thread(cls):
        thread = runs.Thread()
        thread.wait(50 * runs.MS)
        thread.loop(True)
        for i in range(100):
            thread.epoch(i) if i % 50 == 0 else None
            runs.one_step(thread, data=1_000_000 + 1_000 * (i % 7))
            if i % 50 == 49:
                thread.span(6, 30 * runs.MS, 0)
                thread.epoch()
                thread.span(7, 5 * runs.MS, 0)
        thread.loop(False)
        return thread

    def setUp(self):
        super().setUp()
        self.made = self.thread()
        self.make_run(p=runs.process(self.made))
        self.found = self.load()

    def test_the_books_close(self):
        books = self.found["books"]
        self.assertEqual(books["wall_ns"], self.made.now + 10 * runs.MS - runs.START)
        self.assertEqual(sum_of_books(books), books["wall_ns"])
        self.assertEqual(books["startup_ns"], 50 * runs.MS)
        self.assertEqual(books["eval_ns"], 60 * runs.MS)
        self.assertEqual(books["checkpoint_ns"], 10 * runs.MS)
        self.assertEqual(books["teardown_ns"], 10 * runs.MS)
        self.assertEqual(books["between_ns"], 0)

    def test_stages_add_up_to_the_steps(self):
        steady, stages = self.found["steps"]["steady"], self.found["stages"]
        self.assertEqual(list(stages), STAGES)
        self.assertEqual([name for name in STAGES if stages[name]],
                         ["data", "forward", "backward", "optimizer", "other"])
        measured = [stage for stage in stages.values() if stage]
        self.assertEqual(sum(stage["total_ns"] for stage in measured), steady["total_ns"])
        self.assertAlmostEqual(sum(stage["share"] for stage in measured), 1, places=9)
        self.assertEqual(stages["forward"]["total_ns"], steady["count"] * 2 * runs.MS)
        self.assertEqual(stages["forward"]["mean_ns"], 2 * runs.MS)
        self.assertEqual(stages["other"]["mean_ns"], runs.MS / 10)
        for stage in measured:
            self.assertLessEqual(stage["share_ci"][0], stage["share"])
            self.assertGreaterEqual(stage["share_ci"][1], stage["share"])

    def test_steps(self):
        steps = self.found["steps"]
        self.assertEqual(steps["count"], 100)
        self.assertEqual(steps["warmup"] + steps["steady"]["count"] + steps["left_out"], 100)
        self.assertEqual(steps["source"], "step marks")
        self.assertEqual(steps["samples"], 3200)
        steady = steps["steady"]
        self.assertEqual(steady["max_ns"], 6_606_000)
        self.assertEqual(steady["window_steps"], 1)
        low, high = steady["mean_ci_ns"]
        self.assertLess(low, steady["mean_ns"])
        self.assertLess(steady["mean_ns"], high)
        for quantile in ("p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns"):
            self.assertAlmostEqual(steady[quantile] / 6_603_000, 1, delta=0.006)

    def test_throughput(self):
        rate, steady = self.found["throughput"], self.found["steps"]["steady"]
        self.assertAlmostEqual(rate["steps_per_s"], 1e9 / steady["mean_ns"], places=6)
        self.assertAlmostEqual(rate["samples_per_s"], 32 * rate["steps_per_s"], places=4)
        self.assertLess(rate["overall_steps_per_s"], rate["steps_per_s"])

    def test_spans(self):
        spans = {span["name"]: span for span in self.found["spans"]}
        self.assertEqual(spans["step"]["object"], "Adam")
        self.assertEqual(spans["step"]["role"], "update")
        self.assertEqual(spans["step"]["count"], 100)
        self.assertEqual(spans["step"]["total_ns"], 100 * runs.MS // 2)
        self.assertEqual(spans["step"]["self_ns"], spans["step"]["total_ns"])
        self.assertIsNone(spans["evaluate"]["share"])
        self.assertEqual(spans["evaluate"]["share_ci"], [None, None])
        self.assertAlmostEqual(spans["forward"]["share"], self.found["stages"]["forward"]["share"],
                               delta=0.001)
        totals = [span["total_ns"] for span in self.found["spans"]]
        self.assertEqual(totals, sorted(totals, reverse=True))

    def test_epochs(self):
        self.assertEqual(self.found["epochs_seen"], 2)
        first = self.found["epochs"][0]
        self.assertEqual((first["epoch"], first["steps"], first["eval_ns"]), (0, 50, 30 * runs.MS))
        self.assertEqual(first["wall_ns"], first["step_ns"] + first["eval_ns"])

    def test_the_top_level_is_the_primary_loop(self):
        loop = self.found["loops"][0]
        self.assertEqual((loop["process"], loop["rank"], loop["thread"]), (0, None, runs.PID))
        for key in ("steps", "stages", "throughput", "slowest", "change", "periods", "plan", "epochs"):
            self.assertEqual(loop[key], self.found[key], key)
        self.assertEqual(sum_of_books(loop["books"]), loop["books"]["wall_ns"])


class Kinds(JsonTest):
    """All sorts of runs: each must keep to the schema, and its books must close."""

    MADE = {
        "full": lambda: {"p": runs.full()},
        "too_few": lambda: {"p": runs.too_few()},
        "untrained": lambda: {"p": runs.untrained()},
        "nothing": lambda: {"p": runs.process()},
        "two_models": lambda: {"p": runs.two_models()},
        "ranks": lambda: {"a": runs.rank(0), "b": runs.rank(1)},
        "killed": lambda: {"p": runs.killed()},
        "live": lambda: {"p": runs.live()},
        "damaged": lambda: {"p": runs.damaged()},
        "drift": lambda: {"p": runs.changing("drift")},
        "shift": lambda: {"p": runs.changing("shift")},
        "spikes": lambda: {"p": runs.changing("spikes")},
        "overlapping": lambda: {"p": runs.overlapping()},
        "several_batches": lambda: {"p": runs.in_calls(2)},
        "extremes": lambda: {"p": runs.extremes()},
        "hostile": lambda: {"p": runs.hostile()},
    }

    def each(self):
        for name, made in self.MADE.items():
            with self.subTest(name):
                if not os.path.exists(self.path(name)):
                    self.make_run(name, **made())
                yield name, self.load("--deadline=1h", run=name)

    def test_the_schema_applies(self):
        if not Draft202012Validator:
            self.skipTest("python3-jsonschema is not installed")
        Draft202012Validator.check_schema(schema())
        validator = Draft202012Validator(schema())
        for _, found in self.each():
            self.assertEqual([f"{list(e.absolute_path)}: {e.message}"
                              for e in validator.iter_errors(found)], [])

    def test_the_books_close(self):
        for _, found in self.each():
            for books in [found["books"], *(loop["books"] for loop in found["loops"])]:
                self.assertEqual(sum_of_books(books), books["wall_ns"])
                self.assertTrue(all(ns >= 0 for ns in books.values()), books)
            steps = found["steps"]
            self.assertEqual(steps["warmup"] + steps["steady"]["count"] + steps["left_out"],
                             steps["count"])

    def test_the_schema_refuses_what_is_not_ours(self):
        if not Draft202012Validator:
            self.skipTest("python3-jsonschema is not installed")
        self.make_run("full", **self.MADE["full"]())
        validator, found = Draft202012Validator(schema()), self.load(run="full")

        def objects(value, path):
            if isinstance(value, dict):
                yield path
            for key in value if isinstance(value, dict) else range(len(value)):
                if isinstance(value[key], (dict, list)):
                    yield from objects(value[key], [*path, key])
        for path in objects(found, []):
            for change in ("add", "drop"):
                changed = copy.deepcopy(found)
                place = changed
                for key in path:
                    place = place[key]
                if change == "add":
                    place["surprise"] = 1
                elif path[-1:] == ["stages_ns"]:
                    continue
                else:
                    place.pop(next(iter(place)))
                self.assertFalse(validator.is_valid(changed), (change, path))

    def test_states(self):
        states = {name: found["run"]["state"] for name, found in self.each()}
        self.assertEqual((states["full"], states["killed"], states["live"]), ("ended", "killed", "live"))

    def test_what_is_not_known_is_null(self):
        self.make_run("untrained", **self.MADE["untrained"]())
        found = self.load(run="untrained")
        self.assertEqual(found["steps"]["count"], 0)
        self.assertIsNone(found["steps"]["steady"]["mean_ns"])
        self.assertEqual(found["steps"]["steady"]["mean_ci_ns"], [None, None])
        self.assertEqual(set(found["stages"].values()), {None})
        self.assertIsNone(found["throughput"]["steps_per_s"])
        self.assertIsNone(found["deadline"])
        self.assertEqual(found["hooks"], [
            {"target": "torch.optim.Optimizer.step", "installed": False,
             "reason": "torch is not installed"},
            {"target": "atexit", "installed": True, "reason": ""}])

    def test_what_may_be_less_than_it_is_given_as(self):
        for many in (1, 2):
            self.make_run("calls-%d" % many, p=runs.in_calls(many))
            found = self.load(run="calls-%d" % many)
            self.assertEqual(found["stages"]["data"]["mean_ns"], many * 2 * runs.MS)
            bounds = found["upper_bounds"]
            self.assertEqual([bound["stage"] for bound in bounds], ["data"] * (many - 1))
            self.assertEqual(found["loops"][0]["upper_bounds"], bounds)
            cause = {finding["id"]: finding for finding in found["findings"]}["input-bound"]
            self.assertEqual(cause["share_kind"], "bound" if bounds else "interval")
            self.assertEqual(cause["share_ci"][0] == 0, bool(bounds))
            text = " ".join(self.report(run="calls-%d" % many).split())
            said = "data is an upper bound: calls fetched several batches, and may have computed"
            self.assertEqual(said in text, bool(bounds))

    def test_losses(self):
        self.make_run("damaged", **self.MADE["damaged"]())
        lost = self.load(run="damaged")["lost"]
        self.assertEqual((lost["whole"], lost["places"]), (False, 1))
        self.make_run("overlapping", **self.MADE["overlapping"]())
        self.assertEqual(self.load(run="overlapping")["lost"]["negative_ns"], 7 * runs.MS)

    def test_ranks(self):
        self.make_run("ranks", **self.MADE["ranks"]())
        self.assertEqual([(loop["rank"], loop["process"]) for loop in self.load(run="ranks")["loops"]],
                         [(1, 1), (0, 0)])


class EachStep(JsonTest):
    def test_steps_are_json_lines_that_add_up(self):
        self.make_run(p=runs.killed())
        done = self.check(["report", "--steps", "--json", "run"], FINE, stderr="")
        steps = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([step["step"] for step in steps], list(range(101)))
        for step in steps:
            self.assertEqual(sum(step["stages_ns"].values()), step["time_ns"])
            self.assertEqual((step["loop"], step["process"], step["steps"]), (0, 0, 1))
        self.assertEqual([step["counted"] for step in steps], [True] * 100 + [False])
        found = self.load()
        steady = steps[found["steps"]["warmup"]:100]
        self.assertEqual(sum(step["time_ns"] for step in steady),
                         found["steps"]["steady"]["total_ns"])


class Manual(JsonTest):
    def test_every_key_is_documented(self):
        self.make_run(p=runs.full())
        self.make_run("shift", p=runs.changing("shift"))
        self.make_run("untrained", p=runs.untrained())
        with open(os.path.join(DOCS, "report.md"), encoding="utf-8") as file:
            named = set(re.findall(r"`([a-z_0-9]+)`", file.read()))
        keys = set()

        def collect(value):
            for item in value.values() if isinstance(value, dict) else value:
                if isinstance(item, (dict, list)):
                    collect(item)
            if isinstance(value, dict):
                keys.update(value)
        for run in ("run", "shift", "untrained"):
            collect(self.load("--deadline", "1h", run=run))
        for line in self.check(["report", "--steps", "--json", "run"], FINE).stdout.splitlines()[:1]:
            collect(json.loads(line))
        self.assertEqual(keys - named - set(STAGES), set())
        self.assertGreater(len(keys), 100)


if __name__ == "__main__":
    unittest.main()
