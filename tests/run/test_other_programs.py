"""Other programs that use the cores are found by name, and no more of their CPU time than they had."""

import json
import os
import shutil
import subprocess
import unittest

from sampling import SamplesTest


class Others(SamplesTest):
    def test_a_program_that_takes_a_core_is_named(self):
        greedy = self.path("greedy one")
        shutil.copy(os.path.realpath("/bin/sh"), greedy)
        with subprocess.Popen([greedy, "-c", "while :; do :; done"]) as hog:
            try:
                self.load("8")
                used_ns = self.used_ns(hog.pid)
            finally:
                hog.kill()
        told = self.notes()
        number, = (key.partition(".")[2] for key, value in told.items() if value == "greedy one")
        done = self.stepscope("dump", "--json", "stepscope-runs/latest")
        values = [line["value"] for line in map(json.loads, done.stdout.splitlines())
                  if line["kind"] == "system" and line["name"] == "other.cpu"
                  and line["subject"] == int(number)]
        self.assertGreater(values[-1], 0)
        self.assertEqual(values, sorted(values))
        self.assertLessEqual(values[-1], used_ns)
        self.assertNotIn("load_maker", told.values())

    @staticmethod
    def used_ns(pid):
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e9 / os.sysconf("SC_CLK_TCK")

    def notes(self):
        done = self.stepscope("dump", "--json", "stepscope-runs/latest")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {line["key"]: line["value"] for line in lines
                if line["kind"] == "info" and line["key"].startswith("other.")}


if __name__ == "__main__":
    unittest.main()
