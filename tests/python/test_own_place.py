"""Runs that a script starts itself, in a folder on a network file system: recorded beside it, and brought
home at the end by the process that started it. STEPSCOPE_TEST_NETWORK names the folder."""

import glob
import os
import time
import unittest

from interpreters import PythonTest

START = """
import os, sys
import stepscope
run = stepscope.start()
assert run and stepscope.directory() == run, stepscope.status()
for _ in range(5):
    stepscope.step()
    with stepscope.span("work"):
        pass
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class OwnPlace(PythonTest):
    def far(self, python, script, expect=0):
        """Runs a script; gives what was left on the disk of this machine."""
        near = self.path("near-" + os.path.basename(self.runs))
        os.makedirs(near)
        os.makedirs(self.runs)
        self.out = self.python(python, START + script, expect=expect, TMPDIR=near,
                               STEPSCOPE_TEST_NETWORK=self.runs).stdout
        self.wait_for_watchers(near)
        return os.listdir(near)

    def wait_for_watchers(self, near):
        """Who watches the machine for a script that was killed notices it a moment later."""
        for file in glob.glob(f"{near}/*/s-*.ssp"):
            while is_running(os.path.basename(file).split("-")[1]):
                time.sleep(0.001)

    def check_home(self, left):
        self.assertEqual(left, [])
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.report()["steps"]["count"], 5)

    def test_stop_brings_it_home(self):
        script = "stepscope.stop()\nprint(stepscope.directory() == run, stepscope.load(run)['steps'])"
        for python in self.each():
            self.check_home(self.far(python, script))
            self.assertRegex(self.out, "^True .*'count': 5")

    def test_the_end_of_the_script_brings_it_home(self):
        for python in self.each():
            self.check_home(self.far(python, "sys.exit(3)", expect=3))

    def test_a_run_that_nobody_brings_home_is_found(self):
        for python in self.each():
            self.assertEqual(len(self.far(python, "os.kill(os.getpid(), 9)", expect=-9)), 1)
            self.assertEqual(self.spans(), {"work": 5})

    def test_it_can_be_read_meanwhile(self):
        script = "print('steps' in stepscope.load(run))"
        for python in self.each():
            self.far(python, script)
            self.assertEqual(self.out, "True\n")

    def test_a_forked_child_does_not_end_the_run_of_its_parent(self):
        script = """
child = os.fork()
if child == 0:
    with stepscope.span("of the child"):
        pass
    stepscope.stop()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
with stepscope.span("later"):
    pass
stepscope.stop()
"""
        for python in self.each():
            self.assertEqual(self.far(python, script), [])
            self.assertEqual(self.spans(), {"work": 5, "of the child": 1, "later": 1})
            self.assertEqual(self.report()["steps"]["count"], 5)


if __name__ == "__main__":
    unittest.main()
