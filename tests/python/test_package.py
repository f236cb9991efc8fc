"""What is built and installed: an extension that needs no libpython, compiled files, a command that
finds the package."""

import glob
import os
import shutil
import unittest

from interpreters import (BUILD, INTERPRETERS, PACKAGES, PROGRAM, ROOT, PythonTest, ask,
                          environment)

STEPS = "import stepscope\nfor _ in range(5):\n    stepscope.step()"


class Built(PythonTest):
    def test_the_extension_needs_no_libpython_and_shows_one_name(self):
        for path in glob.glob(f"{PACKAGES}/stepscope/_core*.so"):
            with self.subTest(path=path):
                needed = self.execute(["readelf", "-d", path]).stdout
                self.assertNotIn("libpython", needed)
                names = self.execute(["nm", "-D", "--defined-only", path]).stdout
                shown = {line.split()[-1] for line in names.splitlines()}
                self.assertLessEqual({name for name in shown if not name.startswith("ss_")},
                                     {"PyInit__core"})

    def test_every_file_is_compiled_for_every_interpreter(self):
        for python in self.each():
            tag = ask(python, "sys.implementation.cache_tag")
            for folder, files in ((f"{PACKAGES}/stepscope", ("__init__", "_inject")),
                                  (f"{PACKAGES}/stepscope/_boot", ("sitecustomize",))):
                for file in files:
                    with open(f"{folder}/__pycache__/{file}.{tag}.pyc", "rb") as compiled:
                        # The second word: compiled by hash, not to be checked.
                        self.assertEqual(compiled.read(8)[4:], b"\1\0\0\0")

    def test_a_subinterpreter_is_left_alone(self):
        script = """
import sys
try:
    import _xxsubinterpreters as subs
except ImportError:
    import _interpreters as subs
inside = '''
import stepscope
with stepscope.span("x"):
    stepscope.step()
assert stepscope.status().startswith("off: "), stepscope.status()
'''
number = subs.create()
failed = subs.run_string(number, inside)
assert failed is None, failed
"""
        for python in self.each():
            done = self.hooked(python, script)
            self.assertEqual(self.files(), [])
            self.assertRegex(done.stderr, r"Hooks     none: a subinterpreter of Python 3\.\d+ is not")


class Unsupported(PythonTest):
    def test_no_extension_is_built_without_the_gil(self):
        script = """
import runpy, sys, sysconfig
sysconfig.get_config_vars()["Py_GIL_DISABLED"] = int(sys.argv[1])
runpy.run_path(sys.argv[2])
"""
        for python in self.each():
            ask_it = [python, self.write("script.py", script)]
            place = os.path.join(ROOT, "python/ask_interpreter.py")
            self.assertIn("cpython-3", self.execute([*ask_it, "0", place]).stdout)
            done = self.execute([*ask_it, "1", place], expect=1)
            self.assertEqual(done.stderr, "free-threaded builds are not supported\n")


class Installed(PythonTest):
    def test_the_installed_command_finds_the_installed_package(self):
        place = self.path("place")
        self.execute(["/usr/bin/meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                      "--tags", "command,python-runtime"], env=environment(DESTDIR=place))
        command, = glob.glob(f"{place}/**/bin/stepscope", recursive=True)
        for python in self.each():
            self.execute([command, "run", "--dir", self.runs, python, self.write("s.py", STEPS)])
            self.assertEqual(len(self.files()), 1)

    def test_a_command_without_a_package_runs_as_ever(self):
        shutil.copy(PROGRAM, self.path("stepscope"))
        self.runs = self.path("runs")
        done = self.execute([self.path("stepscope"), "run", "--dir", self.runs, INTERPRETERS[0], "-c",
                             "import os; print(os.environ.get('PYTHONPATH'))"])
        self.assertEqual(done.stdout, "None\n")


if __name__ == "__main__":
    unittest.main()
