"""What the tests of `stepscope demo` share: training, recorded or not, and comparing the report with
what the trainer's own clock said."""

import json
import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.path.join(BUILD, "stepscope")
SOAK = os.environ.get("SOAK") == "1"
TIMEOUT_S = 300
SMALL = ("--hidden", "64,32")  # steps of well under a millisecond: faults stand out
STAGES = ("data", "forward", "backward", "optimizer", "callback")


def stepscope(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False,
                          encoding="utf-8", **options)


def learned(output):
    """What the last line of a training says: accuracy in percent, steps, weights and losses."""
    found = re.search(r"^accuracy (\S+) % after (\d+) steps? in .* s\nweights (\w+), losses (\w+)$",
                      output, re.MULTILINE)
    return float(found[1]), int(found[2]), found[3], found[4]


class DemoTest(unittest.TestCase):
    """A test with a directory of its own, in which the trainer runs."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-demo-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def train(self, *arguments):
        """Trains unrecorded; what it prints."""
        done = stepscope("demo", *arguments, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def record(self, *arguments):
        """Trains under `stepscope run`; what the trainer prints, and the run."""
        done = stepscope("run", "--quiet", "--dir", self.path("runs"), "--", PROGRAM, "demo",
                         *arguments, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout, self.path("runs", "latest")

    def report(self, run):
        done = stepscope("report", "--json", run)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def check_books(self, report):
        """Every nanosecond is in one place, and none in two."""
        for books in [report["books"]] + [loop["books"] for loop in report["loops"]]:
            parts = {key: value for key, value in books.items() if key != "wall_ns"}
            self.assertEqual(sum(parts.values()), books["wall_ns"], books)
            self.assertGreaterEqual(min(parts.values()), 0, books)
        self.assertEqual(report["lost"]["negative_ns"], 0)
        steady = report["steps"]["steady"]
        measured = [stage["total_ns"] for stage in report["stages"].values() if stage]
        self.assertEqual(sum(measured), steady["total_ns"])
