"""kill -9 in the middle of a training: what was finished is in the report."""

import os
import re
import select
import signal
import subprocess
import sys
import unittest

from support import PROGRAM, SMALL, DemoTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run"))

from running import wait_until

LONG = ("--steps", "100000")


def children(pid):
    """The processes that it started and that are trainers by their command line."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split() if is_trainer(child)]


def is_trainer(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[1] == b"demo"


class Handle:
    """A process that is not our child, held so that its number cannot become another's."""

    def __init__(self, pid):
        self.fd = os.pidfd_open(pid)

    def kill(self):
        try:
            signal.pidfd_send_signal(self.fd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def wait(self):
        ended = select.poll()
        ended.register(self.fd, select.POLLIN)
        ended.poll()

    def release(self):
        self.kill()
        os.close(self.fd)


class Killed(DemoTest):
    def start(self, *prefix, fault=()):
        """Starts a training that would go on for long."""
        process = subprocess.Popen([*prefix, PROGRAM, "demo", *SMALL, *LONG, *fault],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        return process

    def hold_child(self, process):
        child, = children(process.pid)
        handle = Handle(child)
        self.addCleanup(handle.release)
        return handle

    def read_until(self, process, epoch):
        """Reads what the trainer prints up to the end of this epoch; how many steps it has made."""
        for line in process.stdout:
            found = re.match(rf"epoch {epoch}/\d+  step (\d+) ", line)
            if found:
                return int(found[1])
        self.fail("the training ended")

    @staticmethod
    def steps_in(report):
        spans = {(span["name"], span["object"]): span["count"] for span in report["spans"]}
        return min(report["steps"]["count"], spans.get(("step", "Adam"), 0))

    def check_report(self, run, steps):
        report = self.report(run)
        spans = {(span["name"], span["object"]): span["count"] for span in report["spans"]}
        self.check_books(report)
        self.assertGreaterEqual(self.steps_in(report), steps)
        self.assertGreaterEqual(spans["evaluate", ""], len(report["epochs"]) - 1)

    def wait_for_copy(self, run, steps):
        """Without a supervisor that holds its memory, what a killed process had not copied is lost."""
        wait_until(lambda: self.steps_in(self.report(run)) >= steps, "all steps")

    def supervised(self):
        """The supervisor, the trainer, and how many steps it has made at least."""
        process = self.start(PROGRAM, "run", "--dir", self.path("runs"), "--")
        steps = self.read_until(process, 2)
        return process, self.hold_child(process), steps

    def test_the_trainer(self):
        process, trainer, steps = self.supervised()
        trainer.kill()
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
        run = self.path("runs", "latest")
        self.wait_for_copy(run, steps)
        self.check_report(run, steps)
        self.wait_for_copy(run, more)
        trainer.kill()
        trainer.wait()
        self.check_report(run, more)

    def test_both(self):
        process, trainer, steps = self.supervised()
        self.wait_for_copy(self.path("runs", "latest"), steps)
        process.kill()
        trainer.kill()
        process.wait()
        trainer.wait()
        self.check_report(self.path("runs", "latest"), steps)

    def test_cpu_hogs_end_with_a_trainer_that_was_killed(self):
        process = self.start(fault=("--fault", "cpu-hog=1"))
        self.read_until(process, 1)
        hog = self.hold_child(process)
        process.kill()
        process.wait()
        hog.wait()


if __name__ == "__main__":
    unittest.main()
