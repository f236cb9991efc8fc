#!/usr/bin/python3
"""Checks that the stages of src/model call forward only.

    tests/lint/check_stages.py [ROOT]

Of the headers of stages, a stage's source may include its own and that of the next stage; its
header and all else that it includes, directly or through others of any folder, none but these. Nor
may it name a function or a struct of another stage that it has declared itself. So a stage cannot
reach an earlier one, nor skip one. pipe.c puts them together.
"""

import os
import re
import sys

STAGES = ["tree", "jit", "phase", "step", "loop"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*',
                      re.DOTALL | re.MULTILINE)
DECLARED = re.compile(r"\b(\w+)\s*\(|\bstruct (\w+)\s*\{|\bextern\b[^;]*?(\w+)(?:\[[^;]*\])?;")


def read(root, file):
    with open(f"{root}/{file}", encoding="utf-8") as text:
        return text.read()


def resolve(root, file, name):
    """The file of the project that an #include "name" of file finds, or None."""
    for base in (os.path.dirname(file), "src", "include"):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(f"{root}/{found}"):
            return found
    return None


def included(root, name):
    """Names of all files of the project that a file includes, and by which way each."""
    ways = {}
    left = [(name, [])]
    while left:
        file, way = left.pop()
        for found in INCLUDE.findall(read(root, file)):
            found = resolve(root, file, found)
            if found and found not in ways:
                ways[found] = way + [found]
                left.append((found, ways[found]))
    return ways


def declared(root, stage):
    """Functions, structs and variables that the header of a stage declares."""
    code = NOT_CODE.sub(" ", read(root, f"src/model/{stage}.h"))
    return {name for names in DECLARED.findall(code) for name in names if name.startswith(f"{stage}_")}


def check_names(root, place):
    """Yields a sentence for each name of a stage that this one must not know."""
    known = STAGES[place:place + 2]
    code = NOT_CODE.sub(" ", read(root, f"src/model/{STAGES[place]}.c"))
    words = set(re.findall(r"\w+", code))
    for other in STAGES:
        for name in sorted(declared(root, other) & words if other not in known else ()):
            yield f"src/model/{STAGES[place]}.c: {STAGES[place]} must not name {name} of {other}"


def check_stage(root, place):
    """Yields a sentence for each header of a stage that this one must not see."""
    stage = STAGES[place]
    yield from check_names(root, place)
    for file, allowed in ((f"src/model/{stage}.h", STAGES[place:place + 1]),
                          (f"src/model/{stage}.c", STAGES[place:place + 2])):
        ways = included(root, file)
        for other in STAGES:
            if other not in allowed and f"src/model/{other}.h" in ways:
                way = " -> ".join(ways[f"src/model/{other}.h"]).replace("src/", "")
                yield f"{file}: {stage} must not see {other}: {way}"


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{os.path.dirname(__file__)}/../..")
    missing = [stage for stage in STAGES for end in "ch"
               if not os.path.isfile(f"{root}/src/model/{stage}.{end}")]
    complaints = [f"src/model: {stage} is a stage without a source or a header" for stage in missing]
    if not missing:
        complaints += [c for place in range(len(STAGES)) for c in check_stage(root, place)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
