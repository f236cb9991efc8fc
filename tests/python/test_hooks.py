"""The hooks of the fake framework, in every interpreter: as they are, and with all warnings errors."""

import os
import unittest

from interpreters import BUILD, PACKAGES, PROGRAM, PythonTest, environment

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = tuple(os.path.join(HERE, "fake_framework", name)
               for name in ("check_hooks.py", "check_rows.py", "check_untouched.py"))


class Hooks(PythonTest):
    with_extra = True

    def check(self, *options):
        env = environment(PYTHONPATH=PACKAGES + os.pathsep + HERE, STEPSCOPE_BUILD=BUILD,
                          STEPSCOPE_BIN=PROGRAM)
        for python in self.each():
            for check in CHECKS:
                done = self.execute([python, *options, check], env=env)
                self.assertRegex(done.stderr, r"\nRan \d\d tests in .*\n\nOK\n$")
                self.assertEqual(done.stdout, "")

    def test_every_kind_of_hook(self):
        self.check()

    def test_every_kind_of_hook_in_development_mode(self):
        self.check("-X", "dev", "-W", "error")


if __name__ == "__main__":
    unittest.main()
