"""Bare systems for tests: a Debian with Python and no compiler (tools/debian-root), into which a test writes
without changing it. Needs root, as all that makes a system does; what runs in it need not be root."""

import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("STEPSCOPE_BUILD", "build/release"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITES = tuple(os.environ.get("STEPSCOPE_SUITES", "bookworm trixie forky").split())
USER = 1000
PATIENCE_S = 4 * 3600
# Mounts end with the namespace. Sources are on the same path for every user, for a compiler cache.
ENTER = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"
mount -t proc proc "$4/proc"
mount --rbind /dev "$4/dev"
mount -t tmpfs tmpfs "$4/tmp"
place=$4 user=$5
shift 5
cd "$place"
exec chroot "$place" setpriv --reuid "$user" --regid "$user" --clear-groups env -i \\
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="/home/$user" LC_ALL=C.UTF-8 \\
    DEBIAN_FRONTEND=noninteractive "$@"
"""


class System:
    """One of SUITES as it was made, and what is added to it until the end of the test."""

    def __init__(self, test, suite):
        subprocess.run([os.path.join(ROOT, "tools/debian-root"), os.path.dirname(BUILD), suite], check=True)
        self.test, self.base = test, os.path.join(os.path.dirname(BUILD), "roots", suite)
        # Beside the base: an overlay cannot lie on another one, which /tmp may be.
        self.folder = tempfile.mkdtemp(prefix=suite + "-", dir=os.path.dirname(self.base))
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        for name in ("upper", "work", "merged"):
            os.mkdir(os.path.join(self.folder, name))
        for name in ("resolv.conf", "hosts"):
            os.makedirs(self.path("etc"), exist_ok=True)
            shutil.copy(os.path.join("/etc", name), self.path("etc"))
        for user in (0, USER):
            os.makedirs(self.path("home", str(user)))
            os.chown(self.path("home", str(user)), user, user)

    def path(self, *parts):
        """Where a file of the system that was added to it lies for us."""
        return os.path.join(self.folder, "upper", *parts)

    def run(self, command, user=0, expect=0):
        """What a line of shell prints."""
        places = [self.base, *(os.path.join(self.folder, name) for name in ("upper", "work", "merged"))]
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh",
                               *places, str(user), "sh", "-c", command], text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_S, check=False)
        if expect is not None:
            self.test.assertEqual(done.returncode, expect, f"{command}: {done.stdout[-6000:]}")
        return done.stdout

    def copy_sources(self, user):
        """The tree, without what was made of it, in /src."""
        shutil.rmtree(self.path("src"), ignore_errors=True)
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], check=True, stdout=subprocess.PIPE).stdout
        for name in listed.decode().split("\0")[:-1]:
            target = self.path("src", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), target, follow_symlinks=False)
        for folder, folders, files in os.walk(self.path("src")):
            for name in (".", *folders, *files):
                os.lchown(os.path.join(folder, name), user, user)


@unittest.skipUnless(os.environ.get("SOAK") == "1", "SOAK=1 makes bare systems")
@unittest.skipUnless(os.geteuid() == 0, "only root can make a bare system")
class BareTest(unittest.TestCase):
    def check_each(self, check):
        """Calls it with each system."""
        for suite in SUITES:
            with self.subTest(suite=suite):
                check(System(self, suite), suite)
