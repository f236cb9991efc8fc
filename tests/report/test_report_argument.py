"""Which run is reported, and what the supervisor left beside it."""

import json
import os
import unittest

import report_runs as runs
from report_support import ReportTest
from support import DATA, FINE, USAGE

MS = runs.MS


class Found(ReportTest):
    def first_line(self, *words, **environment):
        return self.check(["report", *words], FINE, stderr="", env=environment).stdout.splitlines()[0]

    def name_of(self, *words, **environment):
        done = self.check(["report", "--json", *words], FINE, stderr="", env=environment)
        return json.loads(done.stdout)["run"]["name"]

    def test_the_newest_run_is_reported(self):
        os.mkdir(self.path("stepscope-runs"))
        self.make_run("stepscope-runs/20261115-183512-train", p=runs.healthy())
        self.make_run("stepscope-runs/20261115-193512-train", p=runs.too_few())
        os.symlink("20261115-193512-train", self.path("stepscope-runs", "latest"))
        self.assertEqual(self.name_of(), "20261115-193512-train")
        self.assertEqual(self.name_of("latest"), "20261115-193512-train")
        self.assertEqual(self.name_of("20261115-183512-train"), "20261115-183512-train")
        os.mkdir(self.path("elsewhere"))
        self.make_run("elsewhere/other", p=runs.healthy())
        self.assertEqual(self.name_of("other", STEPSCOPE_DIR="elsewhere"), "other")
        self.assertEqual(self.name_of("elsewhere/other"), "other")

    def test_a_directory_wins_over_a_name(self):
        os.mkdir(self.path("stepscope-runs"))
        self.make_run("stepscope-runs/run", p=runs.healthy())
        self.make_run("run", p=runs.too_few())
        self.assertIn("took 175 ms", self.first_line("run"))

    def test_no_run_at_all(self):
        self.check(["report"], DATA, "", "stepscope report: there is no run in 'stepscope-runs' yet. "
                   "'stepscope run -- COMMAND' records one; or give the directory of a run.\n")
        done = self.check(["report", "no-such"], DATA, "")
        self.assertIn("there is no run 'no-such', neither here nor in 'stepscope-runs'", done.stderr)
        done = self.check(["report", "a/b"], DATA, "")
        self.assertIn("there is no run 'a/b'", done.stderr)

    def test_what_is_no_run(self):
        os.mkdir(self.path("empty"))
        done = self.check(["report", "empty"], DATA, "")
        self.assertIn("not a run", done.stderr)
        with open(self.path("file"), "w", encoding="ascii") as file:
            file.write("x")
        done = self.check(["report", "file"], DATA, "")
        self.assertIn("'file' is a file", done.stderr)

    def test_words_too_many(self):
        self.check(["report", "a", "b"], USAGE, "")


class Outcome(ReportTest):
    """The file "outcome", which the supervisor writes."""

    def write(self, run="run", **facts):
        with open(self.path(run, "outcome"), "w", encoding="utf-8") as file:
            for key, value in facts.items():
                file.write(f"{key}: {value}\n")

    def json(self, run="run"):
        return json.loads(self.check(["report", "--json", run], FINE, stderr="").stdout)

    def test_books_reach_from_fork_to_reaped_exit(self):
        self.make_run(p=runs.healthy())
        plain = self.json()["books"]
        start, end = runs.START - 700_000, runs.START + 3_000 * MS
        self.write(pid=runs.PID, started_ns=start, ended_ns=end, exit_code=0)
        found = self.json()
        books = found["books"]
        self.assertEqual(books["wall_ns"], end - start)
        self.assertEqual(books["startup_ns"], plain["startup_ns"] + 700_000)
        self.assertEqual(books["wall_ns"], sum(ns for key, ns in books.items() if key != "wall_ns"))
        self.assertEqual(found["run"]["wall_ns"], end - start)
        self.assertEqual((found["run"]["exit_code"], found["run"]["signal"]), (0, None))

    def test_a_shell_around_the_training(self):
        self.make_run(p=runs.healthy())
        self.write(pid=99, started_ns=runs.START - 500_000, ended_ns=runs.START + 3_000 * MS,
                   exit_code=0)
        found = self.json()
        self.assertEqual(found["run"]["wall_ns"], 3_000 * MS + 500_000)
        books = found["books"]
        self.assertEqual(books["startup_ns"], 50 * MS + 500_000)
        self.assertEqual(books["wall_ns"], found["run"]["wall_ns"])
        self.assertEqual(books["wall_ns"], sum(ns for key, ns in books.items() if key != "wall_ns"))

    def test_books_of_a_run_whose_children_train_one_after_the_other(self):
        """Where they were begun, what trained before, and how they ended is in the books, too."""
        late = 5_000 * MS
        second = runs.Thread(runs.PID + 1, runs.START + late)
        second.loop(True)
        for _ in range(400):
            runs.one_step(second)
        second.loop(False)
        self.make_run(a=runs.healthy(), b=runs.process(second, pid=runs.PID + 1,
                                                       start_ticks=runs.START + late,
                                                       start_raw_ns=runs.START + late))
        self.write(pid=99, started_ns=runs.START - 500_000, ended_ns=second.now + 10 * MS, exit_code=0)
        found = self.json()
        books, (longest, other) = found["books"], found["loops"]
        self.assertEqual((longest["steps"]["count"], other["steps"]["count"]), (400, 200))
        self.assertEqual(books["wall_ns"], found["run"]["wall_ns"])
        self.assertEqual(books["wall_ns"], sum(ns for key, ns in books.items() if key != "wall_ns"))
        self.assertEqual(books["idle_ns"], other["books"]["wall_ns"])
        self.assertEqual(books["startup_ns"], 500_000 + late - other["books"]["wall_ns"])
        self.assertEqual(books["teardown_ns"], 10 * MS)

    def test_how_it_ended(self):
        for facts, line, state in (
                ({"exit_code": 3}, "exited with 3 after 3.00 s", "ended"),
                ({"exit_code": 0}, "took 3.00 s", "ended"),
                ({"signal": 9}, "killed by signal 9 (Killed) after 3.00 s", "killed")):
            name = f"run-{line.split()[0]}"
            self.make_run(name, p=runs.healthy())
            self.write(name, pid=runs.PID, started_ns=runs.START,
                       ended_ns=runs.START + 3_000 * MS, **facts)
            self.assertEqual(self.report(run=name).splitlines()[0],
                             f"python train.py --epochs 3: 200 steps, {line}")
            run = self.json(name)["run"]
            self.assertEqual(run["state"], state)
            self.assertEqual(run["exit_code"], facts.get("exit_code"))
            self.assertEqual(run["signal"], facts.get("signal"))

    def test_a_supervisor_that_was_killed(self):
        self.make_run(p=runs.healthy())
        self.write(pid=runs.PID, started_ns=runs.START - 500_000)
        found = self.json()
        self.assertEqual(found["run"]["state"], "ended")
        self.assertEqual(found["books"]["startup_ns"], 50 * MS + 500_000)

    def test_rubbish_is_no_fact(self):
        self.make_run(p=runs.healthy())
        plain = self.json()
        for content in (b"", b"\0\xff\n" * 100, b"pid: 4711\nstarted_ns: -5\nended_ns: 1e9\nsignal: 0x9",
                        b"pid: 99999999999999999999\nended_ns: 9999999999999999999\n", b"x" * 100_000):
            with open(self.path("run", "outcome"), "wb") as file:
                file.write(content)
            self.assertEqual(self.json(), plain, content[:40])

    def test_files_that_are_elsewhere(self):
        os.mkdir(self.path("home"))
        self.make_run("local", p=runs.healthy())
        self.write("home", pid=runs.PID, started_ns=runs.START, elsewhere=self.path("local"))
        self.assertIn("took 1.98 s", self.report(run="home"))
        self.write("home", pid=runs.PID, started_ns=runs.START, elsewhere="/nowhere/run")
        self.check(["report", "home"], DATA, "", "stepscope report: the files of this run are in "
                   "'/nowhere/run' of the host that recorded it.\n")
        self.make_run("both", p=runs.too_few())
        self.write("both", pid=runs.PID, started_ns=runs.START, elsewhere="/nowhere/run")
        text = self.report(run="both", stderr="stepscope report: newer files of this run are in "
                           "'/nowhere/run' of the host that recorded it.\n")
        self.assertIn("took 175 ms", text)


if __name__ == "__main__":
    unittest.main()
