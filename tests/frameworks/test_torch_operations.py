"""PyTorch: which operations take the time, in windows of its own profiler that a script does not notice."""

import collections
import glob
import json
import os
import unittest

from framework import PROGRAM, PYTHON, FrameworkTest, last_line

SHARE_DIFFERS = 0.002

# As a window leaves it (docs/format.md).
LEAVE = """import os, shutil
to = os.path.join(os.environ["STEPSCOPE_RUN"], "window-1-1.json")
shutil.copy("own.json", to)
with open(to + ".facts", "w") as facts:
    facts.write("window\\t1\\t10\\t0\\t1000000\\t0\\t0\\t1\\tPyTorch\\n")
"""


class Operations(FrameworkTest):
    def recording(self, command):
        words = super().recording(command)
        return [*words[:2], *self.options, *words[2:]]

    options = ("--ops", "--keep-traces")

    def train(self, how, script="torch_operations.py", **more):
        done = self.hooked(script, how, **more)
        self.rows = self.report()
        self.captures = self.rows["captures"]
        return done

    def by_name(self, key="share"):
        found = collections.Counter()
        for row in self.rows["operations"]:
            found[row["name"]] += row[key]
        return found

    def test_shares_are_those_of_the_frameworks_own_profiler(self):
        """Of the same steps: the script's own trace, as if it were a window."""
        theirs = last_line(self.train("shares"))[1][0]
        self.assert_passes()
        self.execute(self.recording([PYTHON, "-c", LEAVE]))
        self.rows = self.report()
        ours = self.by_name()
        for name, share in theirs.items():
            self.assertAlmostEqual(ours[name], share, delta=SHARE_DIFFERS, msg=name)

    def assert_passes(self):
        self.assertEqual(self.captures["windows"], 4)
        self.assertEqual(self.captures["steps"], 10)
        self.assertGreater(self.captures["own_cost_ns"], 0)
        passes = {(row["name"], row["pass"]): row["calls"] for row in self.rows["operations"]}
        self.assertEqual(passes["aten::addmm", "forward"], 2)
        self.assertEqual(passes["aten::mm", "backward"], 3)
        self.assertEqual(passes["Optimizer.step#Adam.step", "optimizer"], 1)
        self.assertIn(("aten::_foreach_norm", "optimizer"), passes)
        text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
        self.assertRegex(text, r"Operations, by what they took themselves[^\n]*\n")
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))

    def assert_unseen(self, how, **more):
        """Weights, what its own profiler sees and standard error are the script's; but for what
        Kineto says of each session, which it is asked once how much to say of."""
        plain, done = self.plain("torch_operations.py", how), self.train(how, **more)
        self.assertEqual(done.stdout, plain.stdout)
        lines = [line for line in plain.stderr.splitlines() if not line.startswith("USDT:")]
        self.assertEqual(done.stderr.splitlines(), lines)
        return last_line(done)[1]

    def test_a_script_does_not_notice_windows(self):
        self.assert_unseen("steps", STEPSCOPE_LAYERS="0")
        self.assertEqual(self.captures["windows"], 4)
        # Only steps that a window touched are left out.
        self.assertLessEqual(self.rows["steps"]["left_out"], 4 + 10 + 2)

    def test_the_scripts_own_profiler_comes_first_in_each_phase(self):
        seen = self.assert_unseen("phases")
        self.assertEqual(seen, [True] * 10)
        self.assertGreater(self.captures["windows"], 0)

    def test_a_script_that_profiles_itself_hears_what_it_always_did(self):
        """Unless windows are asked for: then Kineto is silent."""
        self.options = ()
        plain = self.plain("torch_operations.py", "phases")
        done = self.train("phases", STEPSCOPE_OPS="auto")
        self.assertEqual(done.stdout, plain.stdout)
        self.assertEqual(len(done.stderr.splitlines()), len(plain.stderr.splitlines()))
        self.assertEqual(self.captures["reason"], "the script's own profiler came first")

    def test_forks_evaluations_and_workers_end_a_window(self):
        self.assertEqual(self.assert_unseen("interrupted"), [0])
        self.assertGreater(self.captures["windows"], 0)
        self.assertLess(self.captures["wall_ns"], 1e9)

    def test_trainers(self):
        for how in ("trainer", "lightning"):
            with self.subTest(how):
                self.train(how, "torch_layers.py")
                self.assertEqual(self.captures["windows"], 4)
                self.assertIn("backward", {row["pass"] for row in self.rows["operations"]})

    def test_none_if_nobody_wants_them(self):
        self.options = ("--no-ops", "--keep-traces")
        self.train("steps", STEPSCOPE_OPS="now")
        self.assertIsNone(self.rows["operations"])
        self.assertTrue(self.captures["reason"])
        self.assertFalse(glob.glob(os.path.join(self.runs, "latest", "window-*")))


if __name__ == "__main__":
    unittest.main()
