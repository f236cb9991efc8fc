"""Runs whose directory is on a network file system: recorded on a local disk, then brought home.

STEPSCOPE_TEST_NETWORK names a folder that the supervisor takes for remote."""

import os
import signal
import stat
import unittest

from running import (PATIENCE_S, TRAINER, RunTest, children_of, environment, is_running, kill, steps_in,
                     wait_until)


class Remote(RunTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("far"))
        os.mkdir(self.path("near"))
        self.env = environment(STEPSCOPE_TEST_NETWORK=self.path("far"), TMPDIR=self.path("near"),
                               STEPSCOPE_DIR=self.path("far"))

    def start_trainer(self):
        run = self.start("--", TRAINER, env=self.env)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        wait_until(self.elsewhere, "an outcome")
        return run

    def files(self, folder):
        """Of processes that train, not the supervisor's."""
        return sorted(name for name in os.listdir(self.path(folder)) if name.startswith("p-"))

    def elsewhere(self):
        return self.facts("outcome", "far/latest").get("elsewhere")

    def test_processes_record_on_a_local_disk(self):
        run = self.start_trainer()
        [local] = os.listdir(self.path("near"))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("near", local)).st_mode), 0o700)
        self.assertEqual(len(self.files(f"near/{local}")), 1)
        self.assertEqual(self.files("far/latest"), [])
        self.assertEqual(self.elsewhere(), self.path("near", local))
        self.assertEqual(run.finish()[0], 0)

    def test_all_files_come_home(self):
        run = self.start_trainer()
        run.tell("workers 5")
        run.expect(b"100 steps\n")
        code, _, err = run.finish()
        self.assertEqual((code, os.listdir(self.path("near"))), (0, []))
        self.assertEqual(steps_in(err), 100, err)
        self.assertEqual(len(self.files("far/latest")), 6)
        self.assertIsNone(self.elsewhere())
        self.assertEqual(self.facts("outcome", "far/latest")["exit_code"], "0")
        self.assertTrue(self.facts("manifest", "far/latest")["command"].endswith(TRAINER))
        info = self.info("far/latest")
        self.assertEqual((info["records"]["step"], info["whole"]), (100, True))
        self.assertEqual([name for name in os.listdir(self.path("far/latest"))
                          if name.endswith(".new")], [])

    def test_holes_and_bytes_are_the_same_at_home(self):
        run = self.start_trainer()
        [local] = os.listdir(self.path("near"))
        with open(self.path("near", local, "sparse.ssp"), "wb") as file:
            file.truncate(64 << 20)
            file.seek(40 << 20)
            file.write(b"x" * 5000)
        run.finish()
        with open(self.path("far/latest/sparse.ssp"), "rb") as file:
            data = file.read()
        self.assertEqual((len(data), data.strip(b"\0")), (64 << 20, b"x" * 5000))
        self.assertLess(os.stat(self.path("far/latest/sparse.ssp")).st_blocks, 1000)

    def test_a_quiet_run_comes_home_too(self):
        self.run_it("-q", "--", TRAINER, input=b"steps 7\n", env=self.env)
        self.assertEqual(self.info("far/latest")["records"]["step"], 7)
        self.assertEqual(os.listdir(self.path("near")), [])

    def test_a_command_that_cannot_be_run_leaves_nothing(self):
        self.assertEqual(self.run_it("-q", "no-such-command", env=self.env).returncode, 127)
        self.assertEqual((os.listdir(self.path("near")), os.listdir(self.path("far"))), ([], []))

    def test_without_a_supervisor_the_report_knows_where_they_are(self):
        run = self.start_trainer()
        command = int(self.facts("outcome", "far/latest")["pid"])
        left = children_of(run.pid)
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait(PATIENCE_S)
        run.process.stdin.close()
        wait_until(lambda: not is_running(command), "the end of the command")
        wait_until(lambda: not any(map(is_running, left)), "the end of what keeps its memory")
        done = self.stepscope("report", "--json", "far/latest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"count":100', done.stdout.replace(" ", ""))
        os.rename(self.elsewhere(), self.path("lost"))
        done = self.stepscope("report", "far/latest")
        self.assertEqual(done.returncode, 3)
        self.assertIn(self.elsewhere(), done.stderr)

    def test_a_home_that_is_gone_leaves_the_files_where_they_are(self):
        run = self.start_trainer()
        [local] = os.listdir(self.path("near"))
        os.rename(self.path("far"), self.path("away"))
        code, _, err = run.finish()
        self.assertEqual(code, 0)
        self.assertIn(f"the run stays in {self.path('near', local)}", err)
        self.assertEqual(self.info(f"near/{local}")["records"]["step"], 100)

    def test_what_a_daemon_goes_on_writing_is_not_removed(self):
        os.mkfifo(self.path("orders"))
        script = ("setsid \"$0\" <orders >said 2>&1 & echo $!; "
                  "until grep -q '3 steps' said; do :; done")
        for options in ([], ["--quiet"]):
            run = self.start(*options, "--", "sh", "-c", script, TRAINER, env=self.env)
            daemon = int(run.expect(b"\n"))
            self.addCleanup(kill, daemon)
            with open(self.path("orders"), "w", encoding="ascii") as orders:
                orders.write("steps 3\n")
                orders.flush()
                self.assertEqual(run.finish()[0], 0)
                local = self.elsewhere()
                self.assertEqual(len(self.files(local)), 1)
            wait_until(lambda: not is_running(daemon), "the end of the daemon")
            self.assertEqual(self.info(local)["records"]["step"], 3)
            os.remove(self.path("said"))

    def test_a_local_directory_is_recorded_into_directly(self):
        self.run_it("--dir", "near", "--", TRAINER, input=b"steps 7\n", env=self.env)
        self.assertEqual(self.info("near/latest")["records"]["step"], 7)
        self.assertIsNone(self.facts("outcome", "near/latest").get("elsewhere"))


if __name__ == "__main__":
    unittest.main()
