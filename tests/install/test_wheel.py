"""Wheels (`make wheels`): installed by every way of installing, with all that the tool can do, for every CPython
of the machine whatever environment the wheel is in, in a bare system, and on ARM, which is emulated."""

import glob
import json
import os
import platform
import shutil
import subprocess
import tempfile
import unittest
import zipfile

BUILD = os.path.abspath(os.environ.get("STEPSCOPE_BUILD", "build/release"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHEELS = os.path.join(os.path.dirname(BUILD), "wheels")
VERSIONS = ("310", "311", "312", "313", "313t", "314", "314t", "315", "315t")
MOST_BYTES = 6 << 20
STEPS = 60
TRAINING = f"""
import stepscope
for _ in range({STEPS}):
    stepscope.step(samples=4)
    with stepscope.stage("data"):
        sum(range(2000))
assert stepscope.recording(), stepscope.status()
"""


def wheel_for(machine):
    path, = glob.glob(f"{WHEELS}/stepscope-*_{machine}.whl")
    return path


@unittest.skipUnless(os.environ.get("SOAK") == "1", "SOAK=1 builds wheels first")
class WheelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-wheel-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("STEPSCOPE_", "PYTHON"))}
        self.wheel = wheel_for(platform.machine())
        self.script = self.path("train.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(TRAINING)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def execute(self, *command, **more):
        done = subprocess.run(command, cwd=self.folder, env={**self.env, **more}, text=True, timeout=900,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}")
        return done.stdout

    def pythons(self):
        found = self.execute(os.path.join(ROOT, "tools/pythons")).split()
        self.assertTrue(found)
        return found

    def install(self, python, *options):
        """The command, in a new virtual environment."""
        place = tempfile.mkdtemp(dir=self.folder)
        self.execute(python, "-m", "venv", *options, place)
        self.execute(f"{place}/bin/python", "-m", "pip", "install", "--no-index", self.wheel)
        return f"{place}/bin/stepscope"

    def check(self, command, *python, **more):
        """That a command records a Python: steps, and what Python alone tells."""
        runs = tempfile.mkdtemp(dir=self.folder)
        self.execute(command, "run", "--quiet", "--dir", runs, "--", *python, self.script, **more)
        report = json.loads(self.execute(command, "report", "--json", f"{runs}/latest"))
        self.assertEqual(report["steps"]["count"], STEPS)
        return f"{runs}/latest"


class Content(WheelTest):
    def test_both_machines_have_all(self):
        for machine in ("x86_64", "aarch64"):
            path = wheel_for(machine)
            self.assertLess(os.path.getsize(path), MOST_BYTES)
            names = set(zipfile.ZipFile(path).namelist())
            for version in VERSIONS:
                for part in ("_core", "_report"):
                    self.assertIn(f"stepscope/{part}.cpython-{version}-{machine}-linux-gnu.so", names)
            self.assertTrue(any(name.endswith("data/share/man/man1/stepscope-run.1") for name in names))

    def test_metadata(self):
        wheel = zipfile.ZipFile(self.wheel)
        name, = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        text = wheel.read(name).decode()
        for line in ("License-Expression: Apache-2.0", "Requires-Python: >=3.10", "# Stepscope"):
            self.assertIn(line + "\n", text)


class Installed(WheelTest):
    def test_every_python_from_every_environment(self):
        pythons = self.pythons()
        for number, python in enumerate(pythons):
            with self.subTest(python=python):
                command = self.install(python)
                self.check(command, os.path.join(os.path.dirname(command), "python"))
                self.check(command, pythons[number - 1])  # which has no stepscope

    def test_a_copied_python(self):
        command = self.install(self.pythons()[0], "--copies")
        self.check(command, os.path.join(os.path.dirname(command), "python"))

    def test_user_and_target(self):
        python = self.pythons()[0]
        base, target = self.path("home"), self.path("target")
        self.execute(python, "-m", "pip", "install", "--no-index", "--user", "--ignore-installed",
                     self.wheel, PYTHONUSERBASE=base, PIP_BREAK_SYSTEM_PACKAGES="1")
        self.check(f"{base}/bin/stepscope", python, PYTHONUSERBASE=base)
        self.execute(python, "-m", "pip", "install", "--no-index", "--target", target, self.wheel)
        self.check(f"{target}/bin/stepscope", python)

    def test_uv(self):
        python, place = self.pythons()[0], self.path("venv")
        uv = os.path.join(WHEELS, "tools/bin/uv")
        self.execute(uv, "venv", "--offline", "--python", python, place)
        self.execute(uv, "pip", "install", "--offline", "--python", f"{place}/bin/python", self.wheel)
        self.check(f"{place}/bin/stepscope", f"{place}/bin/python")

    def test_every_feature(self):
        command = self.install(self.pythons()[0])
        board, page = self.path("board"), self.path("page.html")
        run = self.check(command, os.path.join(os.path.dirname(command), "python"))
        self.execute(command, "run", "--quiet", "--tensorboard", board, "--html", page, "--",
                     os.path.join(os.path.dirname(command), "python"), self.script)
        self.assertTrue(glob.glob(f"{board}/**/*tfevents*", recursive=True))
        with open(page, encoding="utf-8") as file:
            self.assertIn("uPlot", file.read())
        self.execute(command, "export", "perfetto", run, self.path("trace"))
        build, = (line for line in json.loads(self.execute(command, "doctor", "--json"))["checks"]
                  if line["group"] == "build")
        self.assertEqual(build["state"], "ok")


@unittest.skipUnless(os.geteuid() == 0, "only root can make a bare system")
class Bare(WheelTest):
    def test_no_compiler_and_nothing_but_python(self):
        for suite in ("bookworm", "trixie", "forky"):
            with self.subTest(suite=suite):
                system = self.path(suite)
                script = "/usr/share/debootstrap/scripts/sid"  # the same for all, also for new ones
                self.execute("debootstrap", "--variant=minbase", "--include=python3,python3-venv", suite,
                             system, os.environ.get("STEPSCOPE_MIRROR", "http://deb.debian.org/debian"),
                             script)
                shutil.copy(self.wheel, system)
                shutil.copy(self.script, system)
                command = ("python3 -m venv /v && /v/bin/pip install --no-index /*.whl"
                           " && mount -t proc proc /proc"
                           " && ! command -v cc && /v/bin/stepscope run --dir /r -- python3 /train.py"
                           " && /v/bin/stepscope report --json /r/latest > /report.json")
                self.execute("unshare", "--mount", "--pid", "--fork", "chroot", system, "sh", "-c",
                             command)
                with open(f"{system}/report.json", encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["steps"]["count"], STEPS)


if __name__ == "__main__":
    unittest.main()
