"""docs/tutorial.md as it is written: all of its commands in its order, and what they are said to
show."""

import json
import os
import re

from framework import HERE, PROGRAM, PYTHON, FrameworkTest

ROOT = os.path.dirname(os.path.dirname(HERE))
TUTORIAL = os.path.join(ROOT, "docs", "tutorial.md")


def commands():
    """Indented blocks of commands, and commands in backticks, in the order of the page."""
    with open(TUTORIAL, encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"^((?:    .*\n)+)|`(stepscope [^`]+)`", text, re.M)
    every = [re.sub("^    ", "", block, flags=re.M) or inline for block, inline in found]
    return [command.strip() for command in every if command.startswith(("stepscope ", "for "))]


class Tutorial(FrameworkTest):
    def setUp(self):
        super().setUp()
        bin_folder = os.path.join(self.folder, "bin")
        os.mkdir(bin_folder)
        os.symlink(PROGRAM, os.path.join(bin_folder, "stepscope"))
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.folder, "examples"))
        with open(os.path.join(bin_folder, "python"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {PYTHON} "$@"\n')
        os.chmod(os.path.join(bin_folder, "python"), 0o755)
        self.path = bin_folder + ":" + os.environ["PATH"]

    def shell(self, command):
        return self.execute(["sh", "-e", "-c", command], PATH=self.path,
                            TF_CPP_MIN_LOG_LEVEL="3").stdout

    def report(self, name):
        return json.loads(self.execute([PROGRAM, "report", "--json", name]).stdout)

    def stage(self, report, name):
        return report["stages"][name]["mean_ns"] / 1e6

    def test_the_slow_script_becomes_a_fast_one(self):
        shown = {command: self.shell(command) for command in commands()}
        self.assertEqual([command.split()[1] for command in shown if command.startswith("stepscope")],
                         ["run", "report", "report", "explain", "run", "report"])
        slow, fast = self.report("slow"), self.report("fast")
        found = {finding["id"]: finding for finding in slow["findings"]}
        self.assertIn("input-bound", found)
        self.assertIn("callback-bound", found)
        self.assertIn("workers=", found["input-bound"]["advice"])
        self.assertGreater(self.stage(slow, "data"), 3)
        self.assertLess(self.stage(fast, "data"), self.stage(slow, "data") / 2)
        self.assertLess(self.stage(fast, "callback"), self.stage(slow, "callback") / 4)
        self.check_texts(shown)

    def check_texts(self, shown):
        self.assertIn("Findings: ", shown["stepscope report"])
        self.assertTrue(shown["stepscope explain input-bound"].startswith("input-bound"))
        self.assertTrue(os.path.getsize(os.path.join(self.folder, "page.html")))
        for command, text in shown.items():
            if "compare" in command:
                self.assertIn("By stage", text)
                basis = "a test of 3" if command.startswith("for") else "(an indication|none)"
                self.assertRegex(text, f"\nBasis +{basis}")


if __name__ == "__main__":
    import unittest

    unittest.main()
