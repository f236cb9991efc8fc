"""What the tests of the import share."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "cli"))

from support import FINE, CommandTest  # noqa: E402,F401


class ImportTest(CommandTest):
    def imported(self, *traces, run="run", **options):
        """What the JSON report of these traces says."""
        self.check(["import", *traces, "-o", run], FINE, stderr="", **options)
        return json.loads(self.check(["report", "--json", run], FINE, stderr="").stdout)

    def assert_near(self, value, expected, share=0.01, unit=0):
        self.assertLessEqual(abs(value - expected), max(abs(expected) * share, unit),
                             f"{value} instead of {expected}")
