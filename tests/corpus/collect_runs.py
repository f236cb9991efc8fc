"""Runs a file of tests and keeps the runs that they make: collect_runs.py FILE[:PATTERN] DIRECTORY

Tests work in temporary directories: what is in one of them when it is removed is looked through for
runs. Each is copied once, under the name of its test. Started by make_corpus.py.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import unittest

MOST_FILES = 12


class Collector:
    def __init__(self, out):
        self.out = out
        self.test = ""
        self.seen = set()

    def watch(self):
        """Stands in front of what every test calls."""
        run, cleanup = unittest.TestCase.run, tempfile.TemporaryDirectory.cleanup

        def named_run(case, result=None):
            self.test = case.id().rpartition(".")[2].removeprefix("test_")
            return run(case, result)

        def collected(directory):
            self.collect(directory.name)
            cleanup(directory)

        unittest.TestCase.run = named_run
        tempfile.TemporaryDirectory.cleanup = collected

    def collect(self, folder):
        for place, _, files in os.walk(folder):
            is_run = any(file.endswith(".ssp") or file == "outcome" for file in files)
            if is_run and len(files) <= MOST_FILES:
                self.keep(place, sorted(files))

    def keep(self, place, files):
        content = hashlib.sha256()
        for file in files:
            with open(os.path.join(place, file), "rb") as data:
                content.update(file.encode() + data.read())
        if content.digest() in self.seen:
            return
        self.seen.add(content.digest())
        name = re.sub(r"[^\w-]+", "-", os.path.basename(place)).strip("-")
        name = re.sub(r"^\d{4}-?\d\d-?\d\d-\d+-", "", name)  # date and time
        words = self.test + ("" if name in ("run", "") else "-" + name)
        target = os.path.join(self.out, words)
        number = 1
        while os.path.exists(target):
            number += 1
            target = os.path.join(self.out, f"{words}-{number}")
        shutil.copytree(place, target, ignore=shutil.ignore_patterns(".*", "*.html", "*.json"))


def main():
    path, _, pattern = sys.argv[1].partition(":")
    collector = Collector(sys.argv[2])
    collector.watch()
    sys.path.insert(0, os.path.dirname(path))
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*"]
    found = loader.loadTestsFromName(os.path.basename(path).removesuffix(".py"))
    unittest.TextTestRunner(stream=open(os.devnull, "w", encoding="utf-8")).run(found)


if __name__ == "__main__":
    main()
