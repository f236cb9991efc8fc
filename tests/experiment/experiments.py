"""What the tests of experiments share: a folder with a file of the user's, and the command in it."""

import os
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "run")]

from running import PROGRAM, environment

TRAINER = os.path.join(os.environ["STEPSCOPE_BUILD"], "swept_trainer")
FINE, USAGE, DATA = 0, 2, 3


def tree(folder):
    """Names and contents of all files below a folder but those of runs."""
    found = {}
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "stepscope-runs"]
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), folder)] = file.read()
    return found


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-experiment-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(self.folder, "mine"), "w", encoding="utf-8") as file:
            file.write("mine")

    def start(self, *words):
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, encoding="utf-8")

    def check(self, *words, code=FINE):
        """What it printed: (stdout, stderr)."""
        process = self.start(*words)
        out, err = process.communicate()
        self.assertEqual(process.returncode, code, err + out)
        return out, err

    def assert_untouched(self):
        self.assertEqual(tree(self.folder), {"mine": b"mine"})
