"""What the tests of the command line share: the program, and runs made byte by byte."""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "format"))

import builder  # noqa: E402 (tests/format/builder.py packs process files)

PROGRAM = os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope")
NOBODY = 65534
FILE = "p-100-77-00000000000000aa.ssp"
FINE, CHECK_FAILED, USAGE, DATA = 0, 1, 2, 3


@functools.cache
def for_other_users(program):
    """A copy that other users may run, wherever the build is."""
    folder = tempfile.mkdtemp(prefix="stepscope-program-")
    atexit.register(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    return shutil.copy(program, folder)


def stepscope(*arguments, program=PROGRAM, **options):
    """Runs the program; what it prints comes back as text, so it must be UTF-8."""
    if "user" in options:
        program = for_other_users(program)
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([program, *map(os.fspath, arguments)], stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=120, check=False, encoding="utf-8",
                          **options)


def loaded(helper, **variables):
    """An environment with a library of tests/helpers in front of all others."""
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return {**os.environ, "LD_PRELOAD": os.path.join(os.path.dirname(PROGRAM), helper + ".so"),
            "ASAN_OPTIONS": sanitizer, **variables}


class CommandTest(unittest.TestCase):
    """A test with a directory of its own, in which the program runs."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make_run(self, name="run", **files):
        """Writes a run; files by name without the suffix, each bytes or a ProcessFile."""
        os.mkdir(self.path(name))
        for file, content in files.items():
            data = content if isinstance(content, bytes) else content.bytes()
            with open(self.path(name, file + ".ssp"), "wb") as out:
                out.write(data)
        return name

    def stepscope(self, *arguments, **options):
        return stepscope(*arguments, cwd=self.folder, **options)

    def check(self, arguments, code, stdout=None, stderr=None, **options):
        """Runs and compares; a None is not looked at."""
        done = self.stepscope(*arguments, **options)
        if stdout is not None:
            self.assertEqual(done.stdout, stdout)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        self.assertEqual(done.returncode, code, done.stderr)
        return done
