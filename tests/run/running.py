"""What the tests of `stepscope run` share: a directory to run in, the command in pipes, the command
in a terminal of its own."""

import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.path.join(BUILD, "stepscope")
TRAINER = os.path.join(BUILD, "steered_trainer")
PYTHON = sys.executable
PATIENCE_S = 60


def environment(**more):
    """That of the caller, without anything that would lead a run elsewhere."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("STEPSCOPE_")}
    env["PYTHONUNBUFFERED"] = "1"
    env.update(more)
    return env


def read_until(fd, end, seen=b""):
    """All bytes from `fd`, up to and with `end`."""
    late = time.monotonic() + PATIENCE_S
    while end not in seen:
        if not select.select([fd], [], [], max(0, late - time.monotonic()))[0]:
            raise AssertionError(f"{end!r} did not come, only {seen!r}")
        try:
            more = os.read(fd, 65536)
        except OSError:  # a terminal without a process
            more = b""
        if not more:
            raise AssertionError(f"the end came before {end!r}: {seen!r}")
        seen += more
    return seen


def state_of(pid):
    """The letter that /proc has for the state of a process, "" if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(pid):
    """Neither gone nor a zombie."""
    return state_of(pid) not in ("", "Z", "X")


def wait_until(condition, what):
    """For what can only be looked at from outside."""
    late = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > late:
            raise AssertionError(f"never: {what}")
        time.sleep(0.005)


def children_of(pid):
    """Of all its threads; [] if it is gone."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def steps_in(summary):
    """How many steps a summary says that there were."""
    found = re.search(r": ([\d,]+) steps?, ", summary)
    return int(found.group(1).replace(",", "")) if found else None


class Piped:
    """`stepscope run` with pipes for standard input, output and error."""

    def __init__(self, arguments, cwd, env=None, **options):
        self.process = subprocess.Popen(
            [PROGRAM, "run", *arguments], cwd=cwd, env=env or environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.pid = self.process.pid
        self.seen = b""

    def expect(self, marker):
        """Waits for a marker on standard output; returns what came up to it."""
        self.seen = read_until(self.process.stdout.fileno(), marker, self.seen)
        before, _, self.seen = self.seen.partition(marker)
        return before

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def finish(self):
        """(exit code, rest of standard output, standard error)"""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self.seen + out, err.decode()


class Terminal:
    """A command as the foreground job of a terminal.

    Without the search for leaks that AddressSanitizer makes at the exit: its thread is in the job's
    process group, and where a key of the terminal kills that thread, the job waits for it for ever."""

    def __init__(self, arguments, cwd, env=None):
        env = dict(env or environment())
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.master, slave = os.openpty()
        self.event_fd, events = os.pipe()
        orders, self.order_fd = os.pipe()

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.shell = subprocess.Popen(
            [PYTHON, os.path.join(HERE, "job_shell.py"), str(events), str(orders), *arguments],
            cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=take_terminal, pass_fds=(events, orders))
        for fd in (slave, events, orders):
            os.close(fd)
        self.seen = b""
        self.events = b""

    def expect(self, marker):
        self.seen = read_until(self.master, marker, self.seen)
        before, _, self.seen = self.seen.partition(marker)
        return before

    def press(self, keys):
        os.write(self.master, keys)

    def event(self):
        """The next change of the job: "stopped 20", "exited 0", ..."""
        self.events = read_until(self.event_fd, b"\n", self.events)
        line, _, self.events = self.events.partition(b"\n")
        return line.decode()

    def go_on(self):
        os.write(self.order_fd, b"fg\n")

    def rest(self):
        """What the terminal still shows, once no process has it."""
        while True:
            try:
                more = os.read(self.master, 65536)
            except OSError:
                break
            if not more:
                break
            self.seen += more
        return self.seen

    def close(self):
        # A job in the background gets no SIGHUP. Once the shell has gone, the job cannot be found any more.
        groups = *children_of(self.shell.pid), self.shell.pid
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
        for fd in (self.event_fd, self.order_fd):
            os.close(fd)
        for group in groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.shell.wait()


def is_sanitized():
    with open(PROGRAM, "rb") as file:
        return b"__asan_init" in file.read()


def kill(pid):
    """A process that may have ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class RunTest(unittest.TestCase):
    """A test with an empty directory, in which the command runs."""

    maxDiff = None

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="stepscope-run-"))
        self.addCleanup(wait_until, self.folder_is_removed, "a folder that is no longer written to")
        os.chmod(self.folder, 0o755)

    def folder_is_removed(self):
        """A supervisor that a test does not wait for may still be at its last files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.exists(self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def run_it(self, *arguments, **options):
        """Runs to the end; bytes come back."""
        options.setdefault("env", environment())
        options.setdefault("cwd", self.folder)
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        return subprocess.run([PROGRAM, "run", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False, **options)

    def start(self, *arguments, **options):
        options.setdefault("cwd", self.folder)
        piped = Piped(arguments, **options)
        self.addCleanup(self.stop, piped)
        return piped

    @staticmethod
    def stop(piped):
        piped.process.kill()
        piped.process.wait()
        for file in (piped.process.stdin, piped.process.stdout, piped.process.stderr):
            try:
                file.close()
            except BrokenPipeError:
                pass

    def terminal(self, *arguments, **options):
        terminal = Terminal([PROGRAM, "run", *arguments], self.folder, **options)
        self.addCleanup(terminal.close)
        return terminal

    def command_of(self, pid):
        """The command that a supervisor has started, as the run directory says."""
        wait_until(lambda: "pid" in self.facts("outcome"), f"a command of {pid}")
        return int(self.facts("outcome")["pid"])

    def runs(self, parent="stepscope-runs"):
        """Names of the run directories."""
        if not os.path.isdir(self.path(parent)):
            return []
        return sorted(name for name in os.listdir(self.path(parent))
                      if name not in ("latest", ".gitignore"))

    def facts(self, file, run="stepscope-runs/latest"):
        """Keys and values of a text file of the run; {} if it is not there."""
        try:
            with open(self.path(run, file), encoding="utf-8") as lines:
                return dict(line.rstrip("\n").split(": ", 1) for line in lines)
        except FileNotFoundError:
            return {}

    def stepscope(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                              check=False, text=True)

    def info(self, run="stepscope-runs/latest"):
        done = self.stepscope("info", "--json", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
