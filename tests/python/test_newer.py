"""A Python that is newer than all whose frames are known: what needs none of its private structures works,
and the rest is off and said. The extension is that of an older Python, built as if it were a newer one."""

import glob
import os
import shutil
import unittest

from interpreters import BUILD, INTERPRETERS, PROGRAM, PythonTest, ask, environment

SCRIPT = """
import gc, stepscope, toyframe
from stepscope import _core
while _core.sampler_stats()["cpu_ns"] == 0:  # until its thread has looked once
    stepscope.step()
    toyframe.work()
    gc.collect(0)
print(_core.sampler_stats()["reason"])
"""

ADAPTER = """
from stepscope._hooks import Hook
HOOKS = (Hook("toyframe:work", "data", "work"),)
"""


class Newest(PythonTest):
    def test_they_are_here(self):
        for version in "3.14", "3.15":
            if not any(python.endswith("python" + version) for python in INTERPRETERS):
                print(f"\nNOT TESTED: CPython {version}: the mirror of Debian was not reached, or there is none",
                      flush=True)
                self.skipTest("make pythons did not get it")


class Newer(PythonTest):
    def setUp(self):
        super().setUp()
        built = glob.glob(os.path.join(BUILD, "python/stepscope/newer.*.so"))
        if not built:
            self.skipTest("it was not built")
        suffix = os.path.basename(built[0])[len("newer"):]
        self.interpreter = next(path for path in INTERPRETERS
                                if ask(path, "_imp.extension_suffixes()[0]") == suffix)
        shutil.copytree(os.path.join(BUILD, "python/stepscope"), self.path("package/stepscope"),
                        symlinks=True, ignore=shutil.ignore_patterns("*.so.p", "__pycache__"))
        shutil.copy(built[0], self.path("package/stepscope/_core" + suffix))
        self.write("package/stepscope/adapters/toyframe.py", ADAPTER)
        self.write("toyframe.py", "def work(): return sum(range(3000))\n")

    def test_hooks_and_pauses_are_recorded_and_stacks_are_off_in_one_line(self):
        self.runs = self.path("runs")
        env = environment(PYTHONPATH=self.path("package"))
        done = self.execute([PROGRAM, "run", "--dir", self.runs, self.interpreter,
                             self.write("train.py", SCRIPT)], env=env)
        self.assertRegex(done.stdout, r"^the frames of Python 3\.\d+ are not known to this version")
        said = [line for line in done.stderr.splitlines() if line.startswith("stacks")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn("none were sampled: the frames of Python 3.", said[0])
        report = self.report()
        counts = {span["name"]: span["count"] for span in report["spans"]}
        self.assertEqual(counts["work"], report["steps"]["count"])
        self.assertEqual(counts["gc generation 0"], report["steps"]["count"])


if __name__ == "__main__":
    unittest.main()
