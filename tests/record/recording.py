"""What the tests of a recorder in trouble share: programs, folders, and what a run holds."""

import collections
import contextlib
import ctypes
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import places

BUILD = os.path.abspath(os.environ.get("STEPSCOPE_BUILD", "build/release"))
PATIENCE_S = 120
CLONE_NEWNS = 0x00020000
TOOLS = os.environ["PATH"] + ":/usr/sbin:/sbin"
MAKERS = {"ext4": ["mkfs.ext4", "-q", "-F"], "btrfs": ["mkfs.btrfs", "-q", "-f"],
          "xfs": ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"]}


def program(name):
    return os.path.join(BUILD, name)


def is_sanitized():
    """Address sanitizers need all of the address space, and to be loaded first."""
    with open(program("fault_writer"), "rb") as file:
        return b"__asan_init" in file.read()


def environment(run=None, **more):
    """That of the caller, with recording into `run` or without any."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STEPSCOPE_")}
    if run:
        env["STEPSCOPE_RUN"] = run
    env.update(more)
    return env


def info(run):
    """What `stepscope info --json` says of a run."""
    done = subprocess.run([program("stepscope"), "info", "--json", run], check=True,
                          stdout=subprocess.PIPE, timeout=PATIENCE_S, env=environment())
    return json.loads(done.stdout)


def records(run, kind):
    """All records of one kind, in time order."""
    done = subprocess.run([program("stepscope"), "dump", "--json", run], check=True,
                          stdout=subprocess.PIPE, timeout=PATIENCE_S, env=environment())
    start = f'{{"kind":"{kind}",'.encode()
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(start)]


def files(run):
    return sorted(glob.glob(os.path.join(run, "*.ssp")))


def stages(run):
    """Spans by stage: (in the file, counted as lost). Lost: dropped, or given up at the cap."""
    known = info(run)
    read = {stage: row["spans"] for stage, row in known["stages"].items()}
    lost = collections.Counter(known["lost"]["dropped_spans"])
    lost.update(known["lost"]["reused_spans"])
    return read, dict(lost)


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, on a disk, that everybody may enter."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-record-", dir=places.disk())
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.folder = folder.name
        self.run = self.path("run")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write_file(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def as_user(self, user, name):
        """How to run a program as another user: for Popen, and with a copy that they can read."""
        if os.geteuid() != 0:
            self.skipTest("only root may change its user")
        shutil.copy(program(name), self.path("program"))
        return {"program": self.path("program"), "user": user, "group": user,
                "extra_groups": []}

    def assert_no_file(self, run=None):
        self.assertEqual(files(run or self.run), [])


def not_tested(why):
    """Skips a test that this machine cannot run; tests/run_all repeats the line at its end."""
    print(f"\nNOT TESTED: {why}", flush=True)
    raise unittest.SkipTest(why)


@contextlib.contextmanager
def own_mounts():
    """What is mounted from here on is seen by this process and its children only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        not_tested("mounted file systems: " + os.strerror(ctypes.get_errno()))
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    yield


@contextlib.contextmanager
def mounted(path, *arguments):
    """Mounts with the arguments of mount(8)."""
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", *arguments, path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def make_file_system(kind, path):
    """In the file `path`, which has its size. CI installs the programs, so there none may be missing."""
    program_path = shutil.which(MAKERS[kind][0], path=TOOLS)
    if program_path:
        subprocess.run([program_path, *MAKERS[kind][1:], path], check=True,
                       stdout=subprocess.DEVNULL)
    elif os.environ.get("CI"):
        raise AssertionError(f"{MAKERS[kind][0]} is missing: tools/setup installs it")
    else:
        not_tested(f"{kind}: {MAKERS[kind][0]} is missing")


@contextlib.contextmanager
def image(kind, path, size):
    """A new file system in the file `path`, mounted by a loop device."""
    with open(path, "wb") as file:
        file.truncate(size)
    make_file_system(kind, path)
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(mounted(f"{path}-mounted", "-o", "loop", path))
        except subprocess.CalledProcessError:
            not_tested(f"{kind}: loop devices do not work here")
        yield folder
