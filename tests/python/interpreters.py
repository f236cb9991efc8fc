"""What the tests of the Python layer share: the interpreters that there is an extension for, scripts
run by them, with and without `stepscope run`, and what was recorded."""

import fcntl
import functools
import glob
import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.environ.get("STEPSCOPE_BIN", os.path.join(BUILD, "stepscope"))
PACKAGES = os.path.join(BUILD, "python")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 600
TOOLS = ("coverage", "debugpy", "ipython", "pytest")


def ask(python, expression, *options):
    """What an interpreter says to an expression."""
    done = subprocess.run([python, *options, "-c", f"import sys, _imp; print({expression})"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def find_all():
    """Paths of all interpreters of the machine for which the built package has an extension, or of those
    that STEPSCOPE_PYTHONS names."""
    named = os.environ.get("STEPSCOPE_PYTHONS")
    if named:
        return named.split(":")
    listed = subprocess.run([os.path.join(ROOT, "tools/pythons")], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.split()
    return [path for path in listed
            if any(os.path.exists(f"{PACKAGES}/stepscope/_core{suffix}")
                   for suffix in ask(path, "*_imp.extension_suffixes()", "-I", "-S").split())]


INTERPRETERS = find_all()
SOAK = os.environ.get("SOAK") == "1"


def is_extra(python):
    """Got for these tests (make pythons, make free-threaded-pythons): all files run with it in make soak, else
    those that say so."""
    return os.path.realpath(python).startswith(os.path.join(ROOT, "build/pythons"))


# The last one that is the machine's own.
NEWEST = ([python for python in INTERPRETERS if not is_extra(python)] or INTERPRETERS or [None])[-1]


@functools.lru_cache(None)
def ready_tools():
    """The Python of a virtual environment with TOOLS, made once a build from NEWEST;
    None where packages cannot be installed. STEPSCOPE_TOOLS_PYTHON may name one that is ready."""
    named = os.environ.get("STEPSCOPE_TOOLS_PYTHON")
    if named or not INTERPRETERS:
        return named
    place = os.path.join(BUILD, "tools")
    python, done = os.path.join(place, "bin/python"), os.path.join(place, "done")
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test files run beside each other
        if not os.path.exists(done):
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment()}
            make = [NEWEST, "-m", "venv", "--clear", place]
            fill = [python, "-m", "pip", "install", "--retries", "1", *TOOLS]
            if any(subprocess.run(command, check=False, **quiet).returncode for command in (make, fill)):
                return None
            with open(done, "w", encoding="ascii"):
                pass
    return python


def environment(**more):
    """That of the caller, without anything that would lead Python or a run elsewhere."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("STEPSCOPE_", "PYTHON"))}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env.update(more)
    return env


class PythonTest(unittest.TestCase):
    """A test with an empty directory, in which scripts run."""

    maxDiff = None
    with_extra = SOAK or "STEPSCOPE_PYTHONS" in os.environ

    def setUp(self):
        if not INTERPRETERS:
            self.skipTest("no extension was built")
        folder = tempfile.TemporaryDirectory(prefix="stepscope-python-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def each(self):
        """Every interpreter, as a subtest with a fresh place for runs."""
        for number, python in enumerate(INTERPRETERS):
            if is_extra(python) and not self.with_extra:
                continue
            self.runs = self.path(f"runs-{number}")
            with self.subTest(python=python):
                yield python

    def execute(self, command, expect=0, **options):
        """Runs a command to its end; texts come back."""
        options.setdefault("env", environment())
        options.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False,
                              **options)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def python(self, python, script, *options, expect=0, **more):
        """Runs a script with the package on its path, without the command."""
        env = environment(PYTHONPATH=PACKAGES, STEPSCOPE_DIR=self.runs, **more)
        return self.execute([python, *options, self.write("script.py", script)], expect, env=env)

    def run_it(self, *command, expect=0, **more):
        """Runs a command under `stepscope run`."""
        return self.execute([PROGRAM, "run", "--dir", self.runs, *command], expect,
                            env=environment(**more))

    def hooked(self, python, script, *options, **more):
        """Runs a script under `stepscope run`."""
        return self.run_it(python, *options, self.write("script.py", script), **more)

    def files(self):
        """Process files of the newest run."""
        return glob.glob(f"{self.runs}/latest/p-*.ssp")

    def report(self):
        """The report of the newest run."""
        done = self.execute([PROGRAM, "report", "--json", f"{self.runs}/latest"])
        return json.loads(done.stdout)

    def spans(self):
        """Counts by name, of the newest run; without pauses of the garbage collector."""
        counts = {}
        for span in self.report()["spans"]:
            if span["stage"] == "gc":
                continue
            counts[span["name"]] = counts.get(span["name"], 0) + span["count"]
        return counts

    def depths(self):
        """How many spans were open around those of a name, of the newest run."""
        done = self.execute([PROGRAM, "dump", "--json", f"{self.runs}/latest"])
        records = [json.loads(line) for line in done.stdout.splitlines()]
        found = {}
        for record in records:
            if record["kind"] == "span" and not record["name"].startswith("gc "):
                found.setdefault(record["name"], set()).add(record["depth"])
        return found
