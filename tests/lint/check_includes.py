#!/usr/bin/python3
"""Checks the direction of dependency between the folders under src/.

    tests/lint/check_includes.py [ROOT]

Each folder may include itself, the folders listed here (and in ARCHITECTURE.md) and the public headers. The recorder and
all that reads never include each other: they meet in include/stepscope/format.h. Public headers
include public headers only, examples and the built-in trainer (demo/) too.
"""

import os
import re
import sys

READS = {"base", "pack", "read", "stats"}
LOADS = READS | {"model", "load"}
CONCLUDES = LOADS | {"render", "summary", "diagnose"}
REPORTS = CONCLUDES | {"job", "report"}
MAY_INCLUDE = {
    "public": set(),
    "a program": set(),
    "demo": set(),
    "base": set(),
    "record": {"base"},
    "stats": {"base"},
    "read": {"base", "pack"},
    "pack": {"base"},
    "render": {"base", "stats"},
    "model": READS,
    "load": READS | {"model"},
    "import": LOADS,
    "summary": LOADS,
    "diagnose": LOADS | {"render", "summary"},
    "job": CONCLUDES,
    "report": CONCLUDES | {"job"},
    "export": REPORTS,
    "html": REPORTS,
    "supervise": REPORTS | {"export", "import"},
    "mpi": {"base"},
    "doctor": {"base", "render", "supervise"},
    "experiment": REPORTS | {"export", "supervise", "import"},
    "cli": REPORTS | {"export", "html", "supervise", "doctor", "demo", "import", "experiment"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def folder_of(root, path):
    """Name of the folder under src/, "public" under include/, "demo", "a program" elsewhere."""
    parts = os.path.relpath(path, root).split(os.sep)
    if parts[0] == "include":
        return "public"
    if parts[0] == "demo":
        return "demo"
    return parts[1] if parts[0] == "src" else "a program"


def resolve(root, path, name):
    """The file that an #include "name" of path finds, or None."""
    for base in (os.path.dirname(path), f"{root}/include", f"{root}/src", root):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(found):
            return found
    return None


def check_file(root, path):
    """Yields a sentence for each #include of the file that is not allowed."""
    here = folder_of(root, path)
    if here not in MAY_INCLUDE:
        yield 0, f"src/{here} is not in the list of tests/lint/check_includes.py"
        return
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            found = resolve(root, path, match.group(1))
            if not found:
                yield number, f'"{match.group(1)}" is not found in include/ or src/'
                continue
            there = folder_of(root, found)
            if there in (here, "public"):
                continue
            if there not in MAY_INCLUDE[here]:
                yield number, f'{here} must not include {there}: "{match.group(1)}"'


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{os.path.dirname(__file__)}/../..")
    complaints = 0
    for top in ("include", "src", "demo", "examples"):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for file in sorted(files):
                if not file.endswith((".c", ".h")):
                    continue
                path = os.path.join(folder, file)
                for number, complaint in check_file(root, path):
                    print(f"{os.path.relpath(path, root)}:{number}: {complaint}")
                    complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
