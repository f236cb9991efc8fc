"""Where the tests of the recorder write: memory and a disk."""

import os

MEMORY = "/dev/shm"


def disk():
    """A directory that is no memory as a rule: /tmp often is."""
    return os.environ.get("TMPDIR", "/var/tmp")


def file_system(path):
    """Type of the file system that a path is on, as /proc/mounts calls it."""
    path = os.path.realpath(path)
    best, kind = "", "unknown"
    with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            where, what = line.split()[1:3]
            inside = where == "/" or path == where or path.startswith(where + "/")
            if inside and len(where) >= len(best):
                best, kind = where, what
    return kind
