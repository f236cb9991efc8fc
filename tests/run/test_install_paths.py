"""The tool works wherever it was unpacked: its folder may be called anything."""

import os
import shutil
import subprocess
import unittest

from running import BUILD, PATIENCE_S, PYTHON, RunTest, environment, is_sanitized

PACKAGE = os.path.join(BUILD, "python", "stepscope")
NAMES = (b"we[i]rd", b"st*r?", b"two words", b" ", b"new\nline", b"tab\t", b"not-utf-8-\xff\xfe",
         b"quote'\"`$HOME", b"{a,b}~#%s\\", "\u00e4\u6587\U0001f600".encode(), b"-dash", b"x" * 200)
SCRIPT = "import stepscope, sys\nfor _ in range(5):\n  stepscope.step()\n" \
         "print(ascii(stepscope.__file__))"


@unittest.skipUnless(os.path.isdir(PACKAGE), "built without the Python package")
@unittest.skipIf(is_sanitized(), "the sanitizer would have to be loaded into Python")
class InstallPaths(RunTest):

    def unpack(self):
        """The command and beside it its package, as they are in a build."""
        place = self.path("unpacked")
        os.mkdir(place)
        shutil.copy(os.path.join(BUILD, "stepscope"), place)
        shutil.copytree(PACKAGE, os.path.join(place, "python", "stepscope"),
                        ignore=shutil.ignore_patterns("*.p", "__pycache__"))
        return place.encode()

    def run_from(self, place):
        return subprocess.run([os.path.join(place, b"stepscope"), "run", "--", PYTHON, "-B", "-c",
                               SCRIPT], cwd=self.folder, env=environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)

    def test_any_byte(self):
        place = self.unpack()
        for name in NAMES:
            with self.subTest(name=name):
                there = os.path.join(os.path.dirname(place), name)
                os.rename(place, there)
                place = there
                done = self.run_from(place)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.decode().strip(),
                                 ascii(os.fsdecode(place) + "/python/stepscope/__init__.py"))
                info = self.info()
                self.assertEqual(info["records"]["step"], 5)
                self.assertTrue(info["whole"], info)

    def test_a_colon_ends_a_path_in_the_list_of_python(self):
        """There, nothing is hooked, and the report says why."""
        there = os.path.join(os.fsencode(self.folder), b"co:lon")
        os.rename(self.unpack(), there)
        self.assertEqual(self.run_from(there).returncode, 1)  # no module stepscope
        said = " ".join(self.stepscope("report", "stepscope-runs/latest").stdout.split())
        self.assertIn("has a colon in its path", said)


if __name__ == "__main__":
    unittest.main()
