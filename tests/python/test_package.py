"""What is built and installed: extensions that need no libpython, compiled files, a command that
finds the package."""

import glob
import os
import shutil
import unittest

from interpreters import (BUILD, INTERPRETERS, PACKAGES, PROGRAM, ROOT, PythonTest, ask,
                          environment)

STEPS = "import stepscope\nfor _ in range(5):\n    stepscope.step()"


class Built(PythonTest):
    def test_the_extensions_need_no_libpython_and_show_one_name(self):
        found = [(path, name) for name in ("_core", "_report")
                 for path in glob.glob(f"{PACKAGES}/stepscope/{name}*.so")]
        self.assertGreaterEqual(len(found), 2)
        for path, name in found:
            with self.subTest(path=path):
                needed = self.execute(["readelf", "-d", path]).stdout
                self.assertNotIn("libpython", needed)
                names = self.execute(["nm", "-D", "--defined-only", path]).stdout
                shown = {line.split()[-1] for line in names.splitlines()}
                self.assertLessEqual({one for one in shown if not one.startswith("ss_")},
                                     {f"PyInit_{name}"})

    def test_only_those_that_read_a_run_load_what_reads(self):
        script = """
import sys
import stepscope
stepscope.step()
assert "stepscope._core" in sys.modules
assert "stepscope._report" not in sys.modules
stepscope.load()
assert "stepscope._report" in sys.modules
"""
        for python in self.each():
            self.hooked(python, script)

    def test_every_file_is_compiled_for_every_interpreter(self):
        for python in self.each():
            tag = ask(python, "sys.implementation.cache_tag")
            for folder, files in ((f"{PACKAGES}/stepscope", ("__init__", "_inject")),
                                  (f"{PACKAGES}/stepscope/_boot", ("sitecustomize",))):
                for file in files:
                    with open(f"{folder}/__pycache__/{file}.{tag}.pyc", "rb") as compiled:
                        # The second word: compiled by hash, not to be checked.
                        self.assertEqual(compiled.read(8)[4:], b"\1\0\0\0")

    def test_a_module_that_is_executed_is_the_command(self):
        version = self.execute([PROGRAM, "--version"]).stdout
        for python in self.each():
            env = environment(PYTHONPATH=PACKAGES)
            command = [python, "-m", "stepscope"]
            self.assertEqual(self.execute([*command, "--version"], env=env).stdout, version)
            self.assertIn("Did you mean 'report'?",
                          self.execute([*command, "repot"], 2, env=env).stderr)
            said = self.python(python, "import stepscope; print('stepscope', stepscope.__version__)")
            self.assertEqual(said.stdout, version)

    def test_a_package_without_its_command_says_so(self):
        alone = self.path("alone")
        shutil.copytree(f"{PACKAGES}/stepscope", f"{alone}/stepscope")
        for python in self.each():
            done = self.execute([python, "-m", "stepscope", "list"], 3,
                                env=environment(PYTHONPATH=alone))
            self.assertIn("the command was not found next to the package", done.stderr)

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


class Kinds(PythonTest):
    def test_a_build_without_the_gil_has_an_extension_of_its_own(self):
        script = """
import runpy, sys, sysconfig
sysconfig.get_config_vars()["Py_GIL_DISABLED"] = int(sys.argv[1])
runpy.run_path(sys.argv[2])
"""
        for python in self.each():
            ask_it = [python, self.write("script.py", script)]
            place = os.path.join(ROOT, "python/ask_interpreter.py")
            with_gil, without = (self.execute([*ask_it, flag, place]).stdout.split()[0] for flag in "01")
            self.assertEqual(without, with_gil + "t")


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
