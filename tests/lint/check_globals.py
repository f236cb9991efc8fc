#!/usr/bin/env python3
"""Variables of the extension that is in every training process: each that can change has a comment
which says why it is one.

    tests/lint/check_globals.py BUILD [ROOT]

A comment counts in the line of the definition or directly above it. What CPython takes only as
variables, such as types and tables of methods, needs none, nor does what its headers define (_Py).
"""

import glob
import os
import re
import subprocess
import sys

ROOT = (sys.argv[2:] or [os.path.dirname(os.path.abspath(__file__)) + "/../.."])[0]
CHANGES = re.compile(r"\.(t?bss|t?data(?!\.rel\.ro))")
OF_CPYTHON = re.compile(r"\bPy\w*(Def|Object|Methods|Slot) \w+(\[\])? ?(=|;)|\bchar \*?\w+\[\] = ")


def variables(file):
    """Names of the variables of an object file that can change."""
    listed = subprocess.run(["objdump", "-t", file], stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        found = re.match(r"[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$", line)
        if found and CHANGES.match(found[1]) and int(found[2], 16) and not found[3].startswith((".", "_Py")):
            yield found[3].partition(".")[0]


def definition(lines, name):
    """The index of the line in which the definition begins; None: there is none."""
    plain = re.compile(r"^\s*(?!extern|return|typedef)\w+[\w\s*,={}\"\[\]]*[\s*]%s\b(\[[^;]*\])*"
                       r"( __attribute__.*)?( =.*|;.*|,.*)$" % name)
    closing = re.compile(r"^}[\s*]*%s\b" % name)
    for i, line in enumerate(lines):
        if plain.match(line) and ("static" in line or "_Thread_local" in line or line[0] != " "):
            return i
        if closing.match(line):
            while not re.match(r"\S.*\{$", lines[i]):
                i -= 1
            return i
    return None


def is_explained(lines, i):
    above = lines[i - 1].strip() if i else ""
    is_comment = above.endswith("*/") and (above.startswith("/*") or ";" not in above)
    return is_comment or "/*" in lines[i] or OF_CPYTHON.search(lines[i])


def main():
    failed = False
    objects = glob.glob(sys.argv[1] + "/python/stepscope/_core*.p/.*core_*.o")
    for file in sorted(objects):
        source = file.rpartition("core_")[2][:-2]
        with open(os.path.join(ROOT, "python/core", source)) as text:
            lines = text.read().splitlines()
        for name in sorted(set(variables(file))):
            i = definition(lines, name)
            if i is None:
                failed = print("python/core/%s: no definition of %s" % (source, name)) or True
            elif not is_explained(lines, i):
                failed = print("python/core/%s:%d: %s: why is it a variable of the process?"
                               % (source, i + 1, name)) or True
    if not objects:
        failed = print(sys.argv[1] + ": has no objects of python/core") or True
    sys.exit(failed)


main()
