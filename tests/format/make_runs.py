#!/usr/bin/python3
"""Writes the runs of the format tests: `make_runs.py DIRECTORY`, a directory each.

The runs are the functions marked with @run in whole_runs.py and damaged_runs.py.
"""

import os
import sys

import damaged_runs  # noqa: F401  (fills the catalogue)
import whole_runs  # noqa: F401  (fills the catalogue)
from builder import RUNS, ProcessFile

FILE = "p-100-77-00000000000000aa.ssp"


def files_of(build):
    """The files of a run of the catalogue: bytes by name."""
    made = build()
    files = made if isinstance(made, dict) else {FILE: made}
    return {file: content.bytes() if isinstance(content, ProcessFile) else content
            for file, content in files.items()}


def write_run(files, directory):
    os.makedirs(directory, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(directory, file), "wb") as out:
            out.write(content)


def write_all(directory):
    for name, build in RUNS.items():
        write_run(files_of(build), os.path.join(directory, name))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_runs.py DIRECTORY")
    write_all(sys.argv[1])
