"""PyTorch in a real Jupyter kernel, whose cells a client runs one by one."""

import os
import unittest

from framework import BUILD, FrameworkTest, last_line


class Notebook(FrameworkTest):
    def environment(self):
        return {"JUPYTER_RUNTIME_DIR": os.path.join(self.folder, "runtime"),
                "IPYTHONDIR": os.path.join(self.folder, "ipython"), "OMP_NUM_THREADS": "1"}

    def read(self, run):
        """Steps of its loops in their order, and the report."""
        latest = os.path.join(self.folder, os.path.basename(run))
        os.mkdir(latest)
        os.symlink(run, os.path.join(latest, "latest"))
        self.runs = latest
        report = self.report()
        self.assertTrue(report["lost"]["whole"], report["lost"])
        self.assert_closed(report["books"])
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        return [loop["steps"]["count"] for loop in loops], report

    def test_a_kernel_that_starts_a_recording(self):
        done = self.plain("notebook.py", "cells", PYTHONPATH=os.path.join(BUILD, "python"),
                          **self.environment())
        found = last_line(done)
        self.check_first(found["first"])
        steps, report = self.read(found["second"]["run"])
        self.assertEqual((steps, report["run"]["state"]), ([25], "ended"))
        steps, report = self.read(found["third"]["run"])
        self.assertEqual((steps[0], report["run"]["state"]), (25, "killed"))
        self.check_count(steps[1:], found["third"]["before_kill"])

    def check_count(self, steps, counted):
        """It was ended between an update and the line that counts it, or somewhere else."""
        self.assertGreater(counted, 20)
        self.assertIn(steps, ([counted], [counted + 1]))

    def check_first(self, first):
        self.assertEqual((first["error"], first["interrupt"]),
                         ("RuntimeError", "trains\nKeyboardInterrupt"))
        steps, report = self.read(first["run"])
        self.assertEqual(steps[:4] + steps[5:], [24, 40, 40, 7, 9])
        self.check_count(steps[4:5], first["before_interrupt"])
        self.assertEqual(sorted(first["steps"]), sorted(steps))
        # No step is as long as the user thinks.
        self.assertGreater(report["books"]["idle_ns"], first["thought_ns"])
        self.check_text(first["live"], "running for")
        self.check_text(first["summary"], "then stopped")
        self.assert_all_hooked()

    def check_text(self, text, state):
        """As a cell shows it: no wider than a terminal, and nothing that only a terminal understands."""
        lines = text.splitlines()
        self.assertIn(state, lines[0])
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual([c for c in text if not c.isprintable() and c != "\n"], [])
        self.assertIn("SGD.step", text)

    def test_a_kernel_below_the_command(self):
        self.hooked("notebook.py", "joined", **self.environment())
        report = self.report()
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        self.assertEqual([loop["steps"]["count"] for loop in loops], [24, 40])
        self.assertEqual({loop["process"] for loop in loops}, {loops[0]["process"]})
        self.assertTrue(report["lost"]["whole"], report["lost"])


if __name__ == "__main__":
    unittest.main()
