"""kill -9 in the middle of a training: what was finished is in the report."""

import os
import re
import signal
import subprocess
import time
import unittest

from support import PROGRAM, SMALL, DemoTest

FOR_EVER = ("--steps", "10000000")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def wait_for_end(pid):
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)


class Killed(DemoTest):
    def start(self, *prefix):
        """Starts a training that never ends; returns when its second epoch is over."""
        process = subprocess.Popen([*prefix, PROGRAM, "demo", *SMALL, *FOR_EVER], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, self.read_until(process, 2)

    def read_until(self, process, epoch):
        """Reads what the trainer prints up to the end of this epoch; how many steps it has made."""
        for line in process.stdout:
            found = re.match(rf"epoch {epoch}/\d+  step (\d+) ", line)
            if found:
                return int(found[1])
        self.fail("the training ended")

    def check_report(self, run, steps):
        report = self.report(run)
        self.check_books(report)
        self.assertGreaterEqual(report["steps"]["count"], steps)
        spans = {(span["name"], span["object"]): span["count"] for span in report["spans"]}
        self.assertGreaterEqual(spans["step", "Adam"], steps)
        self.assertEqual(spans["evaluate", ""], len(report["epochs"]) - 1)
        return report

    def supervised(self):
        process, steps = self.start(PROGRAM, "run", "--dir", self.path("runs"), "--")
        trainer, = children(process.pid)
        self.addCleanup(self.kill_if_alive, trainer)
        return process, trainer, steps

    @staticmethod
    def kill_if_alive(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_the_trainer(self):
        process, trainer, steps = self.supervised()
        os.kill(trainer, signal.SIGKILL)
        _, summary = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertIn("steps/s", summary)
        self.check_report(self.path("runs", "latest"), steps)

    def test_the_supervisor(self):
        process, trainer, steps = self.supervised()
        process.kill()
        process.wait()
        more = self.read_until(process, 4)  # the training goes on
        self.assertGreater(more, steps)
        self.check_report(self.path("runs", "latest"), more)
        os.kill(trainer, signal.SIGKILL)
        wait_for_end(trainer)
        self.check_report(self.path("runs", "latest"), more)

    def test_both(self):
        process, trainer, steps = self.supervised()
        process.kill()
        os.kill(trainer, signal.SIGKILL)
        process.wait()
        wait_for_end(trainer)
        self.check_report(self.path("runs", "latest"), steps)

    def test_cpu_hogs_end_with_a_trainer_that_was_killed(self):
        process, _ = self.start()
        process.kill()
        process.wait()
        process = subprocess.Popen([PROGRAM, "demo", *SMALL, *FOR_EVER, "--fault", "cpu-hog=1"],
                                   stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.read_until(process, 1)
        hog, = children(process.pid)
        process.kill()
        process.wait()
        wait_for_end(hog)


if __name__ == "__main__":
    unittest.main()
