"""A run is read once and diagnosed once for each invocation, whatever is made of it."""

import os
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")
COMMAND = os.path.abspath(f"{BUILD}/counting_stepscope")
TRAINING = (os.path.abspath(f"{BUILD}/stepscope"), "demo", "--steps", "40")


class Once(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = place.name
        cls.runs = f"{cls.place}/runs"
        cls.of_run = cls.count("run", "--dir", cls.runs, "--", *TRAINING)
        cls.of_run_with_page = cls.count("run", "--dir", cls.runs, "--html", f"{cls.place}/a.html",
                                         "--", *TRAINING)

    @classmethod
    def count(cls, *words):
        """What each process of a command did: pairs of loads and diagnoses."""
        told = f"{cls.place}/counted"
        environment = dict(os.environ, COUNT_CALLS=told, STEPSCOPE_DIR=cls.runs)
        environment.pop("STEPSCOPE_RUN", None)
        subprocess.run((COMMAND, *words), env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, check=True)
        with open(told, encoding="ascii") as file:
            counted = [tuple(map(int, line.split())) for line in file]
        os.remove(told)
        return counted

    def test_the_supervisor_knows_all_that_its_summary_needs(self):
        self.assertEqual(self.of_run, [(1, 1)])

    def test_the_page_is_made_of_the_same(self):
        self.assertEqual(self.of_run_with_page, [(1, 1)])
        self.assertGreater(os.path.getsize(f"{self.place}/a.html"), 10_000)

    def test_so_is_each_form_of_the_report(self):
        for words in ((), ("--json",), ("--markdown",), ("--html", f"{self.place}/b.html")):
            self.assertEqual(self.count("report", *words), [(1, 1)], words)


if __name__ == "__main__":
    unittest.main()
