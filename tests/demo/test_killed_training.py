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
    """The processes that it started and that are trainers by their command line."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split() if is_trainer(child)]


def is_trainer(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[1] == b"demo"


def is_alive(pid):
    """Not ended, whether or not somebody has asked how."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for_end(pid):
    while is_alive(pid):
        time.sleep(0.01)


class Killed(DemoTest):
    def start(self, *prefix, fault=()):
        """Starts a training that never ends, in a process group of its own."""
        process = subprocess.Popen([*prefix, PROGRAM, "demo", *SMALL, *FOR_EVER, *fault],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   encoding="utf-8", start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(self.kill_group, process.pid)
        return process

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
        self.assertGreaterEqual(spans["evaluate", ""], len(report["epochs"]) - 1)

    def supervised(self):
        """The supervisor, the trainer, and how many steps it has made at least."""
        process = self.start(PROGRAM, "run", "--dir", self.path("runs"), "--")
        steps = self.read_until(process, 2)
        trainer, = children(process.pid)
        return process, trainer, steps

    @staticmethod
    def kill_group(group):
        try:
            os.killpg(group, signal.SIGKILL)
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
        self.check_report(self.path("runs", "latest"), steps)  # a live one may be a little behind
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
        process = self.start(fault=("--fault", "cpu-hog=1"))
        self.read_until(process, 1)
        hog, = children(process.pid)
        process.kill()
        process.wait()
        wait_for_end(hog)


if __name__ == "__main__":
    unittest.main()
