"""JAX: a delay is found where it is, by the clock of the script itself."""

import json
import os
import unittest

from framework import HERE
from truth import CALLS, MOST_NS, PART, TruthTest

STEPS = 60


class Truth(TruthTest):
    def measure(self, delay_ms):
        """Seconds of each step by place as the script saw them, and the report."""
        printed = self.hooked("jax_loop.py", str(delay_ms), str(STEPS),
                              STEPSCOPE_SAMPLE_HZ="200").stdout
        report = self.report()
        self.assertEqual(report["steps"]["count"], STEPS)
        return json.loads(printed)["spent"], report

    def compare(self, delay_ms):
        """Without the first step, in which it compiles, and the last, which ends with the loop."""
        spent, report = self.measure(delay_ms)
        found = [step["stages_ns"] for step in self.steps()[1:-1]]
        # The generator works for the step that follows.
        between = [sum(both) for both in zip(spent["between"][1:-1], spent["generator"][2:])]
        self.assert_times([step["compute"] + step["sync"] for step in found], spent["step"][1:-1],
                          "step", 2 * MOST_NS)
        self.assert_times([step["other"] for step in found], between, "other",
                          CALLS["other"] * MOST_NS)
        self.assert_near(report["books"]["eval_ns"], 1e9 * sum(spent["eval"]), PART,
                         MOST_NS * len(spent["eval"]), "eval")
        return report

    def test_1_ms(self):
        self.compare(1)

    def test_5_ms(self):
        self.compare(5)

    def test_20_ms_and_the_lines_that_wait(self):
        report = self.compare(20)
        with open(os.path.join(HERE, "jax_loop.py"), encoding="utf-8") as file:
            lines = [n for n, line in enumerate(file, 1) if "time.sleep(DELAY_S)" in line]
        found = {(hot["stage"], hot["line"]): hot["share"] for hot in report["hot"]["lines"]
                 if hot["file"].endswith("/jax_loop.py")}
        generator, callback, between = lines
        self.assertGreater(found["other", generator], 0.3)
        self.assertGreater(found["other", between], 0.3)
        self.assertGreater(found["compute", callback], 0.7)


if __name__ == "__main__":
    unittest.main()
