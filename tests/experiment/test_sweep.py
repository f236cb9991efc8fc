"""`stepscope sweep`: a trainer whose step costs a known CPU time, by turns beside whatever else runs."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from experiments import DATA, FINE, TRAINER, USAGE, ExperimentTest, tree
from disturbance import OthersWork  # noqa: I001  where experiments looks for it
from running import PROGRAM, environment, is_running, wait_until

FIXED_US, EACH_US = 1200, 28


class SweepTest(ExperimentTest):
    def sweep(self, *words, code=FINE):
        return self.check("sweep", *words, code=code)

    def trainer(self, *words):
        return ["--", TRAINER, "{}", *map(str, words or (FIXED_US, EACH_US))]


class Truth(SweepTest):
    def test_the_largest_batch_is_the_best_and_a_step_costs_what_it_costs(self):
        with OthersWork() as others:
            out, err = self.sweep("--json", "--batch", "8,16,32,64,128", *self.trainer())
        self.assertEqual(err, "")
        result = json.loads(out)
        values = {row["value"]: row for row in result["values"]}
        self.assertEqual(result["best"], "128")
        self.assertEqual(result["smallest_near_best"], "128")
        self.assertEqual(result["clock"], "quiet")
        self.assertEqual(result["protected"], "copy")
        for value, row in values.items():
            step_us = FIXED_US + EACH_US * int(value)
            # What others had of the cores is left out; what they do to caches is not.
            self.assertGreater(row["step_ns"], 0.9 * 1000 * step_us, value)
            self.assertLess(row["step_ns"], (3 if others.is_busy else 1.35) * 1000 * step_us, value)
            self.assertLess(row["samples_per_s_ci"][0], row["samples_per_s"])
            self.assertGreater(row["rss_bytes"], 100_000)
        self.assertTrue(values["8"]["dropped"])
        self.assertAlmostEqual(values["8"]["of_best"],
                               8 / (FIXED_US + 8 * EACH_US) * (FIXED_US + 128 * EACH_US) / 128, delta=0.05)
        off = (1, 2) if others.is_busy else (0.25, 0.35)
        self.assertAlmostEqual(result["fit"]["per_sample_ns"] / 1000, EACH_US, delta=off[0] * EACH_US)
        self.assertAlmostEqual(result["fit"]["fixed_ns"] / 1000, FIXED_US, delta=off[1] * FIXED_US)
        self.assert_untouched()

    def test_a_floor_makes_a_smaller_batch_as_good(self):
        # 100 us a sample, nothing else: all sizes are as fast, so the smallest is near the best.
        with OthersWork() as others:
            out, _ = self.sweep("--json", "--batch", "20,40,80", "--precision", "10%", *self.trainer(0, 100))
        result = json.loads(out)
        # Small steps pay more for each time that they are put off a core.
        self.assertIn(result["smallest_near_best"], ("20", "40", "80") if others.is_busy else ("20",))

    def test_other_parameters_are_compared_by_steps(self):
        with OthersWork() as others:
            out, _ = self.sweep("--json", "--values", "cost=2000,3000", "--precision", "10%", "--",
                                TRAINER, "0", "{cost}", "0")
        result = json.loads(out)
        self.assertEqual(result["best"], "2000")
        self.assertIsNone(result["fit"])
        self.assertIsNone(result["smallest_near_best"])
        self.assertAlmostEqual(result["values"][1]["of_best"], 2 / 3, delta=0.2 if others.is_busy else 0.07)
        self.assertIsNone(result["values"][0]["samples_per_s"])

    def test_rare_slow_steps_count_for_what_they_cost(self):
        # Each 60th step is longer than a turn: the mean is 1000 + 60000 / 60 us.
        with OthersWork() as others:
            out, _ = self.sweep("--json", "--values", "1000,1050", "--precision", "10%", "--", TRAINER,
                                "0", "{}", "0", "0", "0", "0", "60", "60000")
        for row in json.loads(out)["values"]:
            mean = 1000 * (int(row["value"]) + 60000 / 60)
            self.assertGreater(row["step_ns"], 0.85 * mean)
            self.assertLess(row["step_ns"], (2 if others.is_busy else 1.15) * mean)

    def test_one_after_the_other(self):
        out, _ = self.sweep("--json", "--serial", "--batch", "16,128", *self.trainer())
        result = json.loads(out)
        self.assertEqual((result["best"], result["order"]), ("128", "serial"))


class Text(SweepTest):
    def test_80_columns_and_what_one_needs_to_know(self):
        out, _ = self.sweep("--batch", "8,128", "--precision", "10%", *self.trainer())
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertRegex(out, r"(?m)^ *128 .* best$")
        self.assertIn("another batch size is another training", out)
        self.assertIn("no file of yours was changed", " ".join(out.split()))


class Failures(SweepTest):
    def test_a_value_that_fails_is_a_row_with_its_last_line(self):
        out, _ = self.sweep("--json", "--batch", "8,64", "--precision", "20%",
                            *self.trainer(500, 0, 0, 0, 64))
        good, bad = json.loads(out)["values"]
        self.assertIsNone(good["error"])
        self.assertEqual(bad["error"], "exit code 1: out of memory: batch of 64")
        self.assertIsNone(bad["samples_per_s"])

    def test_all_fail(self):
        out, err = self.sweep("--batch", "8,16", *self.trainer(500, 0, 0, 0, 1), code=DATA)
        self.assertIn("out of memory: batch of 8", out)
        self.assertIn("no training could be measured", err)

    def test_one_that_ends_early_is_measured_as_far_as_it_went(self):
        out, _ = self.sweep("--json", "--batch", "8,16", "--precision", "1%",
                            *self.trainer(500, 0, 0, 1200))
        for row in json.loads(out)["values"]:
            self.assertIsNone(row["error"])
            self.assertGreater(row["steps"], 50)

    def test_nothing_that_records(self):
        out, err = self.sweep("--values", "1,2", "--max-time", "3s", "--", "sleep", "10{}",
                              code=DATA)
        self.assertIn("recorded no step", out)
        self.assertIn("no training could be measured", err)

    def test_a_command_that_is_not_there(self):
        _, err = self.sweep("--values", "1,2", "--", "./not-there", "{}", code=DATA)
        self.assertIn("cannot run './not-there': No such file or directory", err)

    def test_bad_input(self):
        for words, sentence in (
                (("--batch", "1,x", *self.trainer()), "--batch takes batch sizes"),
                (("--batch", "1,1", *self.trainer()), "'1' is given twice"),
                (("--batch", "16,16.0", *self.trainer()), "is given twice"),
                (("--threads", "1,0", *self.trainer()), "--threads takes"),
                (("--batch", "1,,2", *self.trainer()), "a value is empty"),
                (("--batch", "1,2", "--", TRAINER), "the command has no {}"),
                (("--values", "lr=1,2", *self.trainer()), "the command has no {lr}"),
                (self.trainer(), "nothing to vary"),
                (("--batch", "1,2", "--precision", "0", *self.trainer()), "--precision takes"),
                (("--batch", "1,2", "--max-time", "soon", *self.trainer()), "--max-time takes"),
                (("--batch", ",".join(map(str, range(1, 40))), *self.trainer()), "more than 32")):
            _, err = self.sweep(*words, code=USAGE)
            self.assertIn(sentence, err, words)
        self.assert_untouched()


class Safety(SweepTest):
    def children(self, sweep):
        with open(f"/proc/{sweep.pid}/task/{sweep.pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]

    def test_no_process_and_no_file_is_left_whenever_it_is_ended(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            sweep = self.start("sweep", "--batch", "8,16,32", "--precision", "0.01%", *self.trainer())
            self.addCleanup(sweep.communicate)
            self.addCleanup(sweep.kill)
            wait_until(lambda: len(self.children(sweep)) == 3, "all trainings")
            started = self.children(sweep)
            sweep.send_signal(number)
            out, _ = sweep.communicate()
            self.assertEqual(sweep.returncode, -number)
            for child in started:
                wait_until(lambda: not is_running(child), "the end of a training")
            if number != signal.SIGKILL:
                self.assertIn("interrupted", out)
            self.assert_untouched()

    def test_scripts_change_nothing_outside_of_the_copy(self):
        script = ("rm -f mine; mkdir new; echo $1 >new/file; echo $1 >../stepscope-sweep-outside;"
                  " echo $1 >/tmp/stepscope-sweep-outside; echo $1 >\"$TMPDIR/inside\" || exit 1;"
                  f" exec {TRAINER} $1 500 0")
        out, _ = self.sweep("--json", "--values", "8,16", "--precision", "20%", "--", "sh", "-c",
                            script, "sh", "{}")
        self.assertEqual(json.loads(out)["protected"], "copy")
        self.assert_untouched()
        self.assertFalse(os.path.exists("/tmp/stepscope-sweep-outside"))
        self.assertFalse(os.path.exists(os.path.join(os.path.dirname(self.folder),
                                                     "stepscope-sweep-outside")))

    def test_modes_and_times_of_other_files_stay(self):
        """Also where there is no copy, and in the copy they can be changed."""
        with tempfile.NamedTemporaryFile(prefix="stepscope-other-", dir="/tmp") as other:
            os.utime(other.name, (1, 2))
            before = os.stat(other.name)
            script = (f"chmod 777 {other.name}; touch -d @5 {other.name}; chown 1:1 {other.name};"
                      f" chmod 777 mine; exec {TRAINER} $1 500 0")
            for folder, word in ((self.folder, "copy"), ("/", "refuse")):
                done = subprocess.run(
                    [PROGRAM, "sweep", "--json", "--dir", os.path.join(self.folder, "stepscope-runs"),
                     "--values", "8,16", "--precision", "20%", "--", "sh", "-c", script, "sh", "{}"],
                    cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding="utf-8")
                self.assertEqual(json.loads(done.stdout)["protected"], word, done.stderr)
                after = os.stat(other.name)
                self.assertEqual((after.st_mode, after.st_mtime, after.st_uid),
                                 (before.st_mode, before.st_mtime, before.st_uid), word)
        self.assertNotEqual(os.stat(os.path.join(self.folder, "mine")).st_mode & 0o777, 0o777)
        self.assert_untouched()

    def test_a_socket_in_the_temporary_directory_has_room_for_its_path(self):
        script = ("python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind("
                  "os.environ[\"TMPDIR\"] + \"/\" + 31 * \"x\")' || exit 1;"
                  f" exec {TRAINER} $1 500 0")
        out, _ = self.sweep("--json", "--values", "8,16", "--precision", "20%", "--", "sh", "-c",
                            script, "sh", "{}")
        for row in json.loads(out)["values"]:
            self.assertIsNone(row["error"])

    def test_the_root_has_no_copy(self):
        home = os.path.join(self.folder, "runs")
        out = subprocess.run([PROGRAM, "sweep", "--json", "--dir", home, "--values", "1,2",
                              "--precision", "20%", "--", TRAINER, "{}", "500", "0"], cwd="/",
                             env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False, encoding="utf-8").stdout
        self.assertNotIn('"protected":"copy"', out.replace(" ", ""))
        self.assertFalse(os.path.exists("/touched"))

    def test_a_session_of_its_own_cannot_be_stopped(self):
        out, _ = self.sweep("--values", "8,16", "--", "sh", "-c",
                            f"setsid {TRAINER} $1 500 0 0 3000; true", "sh", "{}", code=DATA)
        self.assertIn("runs in a session of its own", " ".join(out.split()))

    def test_unprotected_is_what_was_asked_for(self):
        out, _ = self.sweep("--json", "--unprotected", "--batch", "8,16", "--precision", "20%",
                            *self.trainer(500, 0))
        self.assertEqual(json.loads(out)["protected"], "none")
        self.assertIn("touched", tree(self.folder))


if __name__ == "__main__":
    unittest.main()
