"""What the tests of the report share: runs in a folder, the program in it, the 80 columns."""

import os
import unicodedata

import report_runs  # noqa: F401 (finds tests/cli)
from support import FINE, CommandTest

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
               "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "")}


def columns(line):
    """Columns that a terminal needs for a line."""
    wide = sum(1 for c in line if unicodedata.east_asian_width(c) in "WF")
    return len(line) + wide - sum(1 for c in line if unicodedata.combining(c))


class ReportTest(CommandTest):
    def stepscope(self, *arguments, **options):
        options["env"] = {**ENVIRONMENT, **options.pop("env", {})}
        return super().stepscope(*arguments, **options)

    def report(self, *options, run="run", width=80, stderr="", **environment):
        """Text of a report, after a look at what every text must keep to."""
        text = self.check(["report", *options, run], FINE, stderr=stderr, env=environment).stdout
        self.check_lines(text, width)
        return text

    def check_lines(self, text, width=80):
        self.assertTrue(text.endswith("\n"), repr(text[-50:]))
        for line in text.splitlines():
            self.assertLessEqual(columns(line), width, line)
            self.assertEqual(line, line.rstrip())
            for character in line:
                self.assertGreaterEqual(character, " ", repr(line))
                self.assertNotIn(unicodedata.category(character), ("Cc", "Cf", "Co"), repr(line))

    def check_golden(self, name, text):
        """Compares with golden/NAME.txt. STEPSCOPE_GOLDEN=write writes it: look at it then!"""
        path = os.path.join(GOLDEN, name + ".txt")
        if os.environ.get("STEPSCOPE_GOLDEN") == "write":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(text, file.read())
