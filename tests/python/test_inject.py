"""Every Python below `stepscope run` is prepared before its script, and sees nothing of it."""

import os
import shutil
import unittest

from interpreters import INTERPRETERS, PACKAGES, PythonTest, ask, environment

BOOT = os.path.join(PACKAGES, "stepscope", "_boot")

# What a process shows of us: the finder of frameworks.
HERE = "any(type(f).__module__ == 'stepscope._inject' for f in __import__('sys').meta_path)"
SHOW = f"print({HERE})"


class Loading(PythonTest):
    def check(self, *command, lines=1, **more):
        done = self.run_it(*command, **more)
        self.assertEqual(done.stdout.split(), ["True"] * lines, done.stderr)

    def test_script_module_and_command(self):
        self.write("part.py", SHOW)
        for python in self.each():
            self.check(python, self.path("part.py"))
            self.check(python, "-m", "part")
            self.check(python, "-c", SHOW)
            self.check(python, "-s", "-c", SHOW)

    def test_children_of_all_kinds(self):
        script = f"""
import multiprocessing, os, subprocess, sys
def show():
    print({HERE}, flush=True)
if __name__ == "__main__":
    for kind in ("fork", "spawn", "forkserver"):
        child = multiprocessing.get_context(kind).Process(target=show)
        child.start()
        child.join()
    subprocess.run([sys.executable, "-c", {SHOW!r}], check=True)
    os.system(sys.executable + ' -c "' + {SHOW!r} + '"')
    os.execv(sys.executable, [sys.executable, "-c", {SHOW!r}])
"""
        for python in self.each():
            self.check(python, self.write("script.py", script), lines=6)

    def test_virtual_environment(self):
        for python in self.each():
            shutil.rmtree(self.path("venv"), ignore_errors=True)
            self.execute([python, "-m", "venv", "--without-pip", self.path("venv")])
            self.check(self.path("venv/bin/python"), "-c", SHOW)


class Unseen(PythonTest):
    def test_the_script_finds_its_interpreter_as_without(self):
        script = ("import sys\nprint(sys.path, sorted(sys.modules.keys() - {'stepscope._inject'}), "
                  "sys.argv, __name__)")
        for python in self.each():
            plain = self.execute([python, self.write("script.py", script)])
            hooked = self.hooked(python, script)
            self.assertEqual(hooked.stdout, plain.stdout)

    def test_nothing_is_written_before_the_first_event(self):
        for python in self.each():
            done = self.hooked(python, "import stepscope\nwith open('seen', 'w'): pass")
            self.assertEqual(self.files(), [])
            self.assertIn("nothing was recorded", done.stderr)

    def test_development_mode_with_all_warnings_errors_says_nothing(self):
        script = """
import gc, json, stepscope, sys, threading

@stepscope.timed
def work():
    with stepscope.span("inner"), stepscope.stage("data"):
        stepscope.counter("loss", 0.5)
        stepscope.mark("seen", "text")

stepscope.plan(steps=20, batch=4)
with stepscope.loop(), stepscope.epoch(1):
    for _ in range(20):
        stepscope.step(samples=4)
        work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
gc.collect()
assert stepscope.load()["schema"]
assert stepscope.recording() and stepscope.directory() and stepscope.status()
"""
        for python in self.each():
            path = self.write("script.py", script)
            for options in (("-X", "dev"), ("-X", "dev", "-W", "error"), ("-bb", "-W", "error")):
                done = self.run_it("-q", python, *options, path)
                self.assertEqual((done.stdout, done.stderr), ("", ""), options)

    def test_disabled(self):
        for python in self.each():
            done = self.hooked(python, SHOW, STEPSCOPE_DISABLE="1")
            self.assertEqual(done.stdout, "False\n")

    def test_outside_of_a_run_nothing_happens(self):
        for python in self.each():
            done = self.execute([python, "-c", SHOW], env=environment(PYTHONPATH=BOOT))
            self.assertEqual(done.stdout, "False\n")

    def test_the_package_can_be_imported_though_it_is_not_installed(self):
        for python in self.each():
            self.hooked(python, "import stepscope\nfor _ in range(5):\n    stepscope.step()")
            self.assertEqual(len(self.files()), 1)


class Chain(PythonTest):
    def test_a_hidden_sitecustomize_runs(self):
        self.write("other/sitecustomize.py", "import sys\nsys.other_ran = getattr(sys, 'other_ran', 0) + 1")
        script = f"import sys, sitecustomize\nprint({HERE}, sys.other_ran, sitecustomize.__file__)"
        for python in self.each():
            done = self.hooked(python, script, PYTHONPATH=self.path("other"))
            self.assertEqual(done.stdout.split(), ["True", "1", self.path("other/sitecustomize.py")])

    def test_one_that_chains_too_in_both_orders(self):
        other = self.write("other/sitecustomize.py", """
import sys
here = __file__.rpartition("/")[0]
sys.other_ran = getattr(sys, "other_ran", 0) + 1
sys.path.remove(here)
del sys.modules["sitecustomize"]
try:
    import sitecustomize
except ImportError:
    pass
finally:
    sys.path.append(here)
""")
        other = os.path.dirname(other)
        script = f"import sys\nprint({HERE}, sys.other_ran)"
        for python in self.each():
            done = self.hooked(python, script, PYTHONPATH=other)
            self.assertEqual(done.stdout, "True 1\n")
            done = self.hooked(python, script, PYTHONPATH=f"{other}:{BOOT}")
            self.assertEqual(done.stdout, "True 1\n")

    def test_one_that_leads_back_to_us_ends(self):
        self.write("other/sitecustomize.py", f"""
import sys
sys.path.insert(0, {BOOT!r})
sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError:
    pass
""")
        for python in self.each():
            done = self.run_it("-q", python, "-c", SHOW, PYTHONPATH=self.path("other"))
            self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_one_that_fails_is_reported_as_without_us(self):
        self.write("other/sitecustomize.py", "1 / 0")
        for python in self.each():
            env = environment(PYTHONPATH=self.path("other"))
            plain = self.execute([python, "-c", SHOW], env=env)
            hooked = self.run_it("-q", python, "-c", SHOW, PYTHONPATH=self.path("other"))
            self.assertIn("ZeroDivisionError", plain.stderr)
            self.assertEqual((hooked.stdout, hooked.stderr), ("True\n", plain.stderr))


class NotHooked(PythonTest):
    def check(self, *command, says):
        self.runs = self.path("runs")
        done = self.run_it(*command)
        self.assertEqual(done.stdout.strip(), "False", done.stderr)
        self.assertIn(says, done.stderr)

    def test_options_that_keep_us_out_are_said(self):
        python = INTERPRETERS[0]
        for option in ("-I", "-E", "-S", "-sE"):
            with self.subTest(option=option):
                self.check(python, option, "-c", SHOW, says=f"with -{option[-1]}")
        self.check(python, "-W", "ignore", "-I", "-c", SHOW, says="with -I")
        self.check("env", "-i", python, "-c", SHOW, says="env -i disables hooks")

    def test_an_old_interpreter_is_said_and_left_alone(self):
        old = [path for path in old_interpreters() if path not in INTERPRETERS]
        if not old:
            self.skipTest("no old interpreter on this machine")
        for python in old:
            self.runs = self.path("runs-" + python.replace("/", "-"))
            with self.subTest(python=python):
                done = self.run_it(python, "-c", "import sys; print(1)")
                self.assertEqual(done.stdout, "1\n")
                self.assertRegex(done.stderr, r"^stepscope: .*: took .*\nno-steps: nothing was recorded\n"
                                              r"Hooks     none: Python \d\.\d+ is")
                self.assertLessEqual(done.stderr.count("\n"), 15)

    def test_an_extension_that_does_not_load_is_said_with_what_to_do(self):
        package = self.path("broken/stepscope")
        shutil.copytree(os.path.join(PACKAGES, "stepscope"), package,
                        ignore=shutil.ignore_patterns("*.so.p"))
        for name in os.listdir(package):
            if name.endswith(".so"):
                with open(os.path.join(package, name), "wb") as file:
                    file.write(b"not an extension")
        script = "import stepscope\nstepscope.step()\nprint(stepscope.status())"
        for python in self.each():
            done = self.hooked(python, script, PYTHONPATH=self.path("broken"))
            self.assertIn("off: ", done.stdout)
            self.assertRegex(done.stderr, r"(?m)^Hooks     none: Python 3\.\d+ does not load the "
                                          r"extension: install stepscope again")
            self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80)

    def test_one_that_is_hooked_does_not_hide_one_that_is_not(self):
        package = self.path("broken/stepscope")
        shutil.copytree(os.path.join(PACKAGES, "stepscope"), package,
                        ignore=shutil.ignore_patterns("*.so", "*.so.p", "__pycache__"))
        for python in self.each():
            suffix = ask(python, "_imp.extension_suffixes()[0]")
            with open(os.path.join(package, "_core" + suffix), "wb") as file:
                file.write(b"not an extension")
            inner = "import os, sys; sys.path.insert(0, %r); import stepscope" % self.path("broken")
            script = ("import stepscope, subprocess, sys\nstepscope.counter('seen', 1)\n"
                      "subprocess.run([sys.executable, '-c', %r], check=True)" % inner)
            done = self.hooked(python, script)
            self.assertRegex(done.stderr, r"Hooks     \d installed, 0 skipped\n(          .*\n)*"
                                          r"          Python 3\.\d+ does not load the extension")

    def test_no_extension_for_the_interpreter(self):
        package = self.path("package/stepscope")
        shutil.copytree(os.path.join(PACKAGES, "stepscope"), package,
                        ignore=shutil.ignore_patterns("*.so", "*.so.p"))
        for python in self.each():
            run = self.path("run-" + python.replace("/", "-"))
            os.mkdir(run)
            env = environment(PYTHONPATH=os.path.join(package, "_boot"), STEPSCOPE_RUN=run)
            done = self.execute([python, "-c", "import stepscope; stepscope.step(); " + SHOW], env=env)
            self.assertEqual((done.stdout, done.stderr), ("False\n", ""))
            said, = os.listdir(run)
            with open(os.path.join(run, said), encoding="utf-8") as file:
                self.assertRegex(file.read(), "^unhooked: Python .* has no stepscope extension")


def old_interpreters():
    """Pythons before 3.10, as pyenv has them."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = []
    for version in sorted(os.listdir(root + "/versions")) if os.path.isdir(root + "/versions") else []:
        path = f"{root}/versions/{version}/bin/python"
        if version.startswith(("2.", "3.6", "3.7", "3.8", "3.9")) and os.path.exists(path):
            found.append(path)
    return found


class Frameworks(PythonTest):
    """With a copy of the package that has an adapter for a framework of ours."""

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(PACKAGES, "stepscope"), self.path("package/stepscope"),
                        symlinks=True, ignore=shutil.ignore_patterns("*.so.p", "__pycache__"))
        self.write("package/stepscope/adapters/toyframe.py", "NAME = 'toyframe'")
        self.write("package/stepscope/_hooks.py", "import sys\n\ndef install(adapter):\n"
                   "    print('hooked', adapter.NAME, hasattr(sys.modules['toyframe'], 'ready'))\n")
        self.write("toyframe.py", "ready = 1")
        self.write("badframe.py", "raise OSError('no such device')")
        self.write("package/stepscope/adapters/badframe.py", "NAME = 'badframe'")

    def boot(self, python, script, *options, run=True):
        env = environment(PYTHONPATH=self.path("package/stepscope/_boot"))
        if run:
            env["STEPSCOPE_RUN"] = self.path("run")
        return self.execute([python, *options, self.write("script.py", script)], env=env)

    def test_hooked_when_imported_and_never_before(self):
        for python in self.each():
            done = self.boot(python, "import sys\nprint('toyframe' in sys.modules)\n"
                             "import toyframe\nprint(type(toyframe.__loader__).__name__, "
                             "toyframe.__spec__.loader is toyframe.__loader__)")
            self.assertEqual(done.stdout, "False\nhooked toyframe True\nSourceFileLoader True\n")

    def test_its_loader_can_be_copied_and_pickled(self):
        script = """
import copy, importlib.util, pickle
loader = importlib.util.find_spec("toyframe").loader
for same in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
    print(type(same).__name__, same.path == loader.path)
"""
        for python in self.each():
            self.assertEqual(self.boot(python, script).stdout, "SourceFileLoader True\n" * 3)

    def test_a_part_is_hooked_when_it_is_imported(self):
        self.write("package/stepscope/adapters/toyframe.py", "LATER = ('toyframe_part',)")
        self.write("package/stepscope/_hooks.py", "def install(adapter, part='all'):\n"
                   "    print('hooked', part)\n")
        self.write("toyframe_part.py", "")
        for python in self.each():
            done = self.boot(python, "import toyframe\nprint('now')\nimport toyframe_part")
            self.assertEqual(done.stdout, "hooked all\nnow\nhooked toyframe_part\n")

    def test_one_that_fails_to_import_has_its_own_traceback(self):
        script = "import traceback\ntry:\n    import badframe\nexcept OSError:\n    traceback.print_exc()"
        for python in self.each():
            plain = self.boot(python, script, run=False)
            hooked = self.boot(python, script)
            self.assertIn("no such device", plain.stderr)
            self.assertEqual(hooked.stderr, plain.stderr)

    def test_hooks_that_fail_are_not_the_scripts_trouble(self):
        self.write("package/stepscope/_hooks.py", "raise RuntimeError('ours')")
        for python in self.each():
            done = self.boot(python, "import toyframe\nprint(toyframe.ready)", "-W", "error")
            self.assertEqual((done.stdout, done.stderr), ("1\n", ""))


if __name__ == "__main__":
    unittest.main()
