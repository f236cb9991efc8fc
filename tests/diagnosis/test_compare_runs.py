"""`stepscope compare` on real trainings with a delay of known size."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))

from support import CHECK_FAILED, FINE, PROGRAM  # noqa: E402
from test_compare import CompareTest  # noqa: E402

SOAK = os.environ.get("SOAK") == "1"
TAKERS = ("steal", "preempted", "cgroup", "memory", "io", "frequency")  # ids of validity


class RealRuns(CompareTest):
    """The built-in trainer behind a loader that takes 20 ms a batch, or more: 10 % in the long form, half
    as much again where other tests run beside it. It sleeps, so that the rest of a step hardly counts."""

    SIDES = {"a": "20ms", "again": "20ms", "slower": "22ms" if SOAK else "30ms"}
    RUNS, STEPS = 3, 100

    def train(self, side, number, fault=None):
        return subprocess.Popen(
            [PROGRAM, "run", "--quiet", "--dir", side, "--name", f"run{number}", "--", PROGRAM,
             "demo", "--hidden", "64,32", "--steps", str(self.STEPS), "--fault",
             fault or f"slow-input={self.SIDES[side]}"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def test_a_delay_is_found_and_none_where_there_is_none(self):
        for number in range(self.RUNS):  # side by side, so that whatever disturbs disturbs all
            for training_run in [self.train(side, number) for side in self.SIDES]:
                self.assertEqual(training_run.wait(timeout=120), 0)
        found = self.only("--fail-if-slower", "3%", "a", "slower", code=CHECK_FAILED)
        self.assertEqual((found["level"], found["verdict"]), ("test", "slower"))
        self.assertEqual(found["carrier"], "data")
        self.only("--fail-if-slower", "20%", "a", "again")
        pair = self.only("a/latest", "again/latest")
        self.assertEqual(pair["level"], "indication")
        self.assertIn(pair["verdict"], ("same", "inconclusive"))

    def test_one_run_may_differ_by_what_was_taken_from_it(self):
        hogs = min(64, 4 * len(os.sched_getaffinity(0)))
        for number in range(2):
            self.assertEqual(self.train("busy", number, f"cpu-hog={hogs}").wait(timeout=120), 0)
        taken = [0.02]
        names = sorted(name for name in os.listdir(self.path("busy")) if name.startswith("2"))
        for name in names:
            report = json.loads(self.check(["report", "--json", f"busy/{name}"], FINE).stdout)
            taken += [item["value"] for item in report["validity"]["items"]
                      if item["id"] in TAKERS and item["value"] is not None]
        found = self.only(*(f"busy/{name}" for name in names))
        self.assertAlmostEqual(found["assumed_spread"], max(taken))
        self.assertGreater(max(taken), 0.02)


if __name__ == "__main__":
    unittest.main()
