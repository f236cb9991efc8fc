"""How a run is found by a word, and `stepscope list`, `rename` and `remove`."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import sample_runs
from support import DATA, FINE, PROGRAM, USAGE, CommandTest

RESULT = "steps: {steps}\nspans: 7\nmedian_step_ns: 2500000\nsamples_per_s: 640\nverdict: input-bound\n"


class RunsTest(CommandTest):
    """Runs as `stepscope run` leaves them: directory, manifest, outcome, result."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("stepscope-runs"))

    def record(self, name, second, directory=None, steps=100, exit_code=0, has_result=True,
               created=None):
        directory = directory or f"20261119-0000{second:02}-{name}"
        run = os.path.join("stepscope-runs", directory)
        self.make_run(run, **{"p-1-2-3": sample_runs.training()})
        texts = {
            "manifest": f"format: 1\nname: {name}\ncommand: python {name}.py\n"
                        f"created: {created or f'2026-11-19T00:00:{second:02}Z'}\n",
            "outcome": f"pid: 77\nstarted_ns: 1\nended_ns: 2000000000\nexit_code: {exit_code}\n"}
        if has_result:
            texts["result"] = RESULT.format(steps=steps) if steps else "steps: 0\nspans: 0\n"
        for file, text in texts.items():
            with open(self.path(run, file), "w", encoding="utf-8") as out:
                out.write(text)
        return run

    def found(self, word):
        """The directory that a word stands for, as `report` says."""
        done = self.check(["report", "--json", word], FINE, stderr="")
        return json.loads(done.stdout)["run"]["name"]

    def listed(self, *words):
        return json.loads(self.check(["list", "--json", *words], FINE, stderr="").stdout)


class Found(RunsTest):
    def setUp(self):
        super().setUp()
        self.record("tape", 1)
        self.record("tape-eager", 2)
        self.record("tape", 3)
        self.record("train.py", 4)

    def test_a_name_is_the_newest_run_of_that_name(self):
        self.assertEqual(self.found("tape"), "20261119-000003-tape")
        self.assertEqual(self.found("tape-eager"), "20261119-000002-tape-eager")

    def test_steps_back_count_runs_of_the_name(self):
        self.assertEqual(self.found("tape~1"), "20261119-000001-tape")
        self.assertEqual(self.found("latest~1"), "20261119-000003-tape")
        self.assertEqual(self.found("latest~3"), "20261119-000001-tape")
        self.check(["report", "latest~4"], DATA, "")

    def test_the_beginning_of_a_name_is_enough(self):
        self.assertEqual(self.found("tr"), "20261119-000004-train.py")
        self.assertEqual(self.found("tape-"), "20261119-000002-tape-eager")
        self.assertEqual(self.found("20261119-000001"), "20261119-000001-tape")

    def test_what_could_be_several_runs_is_listed(self):
        done = self.check(["report", "ta"], DATA, "")
        self.assertEqual(done.stderr, "stepscope report: 'ta' matches 3 runs: "
                         "20261119-000003-tape, 20261119-000002-tape-eager, 20261119-000001-tape.\n")
        self.check(["report", "20261119"], DATA, "")

    def test_every_command_takes_the_words(self):
        for words in (["info", "tape"], ["info"], ["info", "latest~1"], ["dump", "tape"], ["dump"],
                      ["report", "tape"], ["export", "csv", "tape", "-"],
                      ["export", "csv", "latest", "-"]):
            self.assertTrue(self.check(words, FINE, stderr="").stdout, words)
        done = self.check(["compare", "tape", "tape-eager"], DATA, "")
        self.assertIn("'stepscope-runs/20261119-000003-tape' has too few steps", done.stderr)

    def test_a_typo_gets_a_suggestion(self):
        done = self.check(["info", "tpae"], DATA, "")
        self.assertIn("there is no run 'tpae', neither here nor in 'stepscope-runs'. "
                      "Did you mean 'tape'?", done.stderr)

    def test_a_run_that_recorded_nothing_is_not_the_latest(self):
        self.record("crashed", 5, steps=0, exit_code=1)
        self.assertEqual(self.found("latest"), "20261119-000004-train.py")
        self.assertEqual(self.found("latest~1"), "20261119-000003-tape")
        self.assertEqual(self.found("crashed"), "20261119-000005-crashed")

    def test_the_link_says_which_run_is_the_latest(self):
        os.symlink("20261119-000002-tape-eager", self.path("stepscope-runs/latest"))
        self.assertEqual(self.found("latest"), "20261119-000002-tape-eager")
        self.assertEqual(self.found("latest~1"), "20261119-000001-tape")

    def test_runs_without_a_manifest_are_known_by_their_directories(self):
        self.make_run("stepscope-runs/20261118-101112-mine", p=sample_runs.training())
        self.assertEqual(self.found("mine"), "20261118-101112-mine")


class Listed(RunsTest):
    def test_newest_first(self):
        for second, name in enumerate(("a", "b", "c"), 1):
            self.record(name, second)
        self.assertEqual([run["name"] for run in self.listed()], ["c", "b", "a"])

    def test_what_is_said_of_a_run(self):
        path = self.record("tape", 1, exit_code=3)
        [run] = self.listed()
        size = run.pop("size_bytes")
        self.assertGreater(size, 60_000)
        self.assertEqual(run, {
            "name": "tape", "path": path, "command": "python tape.py",
            "created": "2026-11-19T00:00:01Z", "state": "ended", "exit_code": 3, "signal": None,
            "steps": 100, "median_step_ns": 2500000, "samples_per_s": 640, "verdict": "input-bound"})

    def test_the_table_fits_eighty_columns(self):
        self.record("tape", 1)
        self.record("a-name-that-is-much-too-long-for-a-table-of-eighty-columns", 2, exit_code=1)
        self.record("crashed", 3, steps=0, exit_code=1)
        env = {**os.environ, "COLUMNS": "80", "TZ": "UTC"}
        lines = self.check(["list"], FINE, stderr="", env=env).stdout.splitlines()
        self.assertTrue(all(len(line) <= 80 for line in lines), lines)
        self.assertEqual(lines[0].split(), "date name steps median samples/s verdict end".split())
        self.assertRegex(lines[1], r"^\S+ +00:00 crashed +- +- +- -  +exit 1$")
        self.assertRegex(lines[2], r"^\S+ +00:00 a-name-that-is-\S+\.\.\. +100 2\.50 ms +640 input-bound +exit 1$")
        wide = self.check(["list"], FINE, env={**env, "COLUMNS": "140"}).stdout
        self.assertIn("python tape.py", wide)

    def test_a_name_of_twenty_letters_is_shown_whole(self):
        self.record("baseline-with-cache1", 1)
        self.record("baseline-with-cache2", 2)
        lines = self.check(["list"], FINE, env={**os.environ, "COLUMNS": "80"}).stdout.splitlines()
        self.assertEqual([line.split()[2] for line in lines[1:]],
                         ["baseline-with-cache2", "baseline-with-cache1"])

    def test_runs_without_a_result_are_read(self):
        self.record("tape", 1, has_result=False)
        [run] = self.listed()
        self.assertEqual((run["steps"], run["state"]), (1, "ended"))

    def test_a_live_run_is_said_to_be_live(self):
        self.make_run("stepscope-runs/going", p=sample_runs.live(80))
        [run] = self.listed()
        self.assertEqual((run["name"], run["state"]), ("going", "live"))

    def test_no_runs(self):
        self.assertEqual(self.listed(), [])
        done = self.check(["list"], FINE, "")
        self.assertIn("there is no run in 'stepscope-runs' yet.", done.stderr)

    def test_another_folder(self):
        os.rename(self.path(self.record("tape", 1)), self.path("tape"))
        os.mkdir(self.path("other"))
        os.rename(self.path("tape"), self.path("other/tape"))
        self.assertEqual([run["path"] for run in self.listed("other")], ["other/tape"])


class Renamed(RunsTest):
    def test_date_and_time_stay(self):
        self.record("tape", 1)
        os.symlink("20261119-000001-tape", self.path("stepscope-runs/latest"))
        self.check(["rename", "tape", "base line"], FINE,
                   "stepscope-runs/20261119-000001-base-line\n", "")
        self.assertEqual([run["name"] for run in self.listed()], ["base-line"])
        self.assertEqual(self.found("latest"), "20261119-000001-base-line")
        self.assertEqual(os.readlink(self.path("stepscope-runs/latest")), "20261119-000001-base-line")

    def test_nothing_is_overwritten(self):
        self.record("a", 1)
        self.record("b", 1)
        self.check(["rename", "a", "b"], FINE, "stepscope-runs/20261119-000001-b-2\n", "")
        self.assertEqual(len(self.listed()), 2)

    def test_what_is_refused(self):
        self.record("a", 1)
        self.check(["rename", "a", ""], USAGE, "")
        self.check(["rename", "a", "x/y"], USAGE, "")
        self.check(["rename", "no-such", "x"], DATA, "")
        self.make_run("stepscope-runs/going", p=sample_runs.live(80))
        self.assertIn("still being recorded", self.check(["rename", "going", "x"], DATA, "").stderr)


class Removed(RunsTest):
    def names(self):
        return sorted(os.listdir(self.path("stepscope-runs")))

    def test_a_run_by_its_name(self):
        self.record("a", 1)
        self.record("b", 2)
        os.symlink("20261119-000002-b", self.path("stepscope-runs/latest"))
        done = self.check(["remove", "--yes", "b"], FINE, stderr="")
        self.assertRegex(done.stdout, r"^removed 1 run, \d+ KB\n$")
        self.assertEqual(self.names(), ["20261119-000001-a", "latest"])
        self.assertEqual(self.found("latest"), "20261119-000001-a")

    def test_all_but_the_newest(self):
        for second in range(1, 6):
            self.record("a", second)
        self.check(["remove", "--keep", "2", "-y"], FINE)
        self.assertEqual(self.names(), ["20261119-000004-a", "20261119-000005-a"])

    def test_what_is_old(self):
        self.record("old", 1, created="2020-01-01T00:00:00Z")
        self.record("older", 2, created="2019-01-01T00:00:00Z")
        self.record("new", 3, created="2099-01-01T00:00:00Z")
        self.check(["remove", "--older", "30d", "--keep", "2", "--yes"], FINE)
        self.assertEqual([run["name"] for run in self.listed()], ["new", "old"])
        self.check(["remove", "--older", "30d", "--yes"], FINE)
        self.assertEqual([run["name"] for run in self.listed()], ["new"])
        self.check(["remove", "--older", "30d", "--yes"], FINE, "no run to remove\n", "")

    def test_without_a_terminal_nothing_is_removed(self):
        self.record("a", 1)
        done = self.check(["remove", "a"], USAGE, "")
        self.assertIn("--yes removes 1 run without asking", done.stderr)
        self.assertEqual(len(self.names()), 1)

    def answer(self, text):
        """Asks on a terminal of its own; what it shows."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        with subprocess.Popen([PROGRAM, "remove", "a"], cwd=self.folder, stdin=slave,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            os.write(master, text)
            shown = process.communicate(timeout=60)[0].decode()
        os.close(master)
        os.close(slave)
        return shown

    def test_it_asks(self):
        self.record("a", 1)
        shown = self.answer(b"n\n")
        self.assertRegex(shown, r"^  stepscope-runs/20261119-000001-a\n"
                                r"Remove this run, \d+ KB\? \[y/N\] nothing was removed\n$")
        self.assertEqual(len(self.names()), 1)
        self.answer(b"y\n")
        self.assertEqual(self.names(), [])

    def test_links_are_not_followed(self):
        run = self.record("a", 1)
        os.mkdir(self.path("mine"))
        with open(self.path("mine/file"), "w", encoding="ascii"):
            pass
        os.symlink(self.path("mine"), self.path(run, "link"))
        self.check(["remove", "-y", "a"], FINE)
        self.assertTrue(os.path.exists(self.path("mine/file")))

    def test_what_is_refused(self):
        self.check(["remove", "--yes"], USAGE, "")
        self.check(["remove", "--older", "soon"], USAGE, "")
        self.check(["remove", "--keep", "-1"], USAGE, "")
        self.record("a", 1)
        self.check(["remove", "--keep", "1", "a"], USAGE, "")
        self.check(["remove", "--yes", "."], DATA, "")
        self.make_run("stepscope-runs/going", p=sample_runs.live(80))
        done = self.check(["remove", "--yes", "going"], FINE, "no run to remove\n")
        self.assertIn("is still being recorded and stays", done.stderr)
        self.assertIn("going", self.names())
