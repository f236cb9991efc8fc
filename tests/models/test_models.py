"""The parts of the recorder that work without locks, as models that spin walks through in every order
of their steps. Each model says what must hold; with BROKEN it is the model of a mistake, and spin must
find it: a model that cannot fail shows nothing.

Models are sequentially consistent: what the memory of a machine reorders is for the fences of the
code, ThreadSanitizer, and the stress in tests/unit/test_record_threads.c.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BROKEN_WAYS = (1, 2, 3, 4)
DEPTH = 100000  # far more than any of them goes
PATIENCE_S = 600


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("spin") is None:
            if os.environ.get("CI"):
                raise AssertionError("spin is missing: tools/setup models installs it")
            raise unittest.SkipTest("spin is missing: tools/setup models installs it")

    def errors(self, model, broken):
        """How many spin finds, of all orders of the model's steps."""
        with tempfile.TemporaryDirectory(prefix="stepscope-model-") as folder:
            def run(*words):
                return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=True,
                                      timeout=PATIENCE_S).stdout
            run("spin", f"-DBROKEN={broken}", "-a", os.path.join(HERE, model + ".pml"))
            run(os.environ.get("CC", "cc"), "-w", "-O1", "-DSAFETY", "-o", "pan", "pan.c")
            text = run("./pan", f"-m{DEPTH}")
        self.assertNotIn("max search depth too small", text)
        self.assertNotIn("Search not completed", text.replace("Warning: ", "") if not broken else "")
        states = re.search(r"(\d+) states, stored", text)
        if not broken:
            print(f"\n{model}: {states[1]} states", flush=True)
        return int(re.search(r"errors: (\d+)", text)[1])

    def check(self, model):
        self.assertEqual(self.errors(model, 0), 0)
        for way in BROKEN_WAYS:
            with self.subTest(broken=way):
                self.assertGreater(self.errors(model, way), 0)

    def test_a_segment_that_is_read_while_it_is_written_and_given_away(self):
        self.check("segment")

    def test_the_pool_of_segments(self):
        self.check("pool")

    def test_events_while_recordings_start_and_stop(self):
        self.check("life")


if __name__ == "__main__":
    unittest.main()
