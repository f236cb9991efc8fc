"""Wheels (`make wheels`): installed by every way of installing, with all that the tool can do, for every CPython
of the machine whatever environment the wheel is in, in a bare system, and on ARM, which is emulated."""

import glob
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile

from bare import USER, BareTest

BUILD = os.path.abspath(os.environ.get("STEPSCOPE_BUILD", "build/release"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHEELS = os.path.join(os.path.dirname(BUILD), "wheels")
VERSIONS = ("310", "311", "312", "313", "313t", "314", "314t", "315", "315t")
MOST_BYTES = 6 << 20
MORE_PYTHONS = {"forky": "python3.13 python3.15"}  # than the one of the suite
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


# Every way of installing, and that the command of each records all interpreters of the system.
BARE = f"""
set -e
if command -v cc; then exit 1; fi
cd /wheel
check() {{
    for python in "$2" /usr/bin/python3.1[0-9]; do
        rm -rf "$HOME/runs"
        "$1" run --quiet --dir "$HOME/runs" -- "$python" train.py
        "$1" report --json "$HOME/runs/latest" | grep -q '"count": *{STEPS}\\b'
        echo "recorded: $1 $python"
    done
}}
pip="python3 $(echo /usr/share/python-wheels/pip-*.whl)/pip"
export PIP_NO_INDEX=1 PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
python3 -m venv "$HOME/venv"
python3 - <<'END'
import os, subprocess, time
begin = time.monotonic()
subprocess.run('"$HOME/venv/bin/pip" install -q *.whl', shell=True, check=True)
cpu = os.times()
print("installed in %.1f s, %.1f s of the processor" % (time.monotonic() - begin, sum(cpu[2:4])))
END
check "$HOME/venv/bin/stepscope" "$HOME/venv/bin/python"
python3 -m venv --copies "$HOME/copied"
"$HOME/copied/bin/pip" install -q *.whl
check "$HOME/copied/bin/stepscope" "$HOME/copied/bin/python"
$pip install -q --user *.whl
check "$HOME/.local/bin/stepscope" python3
$pip install -q --target "$HOME/target" *.whl
check "$HOME/target/bin/stepscope" python3
./uv venv -q --offline --python python3 "$HOME/uv"
./uv pip install -q --offline --python "$HOME/uv/bin/python" *.whl
check "$HOME/uv/bin/stepscope" "$HOME/uv/bin/python"

command=$HOME/venv/bin/stepscope
"$command" run --quiet --dir "$HOME/runs" --tensorboard "$HOME/board" --html "$HOME/page.html" -- python3 train.py
ls "$HOME"/board/*/*tfevents* "$HOME"/board/*tfevents* 2>/dev/null | grep -q .
grep -q uPlot "$HOME/page.html"
"$command" export perfetto "$HOME/runs/latest" "$HOME/trace"
"$command" doctor | grep -q 'all are built in'
echo complete
"""


class Bare(BareTest):
    """Root and another user, without a compiler, with all Pythons of the system."""

    def test_every_way_of_installing(self):
        self.check_each(self.check)

    def check(self, system, suite):
        more = MORE_PYTHONS.get(suite, "python3")
        system.run(f"apt-get -qq update; apt-get -qq install -y --no-install-recommends {more}")
        os.makedirs(system.path("wheel"))
        for path in (wheel_for(platform.machine()), os.path.join(WHEELS, "tools/bin/uv")):
            shutil.copy(path, system.path("wheel"))
        with open(system.path("wheel/train.py"), "w", encoding="utf-8") as file:
            file.write(TRAINING)
        for user in (0, USER):
            said = system.run(BARE, user)
            self.assertIn("complete\n", said)
            # Five ways, each with its own Python and those of the system.
            self.assertEqual(said.count("recorded: "), 5 * (2 + more.count("python3.")), said)
            print(f"\n{suite}, user {user}: {re.search('installed in .*', said)[0]}")


if __name__ == "__main__":
    unittest.main()
