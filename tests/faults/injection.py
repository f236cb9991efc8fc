"""Calls into the C library that fail: one call a run, each in its turn (tests/helpers/fail_once.c).

A test runs its program once to learn which calls it makes, then again for each of them. With SOAK=1
these are all, up to PLACES_MOST of one function, else a sample of them.
"""

import collections
import concurrent.futures
import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = os.path.abspath(os.environ.get("STEPSCOPE_BUILD", "build/release"))
PROGRAM = os.path.join(BUILD, "stepscope")
SHIM = os.path.join(BUILD, "fail_once.so")
SOAK = bool(os.environ.get("SOAK"))
PLACES_MOST = 400
SAMPLE = 40  # cases of one command without SOAK
PATIENCE_S = 60
WORKERS = 3  # most of a case is waiting for the disk

SHORT = 0  # no error, but one byte instead of all
ERRORS = {
    "memory": (errno.ENOMEM,), "mmap": (errno.ENOMEM,), "mmap64": (errno.ENOMEM,),
    "read": (errno.EIO, errno.EINTR, SHORT), "pread64": (errno.EIO, SHORT),
    "write": (errno.ENOSPC, errno.EINTR, SHORT), "pwrite64": (errno.ENOSPC, SHORT),
    "open": (errno.EMFILE, errno.EACCES), "open64": (errno.EMFILE, errno.EACCES),
    "openat": (errno.EMFILE, errno.EACCES), "openat64": (errno.EMFILE, errno.EACCES),
    "fopen64": (errno.EMFILE,), "opendir": (errno.EMFILE,), "mkdir": (errno.EACCES, errno.ENOSPC),
    "fallocate64": (errno.ENOSPC, errno.EOPNOTSUPP), "ftruncate64": (errno.ENOSPC,),
    "fork": (errno.EAGAIN,), "pthread_create": (errno.EAGAIN,), "posix_spawn": (errno.EAGAIN,),
    "waitpid": (errno.EINTR,), "wait4": (errno.EINTR,), "waitid": (errno.EINTR,),
    "poll": (errno.EINTR,), "recv": (errno.EINTR,), "recvmsg": (errno.EINTR,),
    "send": (errno.EINTR, errno.ECONNREFUSED), "sendmsg": (errno.EAGAIN, errno.ECONNREFUSED),
    "syscall": (errno.ENOSYS, errno.EINTR), "prctl": (errno.EPERM,), "madvise": (errno.ENOMEM,),
    "memfd_create": (errno.ENOSYS,), "stat64": (errno.EACCES,), "fstatat64": (errno.EACCES,),
    "rename": (errno.EACCES,), "renameat2": (errno.EINVAL,), "setenv": (errno.ENOMEM,),
}

Case = collections.namedtuple("Case", "call at error")
Outcome = collections.namedtuple("Outcome", "code out err files")


def environment(**more):
    env = {key: value for key, value in os.environ.items() if not key.startswith("STEPSCOPE_")}
    return {**env, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "TZ": "UTC", **more}


def contents(folder):
    """All files below a folder, with their bytes."""
    found = {}
    for path, _, files in os.walk(folder):
        for name in files:
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, folder)] = file.read()
    return found


class Injection:
    """A command in a folder of its own: `prepare(folder)` fills it, `words` are run in it, and the calls
    of `victim` fail. `look(folder)` says what became of it."""

    def __init__(self, words, prepare, look=contents, victim="stepscope"):
        self.words, self.prepare, self.look, self.victim = words, prepare, look, victim
        self.left_out = ()  # calls that do not fail

    def run(self, **more):
        folder = tempfile.mkdtemp(prefix="stepscope-faults-")
        try:
            self.prepare(folder)
            env = environment(LD_PRELOAD=SHIM, FAIL_PROGRAM=self.victim, **more)
            process = subprocess.Popen(self.words, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True)
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return Outcome("hang", b"", b"", {})
            return Outcome(process.returncode, out, err, self.look(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def calls(self):
        """How often each function is called when all goes well."""
        with tempfile.NamedTemporaryFile(prefix="stepscope-calls-") as log:
            self.run(FAIL_LOG=log.name)
            return collections.Counter(log.read().decode().split())

    def cases(self):
        found = []
        for call, count in sorted(self.calls().items()):
            if call in self.left_out:
                continue
            step = max(1, -(-count // PLACES_MOST))
            found += [Case(call, at, error) for at in range(1, count + 1, step)
                      for error in ERRORS.get(call, (errno.EIO,))]
        if SOAK:
            return found
        step = max(1, len(found) // SAMPLE)
        # Another part each day, so that days add up.
        return found[int(time.time() / 86400) % step::step]

    def fail(self, case):
        return self.run(FAIL_CALL=case.call, FAIL_AT=str(case.at), FAIL_ERROR=str(case.error))


class InjectionTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with open(PROGRAM, "rb") as file:
            if b"__asan_init" in file.read():
                raise unittest.SkipTest("a sanitizer has an allocator of its own")

    def check(self, injection, judge, is_steady=True):
        """`judge(outcome, undisturbed)` returns what is wrong, or None."""
        undisturbed = injection.run()
        if is_steady:
            self.assertEqual(undisturbed, injection.run(), "not the same each time")
        cases = injection.cases()
        wrong = []
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for case, outcome in zip(cases, pool.map(injection.fail, cases)):
                reason = judge(outcome, undisturbed)
                if reason:
                    name = errno.errorcode.get(case.error, "one byte")
                    wrong.append(f"{case.call} {case.at} {name}: {reason}")
        print(f"\n{' '.join(injection.words[1:])}: {len(cases)} calls failed, {len(wrong)} wrong",
              flush=True)
        self.assertEqual(wrong, [])
