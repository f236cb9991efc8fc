"""What every training process loads is small: the part of the extension that records and hooks."""

import glob
import os
import subprocess
import unittest

BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")
MOST_TEXT, MOST_BSS = 188 * 1024, 154 * 1024  # a third of what it was when it could report, too


class Size(unittest.TestCase):
    def test_the_extension_in_a_training_is_a_third_of_what_it_was(self):
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
