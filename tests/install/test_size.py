"""What every training process loads is small: the part of the extension that records and hooks."""

import glob
import os
import subprocess
import unittest

BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")
# A third of what it was when it could report, too. Layers by default, windows of operations, arms of an
# experiment and redaction where it is recorded have added 24 KB of text since.
MOST_TEXT, MOST_BSS = (188 + 24) * 1024, 154 * 1024


class Size(unittest.TestCase):
    def test_the_extension_in_a_training_is_small(self):
        found = glob.glob(f"{BUILD}/python/stepscope/_core.*.so")
        self.assertTrue(found)
        for path in found:
            listed = subprocess.run(["size", path], stdout=subprocess.PIPE, text=True, check=True)
            titles, numbers = (line.split() for line in listed.stdout.splitlines())
            sizes = dict(zip(titles, numbers))
            self.assertLessEqual(int(sizes["text"]), MOST_TEXT, path)
            self.assertLessEqual(int(sizes["bss"]), MOST_BSS, path)


if __name__ == "__main__":
    unittest.main()
