"""Ranks that only init_process_group() distinguishes, or by Lightning's launcher."""

import unittest

from framework import FrameworkTest

STEPS = 30


class Spawned(FrameworkTest):
    def check(self, launcher):
        self.hooked("torch_spawned.py", launcher)
        report = self.report()
        loops = sorted(report["loops"], key=lambda loop: loop["rank"])
        self.assertEqual([(loop["rank"], loop["steps"]["count"]) for loop in loops],
                         [(0, STEPS), (1, STEPS)])
        self.assertEqual((report["job"]["world"], report["job"]["missing_count"]), (2, 0))
        self.assert_closed(report["books"])  # of the command that started them, to its end
        self.assertEqual(report["books"]["wall_ns"], report["run"]["wall_ns"])
        self.assertGreater(report["books"]["startup_ns"], 0)

    def test_spawned_by_the_script(self):
        self.check("spawn")

    def test_lightning(self):
        self.check("lightning")


if __name__ == "__main__":
    unittest.main()
